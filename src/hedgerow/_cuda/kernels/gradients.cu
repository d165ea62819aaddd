// Scores, gradients of the loss, their totals, and the units that follow from these. Mirrors
// native/gradient/losses.cpp.
#include "gradients.hpp"
#include "plan.hpp"

namespace hedgerow::cuda {

constexpr int kGradientThreads = 256;

// The sum of the numbers of a thread, at the level of the largest so far: exact for 2^22 numbers.
struct RunningSum {
  LevelSum::Splitter splitter = LevelSum::Splitter(0.0);
  double limit = 0.0;  // none of the numbers so far is beyond it
  std::array<double, LevelSum::kKept> sums = {};

  // Adds a number; what was added at a lower level goes to `others`.
  void add(double x, LevelSum& others) {
    double rest = x * splitter.scale;
    if (!(rest < limit)) {
      move_to(others);
      splitter = LevelSum::Splitter(x);
      limit = splitter.limit();
      rest = x * splitter.scale;
    }
#pragma unroll
    for (size_t i = 0; i < LevelSum::kKept; ++i) {
      const double steps = (rest + splitter.rounder[i]) - splitter.rounder[i];
      sums[i] += steps;
      rest -= steps;
    }
  }
  void move_to(LevelSum& others) {
    others.add(LevelSum(splitter, sums));
    sums = {};
  }
};

// The maxima and minima of a thread's rows.
struct Extremes {
  double max_g = 0.0, max_h = 0.0, min_h = std::numeric_limits<double>::infinity();

  void add(double g, double h) {
    max_g = g > max_g ? g : max_g;
    max_h = h > max_h ? h : max_h;
    min_h = h < min_h ? h : min_h;
  }
};

// What `combine` makes of a number of each lane, in all lanes.
template <class Number, class Combine>
inline Number reduce_warp(Number x, Combine combine) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x = combine(x, __shfl_xor_sync(kAllLanes, x, distance));
  }
  return x;
}

// The totals of a warp's threads, in all of them.
inline GradientTotals add_warp(GradientTotals own) {
  const auto larger = [](auto a, auto b) { return b > a ? b : a; };
  const auto smaller = [](auto a, auto b) { return b < a ? b : a; };
  const auto plus = [](auto a, auto b) { return a + b; };
  const auto largest = [&](int x) { return reduce_warp(x, larger); };
  const auto sum = [&](int64_t x) { return reduce_warp(x, plus); };
  own.max_g = reduce_warp(own.max_g, larger);
  own.max_h = reduce_warp(own.max_h, larger);
  own.min_h = reduce_warp(own.min_h, smaller);
  own.sum_g.add_threads(largest, sum);
  own.sum_h.add_threads(largest, sum);
  return own;
}

constexpr int kGradientWarps = kGradientThreads / kWarp;

// The totals of a block's threads, in its first warp. `room` has a place for each warp.
inline GradientTotals add_block(GradientTotals own, GradientTotals* room) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  own = add_warp(own);
  __syncthreads();  // room may still be read
  if (lane == 0) room[warp] = own;
  __syncthreads();
  if (warp > 0) return own;
  return add_warp(lane < kGradientWarps ? room[lane] : GradientTotals{});
}

constexpr int kNodesAtHand = 512;  // of which a block keeps a copy in shared memory

// The tests of a tree: a copy in `room`, if it has the room. Lanes of a warp read tests all over a
// tree, which takes shared memory a fraction of the time.
inline const NodeTest* tests_at_hand(const TreeView& tree, NodeTest* room) {
  const int n_nodes = tree.state().n_nodes;
  if (n_nodes > kNodesAtHand) return tree.tests();
  __syncthreads();  // room may still be read
  for (int node = threadIdx.x; node < n_nodes; node += blockDim.x) room[node] = tree.tests()[node];
  __syncthreads();
  return room;
}

// Adds the leaf values of the last round's trees to the scores. A row stays with its thread.
inline void add_trees(const Fit& fit, NodeTest* room) {
  for (int k = 0; k < fit.n_outputs; ++k) {
    const TreeView tree{fit, k};
    const NodeTest* tests = tests_at_hand(tree, room);
    double* scores = fit.scores + k * fit.n_rows;
    const double* values = tree.values();
    for (size_t row = thread_index(); row < fit.n_rows; row += n_threads()) {
      scores[row] += values[leaf_of(tree, tests, row)];
    }
  }
}

extern "C" __global__ void update_scores(const __grid_constant__ Fit fit) {
  __shared__ NodeTest tests[kNodesAtHand];
  add_trees(fit, tests);
}

// Chooses the units of each output from the totals of all blocks, and the format of this round. One
// block.
inline void choose_all_units(const Fit& fit, GradientTotals* room) {
  bool packed = true;
  for (int k = 0; k < fit.n_outputs; ++k) {
    GradientTotals own;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += kGradientThreads) {
      own.add(fit.parts[size_t(i) * fit.n_outputs + k]);
    }
    own = add_block(own, room);
    if (threadIdx.x > 0) continue;
    const GradientSummary summary = own.summary();
    fit.summaries[k] = summary;
    const bool is_finite = isfinite(summary.sum_g) && isfinite(summary.sum_h);
    fit.trees[k].error = is_finite ? kNone : kOverflow;
    packed = packed && fits_packed(summary, fit.n_rows);
  }
  if (threadIdx.x > 0) return;
  for (int k = 0; k < fit.n_outputs; ++k) {
    fit.fixed[k] = choose_units(fit.summaries[k], fit.n_rows, packed);
  }
}

// The gradients of all rows in single precision, and their totals, a part for each block; before
// that, if `updates`, the last round's trees are added to the scores. The last block chooses the
// units and starts the trees of the round.
extern "C" __global__ void __launch_bounds__(kGradientThreads, 4)
    gradients(const __grid_constant__ Fit fit, int32_t loss, int32_t updates) {
  __shared__ NodeTest tests[kNodesAtHand];
  static_assert(sizeof(tests) >= kGradientWarps * sizeof(GradientTotals));
  auto* room = reinterpret_cast<GradientTotals*>(tests);
  if (updates) add_trees(fit, tests);
  const size_t n_rows = fit.n_rows;
  for (int k = 0; k < fit.n_outputs; ++k) {
    // What changes with every row is apart from the totals, which need not be at hand.
    Extremes extremes;
    RunningSum sum_g, sum_h;
    GradientTotals totals;
    RawGradient* raw = fit.raw + k * n_rows;
#pragma unroll 1
    for (size_t row = thread_index(); row < n_rows; row += n_threads()) {
      const Derivatives of_row = differentiate(fit, loss, row, k);
      raw[row] = {static_cast<float>(of_row.g), static_cast<float>(of_row.h)};
      extremes.add(fabs(of_row.g), of_row.h);
      sum_g.add(fabs(of_row.g), totals.sum_g);
      sum_h.add(of_row.h, totals.sum_h);
    }
    totals.max_g = extremes.max_g;
    totals.max_h = extremes.max_h;
    totals.min_h = extremes.min_h;
    sum_g.move_to(totals.sum_g);
    sum_h.move_to(totals.sum_h);
    const GradientTotals of_block = add_block(totals, room);
    if (threadIdx.x == 0) fit.parts[size_t(blockIdx.x) * fit.n_outputs + k] = of_block;
  }
  if (!is_last_block(&fit.round->n_arrived, gridDim.x)) return;
  choose_all_units(fit, room);
  __syncthreads();
  begin_trees(fit);
}

}  // namespace hedgerow::cuda
