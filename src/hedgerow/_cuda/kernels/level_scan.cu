// The test that all leaves of a level of a symmetric tree share. Mirrors
// native/hist/level_scan.cpp.
//
// A block takes a feature of a tree, and a thread a test of it, in each of two kinds. Leaves add
// their gains one after another, in the order of the level. The last block of a tree divides the
// leaves by the best test and plans the next step.
//
// Sums of lanes are those of split.cu, which comes before.
#include "plan.hpp"

namespace hedgerow::cuda {

// Completes the leaves of a step: the larger children's histograms, which replace their parents',
// and the sum of the root. Division blockIdx.x, group blockIdx.y.
extern "C" __global__ void complete_level(const __grid_constant__ Fit fit, int32_t step) {
  const StepView view(fit, step);
  if (blockIdx.x >= view.work.n_divisions()) return;
  const Division& division = view.divisions[blockIdx.x];
  const TreeView tree{fit, division.tree};
  if (step == 0 && blockIdx.y == 0 && threadIdx.x < kWarp) {
    const GradientSum sum = root_sum(tree);
    if (threadIdx.x == 0) {
      Leaf& root = tree.leaf(0);
      root.sum = sum;
      const bool has_levels = root.is_searched && most_levels(fit.params) > 0;
      if (!has_levels || !may_split(tree, root)) tree.state().n_frontier = 0;
    }
  }
  if (division.large < 0 || !tree.leaf(division.large).is_searched) return;
  const uint64_t* of_small = tree.histogram(tree.leaf(division.small).slot, blockIdx.y);
  uint64_t* of_large = tree.histogram(tree.leaf(division.large).slot, blockIdx.y);
  for (int at = threadIdx.x; at < 2 * kGroupWords; at += blockDim.x) of_large[at] -= of_small[at];
}

// Limits and penalties in the histogram's integer units.
struct LevelUnits {
  FixedPoint fixed;
  ChildMinimum minimum;
  Penalties penalties, of_sorted;  // with cat_l2, for sorted categories
  bool is_plain;                   // no penalty but λ, and no denominator is zero

  LevelUnits(const GrowthParams& params, const FixedPoint& fixed_point)
      : fixed(fixed_point),
        minimum(params, fixed),
        penalties(in_units(params.penalties())),
        of_sorted(in_units(params.penalties(params.cat_l2))),
        is_plain(minimum.has_fractions(params) && params.reg_alpha == 0.0) {}

  Penalties in_units(const Penalties& of) const {
    return {of.lambda / fixed.h_unit, of.alpha / fixed.g_unit,
            of.cap * (fixed.h_unit / fixed.g_unit)};
  }
  double score(const GradientSum& sum) const {
    return leaf_score(penalties, static_cast<double>(sum.g),
                      static_cast<double>(fixed.h_steps(sum)));
  }
};

// What a leaf gains by a test with this sum on the left; 0 if a side is too small.
inline double level_gain(const LevelUnits& units, const GradientSum& leaf, double leaf_score,
                         const Penalties& penalties, const GradientSum& left) {
  const FixedPoint& fixed = units.fixed;
  const ChildMinimum& minimum = units.minimum;
  const uint64_t left_h = fixed.h_steps(left), leaf_h = fixed.h_steps(leaf);
  const bool is_allowed =
      left.hc - minimum.hc <= leaf.hc - 2 * minimum.hc &&
      fixed.most_steps(left) - minimum.steps <= fixed.most_steps(leaf) - 2 * minimum.steps &&
      (!fixed.has_zero_h || left_h - minimum.h <= leaf_h - 2 * minimum.h);
  if (!is_allowed) return 0.0;
  const double lambda = penalties.lambda;
  const auto G_left = static_cast<double>(left.g);
  const auto H_left = static_cast<double>(static_cast<int64_t>(left_h));
  if (units.is_plain) {
    const double both_sides = static_cast<double>(leaf_h) + 2.0 * lambda;
    const double mean = static_cast<double>(leaf.g) / both_sides;
    const double constant = static_cast<double>(leaf.g) * mean - leaf_score;
    const Fraction<double> fraction = split_fraction(G_left, H_left, lambda, both_sides, mean);
    return both_sides * (fraction.numerator / fraction.denominator) + constant;
  }
  const auto G_right = static_cast<double>(minus(leaf, left).g);
  const double a = H_left + lambda;
  const double b = static_cast<double>(static_cast<int64_t>(leaf_h - left_h)) + lambda;
  const Fraction<double> of_left = score_fraction(penalties, G_left, a);
  const Fraction<double> of_right = score_fraction(penalties, G_right, b);
  return of_left.numerator / of_left.denominator + of_right.numerator / of_right.denominator -
         leaf_score;
}

// The shared memory of a block that scans a feature.
struct LevelRoom {
  GradientSum sums[kBins];
  GradientSum of_warp[kPlanWarps];
  double ratio[kBins];
  LaneBest best[kPlanWarps];
};

// The running sum over the threads of a block. All threads.
inline GradientSum block_sum(const GradientSum& own, LevelRoom& room) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  GradientSum sum = running_sum(own);
  __syncthreads();  // room may still be read
  if (lane == kWarp - 1) room.of_warp[warp] = sum;
  __syncthreads();
  for (int i = 0; i < warp; ++i) sum = plus(sum, room.of_warp[i]);
  return sum;
}

