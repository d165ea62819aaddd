// Values to bins, and bins by column to bins by row. Mirrors native/table/binning.cpp.
#include "state.hpp"

namespace hedgerow::cuda {

// The number of thresholds below x, or kMissingBin for NaN. Thresholds of single-precision columns
// are rounded down before, so that x ≤ threshold stays the same.
template <class Real>
inline int bin_of(Real x, const Real* thresholds, int n) {
  if (x != x) return kMissingBin;
  int below = 0;
  for (int step = 128; step > 0; step /= 2) {
    const int next = below + step;
    if (next <= n && thresholds[next - 1] < x) below = next;
  }
  return below;
}

template <class Real>
inline void bin_column(const Real* column, size_t stride, size_t n, const Real* thresholds,
                       int n_thresholds, uint8_t* bins, uint32_t* n_infinite) {
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  for (size_t i = thread_index(); i < n; i += n_threads()) {
    const Real x = column[i * stride];
    bins[i] = static_cast<uint8_t>(bin_of(x, thresholds, n_thresholds));
    if (x == kInfinity || x == -kInfinity) atomic_add(n_infinite, 1u);
  }
}

// A column of an array, whose rows are `stride` numbers apart.
extern "C" __global__ void bin_float(const float* column, uint64_t stride, uint64_t n,
                                     const float* thresholds, int32_t n_thresholds, uint8_t* bins,
                                     uint32_t* n_infinite) {
  bin_column(column, stride, n, thresholds, n_thresholds, bins, n_infinite);
}

extern "C" __global__ void bin_double(const double* column, uint64_t stride, uint64_t n,
                                      const double* thresholds, int32_t n_thresholds, uint8_t* bins,
                                      uint32_t* n_infinite) {
  bin_column(column, stride, n, thresholds, n_thresholds, bins, n_infinite);
}

// Bins by column to bins by row. A thread writes the 32 bytes of a row of a group (blockIdx.y);
// columns past the last are 0.
extern "C" __global__ void interleave(const uint8_t* by_column, uint64_t n_rows, int32_t n_columns,
                                      uint8_t* by_row) {
  const int group = blockIdx.y, first = group * kGroupColumns;
  const int n = min(kGroupColumns, n_columns - first);
  for (size_t row = thread_index(); row < n_rows; row += n_threads()) {
    uint32_t words[kGroupColumns / 4] = {};
#pragma unroll
    for (int column = 0; column < kGroupColumns; ++column) {
      if (column >= n) continue;
      const uint32_t bin = by_column[size_t(first + column) * n_rows + row];
      words[column / 4] |= bin << (8 * (column % 4));
    }
    auto* to = reinterpret_cast<uint32_t*>(by_row + (size_t(group) * n_rows + row) * kGroupColumns);
    for (int i = 0; i < kGroupColumns / 4; ++i) to[i] = words[i];
  }
}

}  // namespace hedgerow::cuda
