// Exact sums by several threads: each adds a part of the numbers, and the parts are merged, which
// changes nothing in a sum that is rounded once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/threads.hpp"
#include "shared/exact_sum.hpp"

namespace hedgerow {

// The sum of each column of an n × n_columns matrix, row by row in memory.
inline std::vector<double> sum_columns(const double* values, std::size_t n, std::size_t n_columns,
                                       int threads) {
  constexpr std::size_t kFewNumbers = 1 << 14;
  const auto n_parts = static_cast<std::size_t>(threads_for(n * n_columns, kFewNumbers, threads));
  const std::size_t step = n / n_parts + 1;
  std::vector<ExactSum> sums(n_parts * n_columns);
  parallel_for(threads, n_parts, [&](std::size_t part) {
    ExactSum* own = sums.data() + part * n_columns;
    for (std::size_t i = part * step; i < std::min((part + 1) * step, n); ++i) {
      for (std::size_t j = 0; j < n_columns; ++j) own[j].add(values[i * n_columns + j]);
    }
  });
  std::vector<double> rounded(n_columns);
  for (std::size_t j = 0; j < n_columns; ++j) {
    for (std::size_t part = 1; part < n_parts; ++part) sums[j].add(sums[part * n_columns + j]);
    rounded[j] = sums[j].rounded();
  }
  return rounded;
}

inline double sum_numbers(const double* numbers, std::size_t n, int threads) {
  return sum_columns(numbers, n, 1, threads)[0];
}

}  // namespace hedgerow