// The sum of a bin of a feature in a leaf.
inline GradientSum bin_sum(const TreeView& tree, int slot, int feature, int bin) {
  const uint64_t* histogram = tree.histogram(slot, feature / kGroupColumns);
  const int at = bin * kGroupColumns + feature % kGroupColumns;
  return {static_cast<int64_t>(histogram[at]), histogram[kGroupWords + at]};
}

// Few categories are tried against the rest, one by one. More are sorted, without those of too
// little Σh. All threads; room.sums are those of the root.
inline void list_sets(const TreeView& tree, int n_bins, LevelTests& tests, LevelRoom& room) {
  const GrowthParams& params = tree.fit.params;
  const GradientSum none = {0, 0};
  const ChildMinimum minimum(params, tree.fixed());
  const ScoreUnits units(params, tree.fixed(), none);
  const SplitNode rules{params, tree.fixed(), none, minimum, units, 0.0, 0.0, 0.0};
  if (threadIdx.x == 0) {
    int n = 0;
    for (int bin = 0; bin < n_bins; ++bin) n += room.sums[bin].hc != 0;
    tests.is_sorted = n > params.max_cat_to_onehot;
    n = 0;
    for (int bin = 0; bin < n_bins; ++bin) {
      const bool is_listed =
          room.sums[bin].hc != 0 && (!tests.is_sorted || rules.is_sortable(room.sums[bin]));
      if (is_listed) tests.order[n++] = static_cast<uint8_t>(bin);
    }
    tests.n_order = n;
    const int longest = tests.is_sorted ? min(n, params.max_cat_threshold) : n;
    tests.count[0] = longest;
    tests.count[1] = tests.is_sorted ? longest : 0;
  }
  __syncthreads();
  if (!tests.is_sorted) return;
  const int n = tests.n_order, own = threadIdx.x;
  const int bin = own < n ? tests.order[own] : 0;
  if (own < n) room.ratio[own] = rules.category_ratio(room.sums[bin]);
  __syncthreads();
  int place = 0;
  for (int i = 0; own < n && i < n; ++i) {
    place += room.ratio[i] < room.ratio[own] || (room.ratio[i] == room.ratio[own] && i < own);
  }
  __syncthreads();
  if (own < n) tests.order[place] = static_cast<uint8_t>(bin);
  __syncthreads();
}

// Lists the tests of a feature, from its histogram in the root. All threads.
inline void list_tests(const TreeView& tree, int feature, LevelTests& tests, LevelRoom& room) {
  const int n_bins = tree.fit.n_bins[feature];
  room.sums[threadIdx.x] = bin_sum(tree, 0, feature, threadIdx.x);
  __syncthreads();
  if (tree.fit.is_categorical[feature]) {
    list_sets(tree, n_bins, tests, room);
    return;
  }
  if (threadIdx.x == 0) {
    const bool has_missing = room.sums[kMissingBin].hc != 0;
    tests.count[0] = has_missing ? n_bins : n_bins - 1;
    tests.count[1] = has_missing ? n_bins - 1 : 0;
    tests.is_sorted = 0;
  }
  __syncthreads();
}

// The gains of the level by this thread's tests of the two kinds.
struct LevelGains {
  double of_kind[2] = {0.0, 0.0};
};

