// Sums whose bits depend on the numbers and their order alone.
#pragma once
#include <array>
#include <cstddef>

namespace hedgerow {

// The pairwise sum of n numbers, whose rounding errors grow with log n. The order of additions
// depends on n alone: not on threads, on instruction sets or on the version of another library.
inline double pairwise_sum(const double* numbers, std::size_t n) {
  constexpr std::size_t kLanes = 8, kWhole = 128;
  if (n > kWhole) {
    const std::size_t half = n / 2 / kLanes * kLanes;
    return pairwise_sum(numbers, half) + pairwise_sum(numbers + half, n - half);
  }
  double sum = 0.0;
  std::size_t i = 0;
  if (n >= kLanes) {
    std::array<double, kLanes> lane;
    for (std::size_t k = 0; k < kLanes; ++k) lane[k] = numbers[k];
    for (i = kLanes; i + kLanes <= n; i += kLanes)
      for (std::size_t k = 0; k < kLanes; ++k) lane[k] += numbers[i + k];
    sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  for (; i < n; ++i) sum += numbers[i];
  return sum;
}

}  // namespace hedgerow
