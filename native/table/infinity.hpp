// Whether a table holds an infinity.
#pragma once
#include <cstddef>

#include "table/strided.hpp"

namespace hedgerow {

// Reads a table of any layout in the order of memory.
template <class T>
bool has_infinity(Strided<const T> values, std::size_t n_rows, std::size_t n_columns, int threads);

}  // namespace hedgerow