inline void add_thresholds(const LevelUnits& units, const LevelTests& tests,
                           const GradientSum& leaf, double score, LevelRoom& room,
                           LevelGains& gains) {
  const int test = threadIdx.x;
  const GradientSum missing = room.sums[kMissingBin];
  const GradientSum own = test == kMissingBin ? GradientSum{0, 0} : room.sums[test];
  const GradientSum left = block_sum(own, room);
  if (test < tests.count[0]) {
    gains.of_kind[0] += level_gain(units, leaf, score, units.penalties, left);
  }
  if (test < tests.count[1]) {
    gains.of_kind[1] += level_gain(units, leaf, score, units.penalties, plus(left, missing));
  }
}

inline int category_of(const LevelTests& tests, int test, int kind) {
  return tests.order[kind == 0 ? test : tests.n_order - 1 - test];
}

inline void add_categories(const LevelUnits& units, const LevelTests& tests,
                           const GradientSum& leaf, double score, LevelRoom& room,
                           LevelGains& gains) {
  const int test = threadIdx.x;
  for (int kind = 0; kind < 2; ++kind) {
    const bool is_test = test < tests.count[kind];
    GradientSum left = is_test ? room.sums[category_of(tests, test, kind)] : GradientSum{0, 0};
    if (tests.is_sorted) left = block_sum(left, room);
    const Penalties& penalties = tests.is_sorted ? units.of_sorted : units.penalties;
    if (is_test) gains.of_kind[kind] += level_gain(units, leaf, score, penalties, left);
  }
}

// The best of all tests of a feature, as a place in the order in which the first of equals wins:
// thresholds by bin, missing values right before left; the first categories before the last.
inline LaneBest best_test(const LevelTests& tests, bool is_categorical, const LevelGains& gains,
                          double least, LevelRoom& room) {
  LaneBest best = {least, -1};
  for (int kind = 0; kind < 2; ++kind) {
    const int test = threadIdx.x;
    if (test >= tests.count[kind] || !(gains.of_kind[kind] > best.gain)) continue;
    best = {gains.of_kind[kind], is_categorical ? kind * kBins + test : 2 * test + kind};
  }
  best = best_lane(best);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) room.best[threadIdx.x / kWarp] = best;
  __syncthreads();
  return best_lane(threadIdx.x % kWarp < kPlanWarps ? room.best[threadIdx.x % kWarp]
                                                    : LaneBest{least, -1});
}

// A test as a split, without what differs between leaves.
inline Split split_by(const TreeView& tree, int feature, const LevelTests& tests,
                      const LaneBest& best) {
  const FixedPoint& fixed = tree.fixed();
  Split split;
  if (best.place < 0) return split;
  split.gain = split_gain(best.gain * fixed.g_unit, 0.0, tree.fit.params.min_split_gain,
                          fixed.g_unit / fixed.h_unit);
  if (!(split.gain > 0.0)) return Split{};
  split.weight = tree.fit.feature_weight[feature];
  split.feature = feature;
  split.categorical = tree.fit.is_categorical[feature];
  if (!split.categorical) {
    split.bin = static_cast<uint8_t>(best.place / 2);
    split.missing_left = best.place % 2 == 1;
    return split;
  }
  const int kind = best.place / kBins, test = best.place % kBins;
  for (int i = tests.is_sorted ? 0 : test; i <= test; ++i) {
    const int bin = category_of(tests, i, kind);
    split.categories[bin >> 5] |= 1u << (bin & 31);
  }
  return split;
}

// The best test of a feature for the leaves of the level. All threads.
inline Split scan_feature(const TreeView& tree, int feature, int step, LevelTests& tests,
                          LevelRoom& room) {
  const Fit& fit = tree.fit;
  const LevelUnits units(fit.params, tree.fixed());
  const int32_t* level = tree.frontier(step);
  const bool is_categorical = fit.is_categorical[feature];
  LevelGains gains;
  double score = 0.0;
  for (int i = 0; i < tree.state().n_frontier; ++i) {
    const Leaf& leaf = tree.leaf(level[i]);
    const double leaf_score = units.score(leaf.sum);
    score += leaf_score;
    __syncthreads();  // sums may still be read
    room.sums[threadIdx.x] = bin_sum(tree, leaf.slot, feature, threadIdx.x);
    __syncthreads();
    if (is_categorical) {
      add_categories(units, tests, leaf.sum, leaf_score, room, gains);
    } else {
      add_thresholds(units, tests, leaf.sum, leaf_score, room, gains);
    }
  }
  const LaneBest best = best_test(tests, is_categorical, gains, kRelativeNoise * score, room);
  return split_by(tree, feature, tests, best);
}

// ---- The plan of the next level -----------------------------------------------------------------

