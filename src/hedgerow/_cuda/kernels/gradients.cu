// Scores, gradients of the loss and their totals. Mirrors native/gradient/losses.cpp.
//
// Gradients are computed twice, with the same bits: here for their totals, which decide the units,
// and in quantise.cu. That takes no more memory traffic than storing them, and needs no guess of
// the format.
#include "gradients.hpp"

namespace hedgerow::cuda {

constexpr int kRowsPerThread = 4;
constexpr int kGradientThreads = 256;

inline double larger(double a, double b) { return b > a ? b : a; }
inline double smaller(double a, double b) { return b < a ? b : a; }

template <class Combine>
inline double reduce_warp(double x, Combine combine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x = combine(x, __shfl_xor_sync(kAllLanes, x, distance));
  }
  return x;
}

// Reduces a number of each thread to one that all threads have. The order of a sum does not matter
// where terms are integers.
template <class Combine>
inline double reduce_block(double x, double* room, Combine combine) {
  x = reduce_warp(x, combine);
  __syncthreads();  // room may still be read
  if (threadIdx.x % kWarp == 0) room[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = room[0];
  for (int warp = 1; warp < kGradientThreads / kWarp; ++warp) x = combine(x, room[warp]);
  return x;
}

// The sum of a block's numbers, each thread's with kRowsPerThread of them, all up to `largest`.
inline LevelSum sum_block(const double* numbers, double largest, double* room) {
  const LevelSum::Splitter splitter(largest);
  std::array<double, LevelSum::kKept> sums = {};
  for (int j = 0; j < kRowsPerThread; ++j) {
    double rest = fabs(numbers[j]) * splitter.scale;
    for (size_t i = 0; i < LevelSum::kKept; ++i) {
      const double steps = (rest + splitter.rounder[i]) - splitter.rounder[i];
      sums[i] += steps;
      rest -= steps;
    }
  }
  const auto add = [](double a, double b) { return a + b; };
  for (size_t i = 0; i < LevelSum::kKept; ++i) sums[i] = reduce_block(sums[i], room, add);
  return {splitter, sums};
}

// The totals of the gradients of kRowsPerThread rows of each thread, the same in all threads.
inline GradientTotals totals_of_block(const double* g, const double* h, const bool* is_row,
                                      double* room) {
  GradientTotals totals;
  for (int j = 0; j < kRowsPerThread; ++j) {
    if (!is_row[j]) continue;
    totals.max_g = larger(totals.max_g, fabs(g[j]));
    totals.max_h = larger(totals.max_h, h[j]);
    totals.min_h = smaller(totals.min_h, h[j]);
  }
  totals.max_g = reduce_block(totals.max_g, room, larger);
  totals.max_h = reduce_block(totals.max_h, room, larger);
  totals.min_h = reduce_block(totals.min_h, room, smaller);
  totals.sum_g = sum_block(g, totals.max_g, room);
  totals.sum_h = sum_block(h, totals.max_h, room);
  return totals;
}

// Adds the leaf values of the last round's trees to the scores of a row.
inline void update_row(const Fit& fit, size_t row) {
  for (int k = 0; k < fit.n_outputs; ++k) {
    const TreeView tree{fit, k};
    fit.scores[k * fit.n_rows + row] += tree.values()[leaf_of(tree, row)];
  }
}

extern "C" __global__ void update_scores(const Fit* fit) {
  for (size_t row = thread_index(); row < fit->n_rows; row += n_threads()) update_row(*fit, row);
}

// The totals of the gradients of each output, a part for each block; before that, if `updates`, the
// last round's trees are added to the scores.
extern "C" __global__ void gradients(const Fit* fit, int32_t loss, int32_t updates) {
  __shared__ double room[kGradientThreads / kWarp];
  constexpr size_t kBlock = kRowsPerThread * kGradientThreads;
  const size_t n_rows = fit->n_rows;
  for (int k = 0; k < fit->n_outputs; ++k) {
    GradientTotals totals;
    for (size_t first = blockIdx.x * kBlock; first < n_rows; first += gridDim.x * kBlock) {
      double g[kRowsPerThread] = {}, h[kRowsPerThread] = {};
      bool is_row[kRowsPerThread];
      for (int j = 0; j < kRowsPerThread; ++j) {
        const size_t row = first + j * kGradientThreads + threadIdx.x;
        is_row[j] = row < n_rows;
        if (!is_row[j]) continue;
        if (updates && k == 0) update_row(*fit, row);
        const Derivatives of_row = differentiate(*fit, loss, row, k);
        g[j] = of_row.g;
        h[j] = of_row.h;
      }
      totals.add(totals_of_block(g, h, is_row, room));
    }
    if (threadIdx.x == 0) fit->parts[size_t(blockIdx.x) * fit->n_outputs + k] = totals;
  }
}

constexpr int kUnitThreads = 128;

// The units of each output from its totals, and the format of this round. One block.
extern "C" __global__ void units(const Fit* fit, int32_t n_parts) {
  __shared__ double raw[kUnitThreads * sizeof(GradientTotals) / sizeof(double)];
  auto* totals = reinterpret_cast<GradientTotals*>(raw);
  bool packed = true;
  for (int k = 0; k < fit->n_outputs; ++k) {
    GradientTotals own;
    for (int i = threadIdx.x; i < n_parts; i += kUnitThreads) {
      own.add(fit->parts[size_t(i) * fit->n_outputs + k]);
    }
    __syncthreads();
    totals[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x > 0) continue;
    for (int i = 1; i < kUnitThreads; ++i) own.add(totals[i]);
    const GradientSummary summary = own.summary();
    fit->summaries[k] = summary;
    const bool is_finite = isfinite(summary.sum_g) && isfinite(summary.sum_h);
    fit->trees[k].error = is_finite ? kNone : kOverflow;
    packed = packed && fits_packed(summary, fit->n_rows);
  }
  if (threadIdx.x > 0) return;
  for (int k = 0; k < fit->n_outputs; ++k) {
    fit->fixed[k] = choose_units(fit->summaries[k], fit->n_rows, packed);
  }
}

}  // namespace hedgerow::cuda
