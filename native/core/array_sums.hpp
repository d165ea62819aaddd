// Exact sums of arrays. Threads add up parts of the numbers, and the parts are merged, which
// changes nothing in a sum that is rounded once.
#pragma once
#include <cstddef>
#include <vector>

#include "shared/exact_sum.hpp"

namespace hedgerow {

// The sum of n numbers, of which every `stride`-th of the array is one.
ExactSum exact_sum(const double* numbers, std::size_t n, std::size_t stride = 1);

// The sum of each column of an n × n_columns matrix, row by row in memory, rounded once.
std::vector<double> sum_columns(const double* values, std::size_t n, std::size_t n_columns,
                                int threads);

inline double sum_numbers(const double* numbers, std::size_t n, int threads) {
  return sum_columns(numbers, n, 1, threads)[0];
}

}  // namespace hedgerow