// The best test of all features. All threads.
inline Split best_of_features(const TreeView& tree, LaneBest* room) {
  const Fit& fit = tree.fit;
  const Split* candidates = fit.level_candidates + size_t(tree.tree) * fit.n_features;
  LaneBest best = {0.0, -1};
  for (int feature = threadIdx.x; feature < fit.n_features; feature += kPlanThreads) {
    const Split& split = candidates[feature];
    if (split.found() && split.weighted_gain() > best.gain) best = {split.weighted_gain(), feature};
  }
  best = best_lane(best);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) room[threadIdx.x / kWarp] = best;
  __syncthreads();
  best =
      best_lane(threadIdx.x % kWarp < kPlanWarps ? room[threadIdx.x % kWarp] : LaneBest{0.0, -1});
  return best.place < 0 ? Split{} : candidates[best.place];
}

// What a test leaves open until all leaves are divided.
struct LevelTotals {
  uint64_t n_left, n_rows;
  uint32_t has_missing, has_right;
};

// Divides a leaf by a test, if both sides are large enough. One warp.
inline void divide_leaf(const TreeView& tree, Leaf& leaf, const Split& test, LevelTotals& totals) {
  const Fit& fit = tree.fit;
  const FixedPoint& fixed = tree.fixed();
  const GrowthParams& params = fit.params;
  GradientSum own = {0, 0};
  for (int bin = threadIdx.x % kWarp; bin < fit.n_bins[test.feature]; bin += kWarp) {
    if (test.takes(bin)) own = plus(own, bin_sum(tree, leaf.slot, test.feature, bin));
  }
  GradientSum left = from_lane(running_sum(own), kWarp - 1);
  const GradientSum missing = bin_sum(tree, leaf.slot, test.feature, kMissingBin);
  if (test.missing_left) left = plus(left, missing);
  const ChildMinimum minimum(params, fixed);
  const ScoreUnits units(params, fixed, leaf.sum);
  const SplitNode node{params, fixed, leaf.sum, minimum, units, 0.0, 0.0, 0.0};
  const LevelTests& tests = fit.level_tests[size_t(tree.tree) * fit.n_features + test.feature];
  const Penalties penalties = params.penalties(tests.is_sorted ? params.cat_l2 : 0.0);
  const auto score = [&](const Penalties& of, const GradientSum& sum) {
    return leaf_score(of, fixed.g(sum), fixed.h(sum));
  };
  const bool is_divided = node.allowed(left);
  const double gain = split_gain(score(penalties, left) + score(penalties, minus(leaf.sum, left)),
                                 score(params.penalties(), leaf.sum), 0.0);
  if (threadIdx.x % kWarp > 0) return;
  if (missing.hc != 0) atomicOr(&totals.has_missing, 1u);
  if (left.hc != minus(leaf.sum, missing).hc) atomicOr(&totals.has_right, 1u);
  leaf.best = is_divided ? test : Split{};
  if (!is_divided) return;
  leaf.best.left = left;
  leaf.best.gain = gain;
  atomic_add(&totals.n_left, fixed.count(left));
  atomic_add(&totals.n_rows, fixed.count(leaf.sum));
}

// Divides the leaves of the level by a test, and completes it by what they leave open: if none has
// missing values, these go to the larger side; a threshold that separates missing values from all
// numbers is moved behind the last bin. All threads.
inline void divide_leaves(const TreeView& tree, int step, const Split& test, LevelTotals& totals) {
  const int32_t* level = tree.frontier(step);
  const int n = tree.state().n_frontier;
  if (threadIdx.x == 0) totals = {0, 0, 0, 0};
  __syncthreads();
  for (int i = threadIdx.x / kWarp; i < n; i += kPlanWarps) {
    divide_leaf(tree, tree.leaf(level[i]), test, totals);
  }
  __syncthreads();
  if (test.categorical) return;
  const bool is_behind = totals.has_missing && !test.missing_left && !totals.has_right;
  for (int i = threadIdx.x; i < n; i += kPlanThreads) {
    Split& best = tree.leaf(level[i]).best;
    if (!best.found()) continue;
    if (!totals.has_missing) best.missing_left = 2 * totals.n_left >= totals.n_rows;
    if (is_behind) best.bin = static_cast<uint8_t>(tree.fit.n_bins[test.feature] - 1);
  }
  __syncthreads();
}

