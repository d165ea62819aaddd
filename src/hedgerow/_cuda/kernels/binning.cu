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

// How many numbers lie between neighbours of a table.
struct Strides {
  int64_t row, column;
};

// Rows from `first_row` on, to bins by column: the columns of group blockIdx.y. Threads take rows,
// so that writes are next to one another.
template <class Real>
inline void bin_rows(const Real* numbers, const Strides& strides, size_t n, size_t first_row,
                     const Real* thresholds, const int64_t* starts, int n_columns, size_t n_rows,
                     uint8_t* by_column, uint32_t* n_infinite) {
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  const int first = blockIdx.y * kGroupColumns, end = min(first + kGroupColumns, n_columns);
  for (size_t i = thread_index(); i < n; i += n_threads()) {
    const Real* row = numbers + static_cast<int64_t>(i) * strides.row;
    for (int column = first; column < end; ++column) {
      const Real x = row[column * strides.column];
      const int64_t start = starts[column];
      const auto n_thresholds = static_cast<int>(starts[column + 1] - start);
      by_column[column * n_rows + first_row + i] =
          static_cast<uint8_t>(bin_of(x, thresholds + start, n_thresholds));
      if (x == kInfinity || x == -kInfinity) atomic_add(n_infinite, 1u);
    }
  }
}

extern "C" __global__ void bin_floats(const float* numbers, int64_t row_stride,
                                      int64_t column_stride, uint64_t n, uint64_t first_row,
                                      const float* thresholds, const int64_t* starts,
                                      int32_t n_columns, uint64_t n_rows, uint8_t* by_column,
                                      uint32_t* n_infinite) {
  bin_rows(numbers, {row_stride, column_stride}, n, first_row, thresholds, starts, n_columns,
           n_rows, by_column, n_infinite);
}

extern "C" __global__ void bin_doubles(const double* numbers, int64_t row_stride,
                                       int64_t column_stride, uint64_t n, uint64_t first_row,
                                       const double* thresholds, const int64_t* starts,
                                       int32_t n_columns, uint64_t n_rows, uint8_t* by_column,
                                       uint32_t* n_infinite) {
  bin_rows(numbers, {row_stride, column_stride}, n, first_row, thresholds, starts, n_columns,
           n_rows, by_column, n_infinite);
}

// Bins by column to bins by row. A thread writes the 32 bytes of a row of a group (blockIdx.y).
// Columns past the last, which nobody reads, have another bin in every row: atomic additions of
// many rows to one bin would wait for one another.
extern "C" __global__ void interleave(const uint8_t* by_column, uint64_t n_rows, int32_t n_columns,
                                      uint8_t* by_row) {
  const int group = blockIdx.y, first = group * kGroupColumns;
  const int n = min(kGroupColumns, n_columns - first);
  for (size_t row = thread_index(); row < n_rows; row += n_threads()) {
    uint32_t words[kGroupColumns / 4] = {};
#pragma unroll
    for (int column = 0; column < kGroupColumns; ++column) {
      const uint32_t bin =
          column < n ? by_column[size_t(first + column) * n_rows + row] : (row + column) % kBins;
      words[column / 4] |= bin << (8 * (column % 4));
    }
    auto* to = reinterpret_cast<uint32_t*>(by_row + (size_t(group) * n_rows + row) * kGroupColumns);
    for (int i = 0; i < kGroupColumns / 4; ++i) to[i] = words[i];
  }
}

}  // namespace hedgerow::cuda
