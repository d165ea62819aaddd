// Sums over rows whose bits depend on the numbers alone: not on their order, on threads, on
// instruction sets or on the version of another library, nor on which machine has which rows.
#pragma once
#include <cstddef>

#include "shared/exact_sum.hpp"

namespace hedgerow {

// Rows of a block, the unit of work of kernels that pass over all rows.
inline constexpr std::size_t kRowBlock = 1024;

inline ExactSum exact_sum(const double* numbers, std::size_t n) {
  ExactSum sum;
  for (std::size_t i = 0; i < n; ++i) sum.add(numbers[i]);
  return sum;
}

}  // namespace hedgerow
