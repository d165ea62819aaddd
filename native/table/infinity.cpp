#include "table/infinity.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kAtOnce = 1 << 15;  // numbers of a task, at least

// Comparisons are joined without a branch, so that they are vectorised.
template <class T>
bool among(const T* values, std::size_t n, std::ptrdiff_t stride) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  unsigned found = 0;
  if (stride == 1) {
    for (std::size_t i = 0; i < n; ++i) found |= std::abs(values[i]) == kInfinity;
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      found |= std::abs(values[static_cast<std::ptrdiff_t>(i) * stride]) == kInfinity;
    }
  }
  return found != 0;
}

}  // namespace

template <class T>
bool has_infinity(Strided<const T> values, std::size_t n_rows, std::size_t n_columns, int threads) {
  if (n_rows == 0 || n_columns == 0) return false;
  if (std::abs(values.row_stride) < std::abs(values.column_stride)) {
    std::swap(values.row_stride, values.column_stride);
    std::swap(n_rows, n_columns);
  }
  if (values.row_stride == static_cast<std::ptrdiff_t>(n_columns) * values.column_stride) {
    n_columns *= n_rows;  // one line without gaps
    n_rows = 1;
  }
  const std::size_t line_step = std::min(kAtOnce, n_columns);
  const std::size_t steps = (n_columns + line_step - 1) / line_step;
  const std::size_t row_step = std::max<std::size_t>(1, kAtOnce / n_columns);
  const std::size_t row_steps = (n_rows + row_step - 1) / row_step;
  std::atomic<bool> found{false};
  parallel_for(threads, steps * row_steps, [&](std::size_t task) {
    if (found.load(std::memory_order_relaxed)) return;
    const std::size_t first = task % steps * line_step;
    const std::size_t n = std::min(line_step, n_columns - first);
    const std::size_t end = std::min((task / steps + 1) * row_step, n_rows);
    for (std::size_t row = task / steps * row_step; row < end; ++row) {
      if (among(&values.at(row, first), n, values.column_stride)) found.store(true);
    }
  });
  return found;
}

template bool has_infinity(Strided<const float>, std::size_t, std::size_t, int);
template bool has_infinity(Strided<const double>, std::size_t, std::size_t, int);

}  // namespace hedgerow
