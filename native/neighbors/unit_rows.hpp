// Rows divided by their norms. A row is a contiguous range of numbers; omitting zeros, as sparse
// matrices do, changes no bit. Rows of zeros are unchanged.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hedgerow::neighbors {

// `starts` has n_rows + 1 entries. Nothing overflows, whatever the scale of a row.
void unit_rows(const double* values, const std::int64_t* starts, std::size_t n_rows, double* out,
               int threads);

}  // namespace hedgerow::neighbors