// Lists the divided leaves in tree.batch(); returns how many there are. All threads.
inline int list_divided(const TreeView& tree, int step, uint64_t* room) {
  const int32_t* level = tree.frontier(step);
  const int n_level = tree.state().n_frontier;
  int n = 0;
  for (int begin = 0; begin < n_level; begin += kPlanThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    const bool is_found = i < n_level && tree.leaf(level[i]).best.found();
    const BlockScan scan = scan_block(is_found, room);
    if (is_found) tree.batch()[n + scan.before] = level[i];
    n += static_cast<int>(scan.total);
  }
  __syncthreads();
  return n;
}

// Lists the leaves of the next level that may be divided: children, and leaves that the test has
// not divided, in order. All threads.
inline int list_next_level(const TreeView& tree, int step, uint64_t* room) {
  const int32_t* level = tree.frontier(step);
  int32_t* next = tree.frontier(step + 1);
  const int n_level = tree.state().n_frontier;
  int n = 0;
  for (int begin = 0; begin < n_level; begin += kPlanThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    int32_t own[2];
    int count = 0;
    if (i < n_level && !tree.leaf(level[i]).best.found()) {
      own[count++] = level[i];
    } else if (i < n_level) {
      const int left = tree.leaf(level[i]).children;
      for (int side = 0; side < 2; ++side) {
        if (tree.leaf(left + side).is_searched) own[count++] = left + side;
      }
    }
    const BlockScan scan = scan_block(count, room);
    for (int j = 0; j < count; ++j) next[n + scan.before + j] = own[j];
    n += static_cast<int>(scan.total);
  }
  return n;
}

// Splits the leaves of the level by the best test, and plans the next step. One block.
inline void plan_symmetric(const TreeView& tree, int step, uint64_t* room, LaneBest* lanes) {
  __shared__ LevelTotals totals;
  TreeState& state = tree.state();
  const Split test = best_of_features(tree, lanes);
  if (!test.found()) {
    if (threadIdx.x == 0) state.n_divisions = 0, state.is_done = 1;
    __syncthreads();
    return;
  }
  divide_leaves(tree, step, test, totals);
  const int n_split = list_divided(tree, step, room);
  const bool has_next = step + 1 < most_levels(tree.fit.params);
  for (int i = threadIdx.x; i < 2 * n_split; i += kPlanThreads) {  // a thread makes a child
    const int id = tree.batch()[i / 2], side = i % 2, left = state.n_leaf_ids + i - side;
    make_child(tree, id, left, side, has_next);
    number_leaf(tree, tree.leaf(left + side), state.n_nodes + i);
    if (side == 0) add_test(tree, tree.leaf(id), state.n_nodes + i);
  }
  __syncthreads();
  const int n_next = has_next ? list_next_level(tree, step, room) : 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    state.n_leaf_ids += 2 * n_split;
    state.n_nodes += 2 * n_split;
    state.n_leaves += n_split;
    state.n_frontier = n_next;
  }
  __syncthreads();
  schedule(tree, n_split, step, room);
  __syncthreads();
  if (threadIdx.x == 0) state.is_done = state.n_frontier == 0;
  __syncthreads();
}

// The best test of feature blockIdx.x for the level of tree blockIdx.y; then the plan of the next
// step.
extern "C" __global__ void level_search(const __grid_constant__ Fit fit, int32_t step) {
  __shared__ LevelRoom room;
  __shared__ uint64_t plan_room[kPlanWarps];
  const TreeView tree{fit, static_cast<int>(blockIdx.y)};
  TreeState& state = tree.state();
  if (state.is_done) return;
  const int feature = blockIdx.x;
  const size_t place = size_t(tree.tree) * fit.n_features + feature;
  if (step == 0) list_tests(tree, feature, fit.level_tests[place], room);
  Split best;
  const uint32_t* allowed = allowed_features(fit, tree.tree, 0);
  if (state.n_frontier > 0 && (allowed[feature / 32] >> (feature % 32) & 1)) {
    best = scan_feature(tree, feature, step, fit.level_tests[place], room);
  }
  if (threadIdx.x == 0) fit.level_candidates[place] = best;
  if (!is_last_block(&state.n_arrived, gridDim.x)) return;
  check_counts(tree, StepView(fit, step));
  if (step == 0 && threadIdx.x == 0) add_node(tree, tree.leaf(0));
  __syncthreads();
  if (state.error) {
    if (threadIdx.x == 0) state.is_done = 1;
    return;
  }
  plan_symmetric(tree, step, plan_room, room.best);
  if (state.is_done && threadIdx.x == 0 && fit.params.has_common_step()) apply_common_step(tree);
}

}  // namespace hedgerow::cuda
