// Rows divided by their norms. A row is a stretch of numbers; zeros that are left out, as a sparse
// matrix does, change no bit. Rows of zeros stay.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hedgerow::neighbors {

// `starts` has a number more than there are rows; whatever the scale of a row, nothing overflows.
void unit_rows(const double* values, const std::int64_t* starts, std::size_t n_rows, double* out,
               int threads);

}  // namespace hedgerow::neighbors
