// The best splits of the step's leaves. Mirrors native/hist/split.cpp, by the rule of
// shared/split_rule.hpp.
//
// A block takes a division and kQuad columns, and a warp one column of one child. The warp adds up
// the column's bins in order, and scans them with missing values on the right, and on the left if
// there are any. The last block of a tree plans its next step.
#include "plan.hpp"

namespace hedgerow::cuda {

constexpr int kSplitWarps = 2 * kQuad;

// The shared memory of a warp.
struct Column {
  GradientSum sums[kBins];  // of each bin; then running sums
  double ratio[kBins];
  uint8_t bins[kBins];  // occupied ones
  uint8_t order[kBins];
};

constexpr int kSplitSharedBytes = kSplitWarps * (sizeof(Column) + sizeof(Split));

// Sums in unsigned arithmetic, which may wrap around.
inline GradientSum plus(const GradientSum& a, const GradientSum& b) {
  return {static_cast<int64_t>(static_cast<uint64_t>(a.g) + static_cast<uint64_t>(b.g)),
          a.hc + b.hc};
}

inline GradientSum minus(const GradientSum& a, const GradientSum& b) {
  return {static_cast<int64_t>(static_cast<uint64_t>(a.g) - static_cast<uint64_t>(b.g)),
          a.hc - b.hc};
}

// The running sum over the lanes of a warp.
__noinline__ GradientSum running_sum(GradientSum x) {
  const int lane = threadIdx.x % kWarp;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const GradientSum before = shuffle_up(x, distance);
    if (lane >= distance) x = plus(x, before);
  }
  return x;
}

// Replaces the first `count` sums by running sums; count is a multiple of 32.
inline void add_up(GradientSum* sums, int count) {
  const int lane = threadIdx.x % kWarp;
  GradientSum carry = {0, 0};
  for (int first = 0; first < count; first += kWarp) {
    const GradientSum sum = plus(carry, running_sum(sums[first + lane]));
    sums[first + lane] = sum;
    carry = from_lane(sum, kWarp - 1);
  }
  __syncwarp();
}

// Writes the occupied bins among the first n_bins to column.bins; returns how many there are.
inline int find_occupied(Column& column, int n_bins) {
  const int lane = threadIdx.x % kWarp;
  int count = 0;
  for (int first = 0; first < n_bins; first += kWarp) {
    const int bin = first + lane;
    const bool is_occupied = bin < n_bins && column.sums[bin].hc != 0;
    const unsigned lanes = __ballot_sync(kAllLanes, is_occupied);
    if (is_occupied) {
      column.bins[count + __popc(lanes & ((1u << lane) - 1))] = static_cast<uint8_t>(bin);
    }
    count += __popc(lanes);
  }
  __syncwarp();
  return count;
}

// Moves the sums of occupied bins to the front, followed by zeros.
inline void squeeze(Column& column, int count) {
  const int lane = threadIdx.x % kWarp;
  for (int first = 0; first < kBins; first += kWarp) {
    const int i = first + lane;
    const GradientSum sum = i < count ? column.sums[column.bins[i]] : GradientSum{0, 0};
    __syncwarp();  // a bin is not before its place among the occupied ones
    column.sums[i] = sum;
    __syncwarp();
  }
}

// The best of the first `count` positions with `start` on the left side, −1 for none: the rule of
// `winner` (shared/split_rule.hpp). Each lane computes the fraction of a position; then the lanes
// of a class compare those of their class, in order.
template <bool kL1>
inline int scan_fractions(const SplitNode& node, const GradientSum* running, int count,
                          const GradientSum& start) {
  const FractionUnits<kL1> fraction(node);
  // Copies, which the loop has in registers.
  const ChildMinimum minimum = node.minimum;
  const FixedPoint fixed = node.fixed;
  const uint64_t total_g = static_cast<uint64_t>(node.total.g);
  const uint64_t range_hc = node.total.hc - 2 * minimum.hc;
  const uint64_t range_h = node.h(node.total) - 2 * minimum.h;
  const uint64_t range_steps = fixed.most_steps(node.total) - 2 * minimum.steps;
  const int lane = threadIdx.x % kWarp, of_class = lane % kScanClasses;
  double numerator = fraction.to_beat, denominator = 1.0;
  int position = -1;
  for (int first = 0; first < count; first += kWarp) {
    const int p = first + lane;
    const GradientSum left = plus(start, running[p]);
    const uint64_t left_h = fixed.h_steps(left);
    const auto left_g = static_cast<double>(left.g);
    const auto right_g =
        static_cast<double>(static_cast<int64_t>(total_g - static_cast<uint64_t>(left.g)));
    Fraction<double> own =
        fraction(left_g, right_g, static_cast<double>(static_cast<int64_t>(left_h)));
    const bool is_allowed =
        p - of_class < count && fixed.most_steps(left) - minimum.steps <= range_steps &&
        left.hc - minimum.hc <= range_hc && (!fixed.has_zero_h || left_h - minimum.h <= range_h);
    if (!is_allowed) own = {-std::numeric_limits<double>::infinity(), 1.0};  // never chosen
#pragma unroll
    for (int i = 0; i < kWarp; i += kScanClasses) {
      const double its_numerator = __shfl_sync(kAllLanes, own.numerator, i + of_class);
      const double its_denominator = __shfl_sync(kAllLanes, own.denominator, i + of_class);
      if (its_numerator * denominator > numerator * its_denominator) {
        numerator = its_numerator;
        denominator = its_denominator;
        position = first + i + of_class;
      }
    }
  }
  // Positions behind the last are like it.
  const LaneBest best = {numerator / denominator, position < count ? position : count - 1};
  return best_lane(best, kScanClasses).place;
}

__noinline__ double gain_of(const SplitNode& node, const GradientSum& left,
                            double extra_lambda = 0.0) {
  return node.gain(left, extra_lambda);
}

// The position with the largest gain, for capped weights and children without hessian.
inline int scan_gains(const SplitNode& node, const GradientSum* running, int count,
                      const GradientSum& start) {
  LaneBest best = {node.gain_to_beat, -1};
  for (int p = threadIdx.x % kWarp; p < count; p += kWarp) {
    const GradientSum left = plus(start, running[p]);
    if (!node.allowed(left)) continue;
    const double gain = gain_of(node, left);
    if (gain > best.gain) best = {gain, p};
  }
  return best_lane(best).place;
}

// The best position of a scan, −1 for none.
inline int find_position(const SplitNode& node, const GradientSum* running, int count,
                         const GradientSum& start) {
  if (!node.has_fractions()) return scan_gains(node, running, count, start);
  return node.params.reg_alpha > 0.0 ? scan_fractions<true>(node, running, count, start)
                                     : scan_fractions<false>(node, running, count, start);
}

inline Split best_numeric(const SplitNode& node, Column& column, int n_bins) {
  const GradientSum missing = column.sums[kMissingBin];
  __syncwarp();
  column.sums[kMissingBin] = {0, 0};  // it is no position of the scan
  __syncwarp();
  int n = n_bins;
  const bool is_sparse = node.is_sparse();
  if (is_sparse) {
    n = find_occupied(column, n_bins);
    squeeze(column, n);
  }
  add_up(column.sums, kBins);
  const bool has_missing = missing.hc != 0;
  const int count[2] = {has_missing ? n : n - 1, n - 1};
  const GradientSum start[2] = {{0, 0}, missing};
  const int n_scans = has_missing ? 2 : 1;
  Split best;
  for (int i = 0; i < n_scans; ++i) {
    const int position = find_position(node, column.sums, count[i], start[i]);
    if (position < 0) continue;
    const GradientSum left = plus(start[i], column.sums[position]);
    const int bin = is_sparse ? column.bins[position] : position;
    node.keep_better_threshold(gain_of(node, left), bin, left, i == 1, best);
  }
  if (!has_missing) best.missing_left = node.missing_follow_left(best.left);
  node.move_behind_all_numbers(missing, n_bins, best);
  return best;
}

// One category against the rest, by its place among the occupied ones.
inline Split best_of_few(const SplitNode& node, Column& column, int count) {
  LaneBest best = {0.0, -1};
  for (int i = threadIdx.x % kWarp; i < count; i += kWarp) {
    const GradientSum left = column.sums[column.bins[i]];
    if (!node.allowed(left)) continue;
    const double gain = gain_of(node, left);
    if (gain > best.gain) best = {gain, i};
  }
  best = best_lane(best);
  Split split;
  if (best.place < 0) return split;
  const int bin = column.bins[best.place];
  split.categories[bin >> 5] = 1u << (bin & 31);
  split.left = column.sums[bin];
  split.gain = best.gain;
  return split;
}

// Drops the bins whose categories are too light; returns how many are left.
inline int keep_heavy(const SplitNode& node, Column& column, int count) {
  const int lane = threadIdx.x % kWarp;
  int kept = 0;
  for (int first = 0; first < count; first += kWarp) {
    const int i = first + lane;
    const uint8_t bin = column.bins[i < count ? i : 0];
    const bool is_kept = i < count && node.is_sortable(column.sums[bin]);
    const unsigned lanes = __ballot_sync(kAllLanes, is_kept);
    __syncwarp();
    if (is_kept) column.bins[kept + __popc(lanes & ((1u << lane) - 1))] = bin;
    kept += __popc(lanes);
    __syncwarp();
  }
  return kept;
}

// Sorts the bins by their ratios, in column.order; equals keep their order.
inline void sort_categories(const SplitNode& node, Column& column, int count) {
  const int lane = threadIdx.x % kWarp;
  for (int i = lane; i < count; i += kWarp) {
    column.ratio[i] = node.category_ratio(column.sums[column.bins[i]]);
  }
  __syncwarp();
  for (int i = lane; i < count; i += kWarp) {
    const double own = column.ratio[i];
    int place = 0;
    for (int j = 0; j < count; ++j) {
      place += column.ratio[j] < own || (column.ratio[j] == own && j < i);
    }
    column.order[place] = column.bins[i];
  }
  __syncwarp();
}

// The best prefix of the sorted categories, from the low end or from the high end.
inline Split best_of_sorted(const SplitNode& node, Column& column, int count) {
  count = keep_heavy(node, column, count);
  sort_categories(node, column, count);
  const int lane = threadIdx.x % kWarp;
  const int longest = min(node.params.max_cat_threshold, count);
  LaneBest best = {0.0, -1};
  GradientSum best_left = {0, 0};
  for (int end = 0; end < 2; ++end) {
    GradientSum carry = {0, 0};
    for (int first = 0; first < longest; first += kWarp) {
      const int i = first + lane;
      const bool is_prefix = i < longest;
      const int at = !is_prefix ? 0 : end == 0 ? i : count - 1 - i;
      const GradientSum own = is_prefix ? column.sums[column.order[at]] : GradientSum{0, 0};
      const GradientSum left = plus(carry, running_sum(own));
      carry = from_lane(left, kWarp - 1);
      if (!is_prefix || !node.allowed(left)) continue;
      const double gain = gain_of(node, left, node.params.cat_l2);
      if (gain > best.gain) best = {gain, end * kBins + i}, best_left = left;
    }
  }
  const LaneBest chosen = best_lane(best);
  Split split;
  if (chosen.place < 0) return split;
  const unsigned lanes = __ballot_sync(kAllLanes, best.place == chosen.place);
  split.left = from_lane(best_left, __ffs(lanes) - 1);
  split.gain = chosen.gain;
  for (int i = 0; i <= chosen.place % kBins; ++i) {
    const int bin = column.order[chosen.place < kBins ? i : count - 1 - i];
    split.categories[bin >> 5] |= 1u << (bin & 31);
  }
  return split;
}

inline Split best_categorical(const SplitNode& node, Column& column, int n_bins) {
  const int count = find_occupied(column, n_bins);
  Split best = count <= node.params.max_cat_to_onehot ? best_of_few(node, column, count)
                                                      : best_of_sorted(node, column, count);
  best.categorical = true;
  return best;
}

// The features that a leaf may be split on: bits.
inline const uint32_t* allowed_features(const Fit& fit, int tree, int leaf) {
  if (!fit.samples_nodes) return fit.tree_features + size_t(tree) * fit.mask_words;
  return fit.allowed + (size_t(tree) * fit.leaf_capacity + leaf) * fit.mask_words;
}

// The best split of a leaf with the sum `total` on a feature; not found if there is none. One warp.
inline Split search(const TreeView& view, const GradientSum& total, int feature, Column& column) {
  const Fit& fit = view.fit;
  const ChildMinimum minimum(fit.params, view.fixed());
  const NodeScore score(fit.params, view.fixed(), total);
  const double weight = fit.feature_weight[feature];
  const ScoreUnits units(fit.params, view.fixed(), total);
  const double to_beat = score.gain_to_beat(Split{}, weight, fit.params.min_split_gain);
  const SplitNode node{fit.params,   view.fixed(),     total,  minimum, units,
                       score.parent, score.least_gain, to_beat};
  if (!node.has_room()) return {};
  Split best = fit.is_categorical[feature] ? best_categorical(node, column, fit.n_bins[feature])
                                           : best_numeric(node, column, fit.n_bins[feature]);
  best.feature = feature;
  best.weight = weight;
  return best.gain > score.least_gain && best.beats(Split{}) ? best : Split{};
}

// Reads the histograms of a quad of columns; the larger child's replaces its parent's.
inline void read_histograms(const TreeView& tree, const Division& division, int first_feature,
                            Column* columns) {
  const int group = first_feature / kGroupColumns, first = first_feature % kGroupColumns;
  const Leaf& small = tree.leaf(division.small);
  const bool subtracts = division.large >= 0 && tree.leaf(division.large).is_searched;
  const uint64_t* of_small = tree.histogram(small.slot, group);
  uint64_t* of_large = subtracts ? tree.histogram(tree.leaf(division.large).slot, group) : nullptr;
  // All reads are on their way at once.
  constexpr int kOfThread = kBins * kQuad / (kSplitWarps * kWarp);
  GradientSum sums[kOfThread], rest[kOfThread] = {};
#pragma unroll
  for (int j = 0; j < kOfThread; ++j) {
    const int i = j * kSplitWarps * kWarp + threadIdx.x;
    const int at = i / kQuad * kGroupColumns + first + i % kQuad;
    sums[j] = {static_cast<int64_t>(of_small[at]), of_small[kGroupWords + at]};
    if (subtracts) rest[j] = {static_cast<int64_t>(of_large[at]), of_large[kGroupWords + at]};
  }
#pragma unroll
  for (int j = 0; j < kOfThread; ++j) {
    const int i = j * kSplitWarps * kWarp + threadIdx.x;
    const int at = i / kQuad * kGroupColumns + first + i % kQuad;
    columns[i % kQuad].sums[i / kQuad] = sums[j];
    if (!subtracts) continue;
    const GradientSum left = minus(rest[j], sums[j]);
    columns[kQuad + i % kQuad].sums[i / kQuad] = left;
    of_large[at] = static_cast<uint64_t>(left.g);
    of_large[kGroupWords + at] = left.hc;
  }
}

// The sum of the root, from its histogram. One warp.
inline GradientSum root_sum(const TreeView& tree) {
  const uint64_t* histogram = tree.histogram(0, 0);
  GradientSum sum = {0, 0};
  for (int bin = threadIdx.x % kWarp; bin < kBins; bin += kWarp) {
    const int at = bin * kGroupColumns;
    sum = plus(sum, {static_cast<int64_t>(histogram[at]), histogram[kGroupWords + at]});
  }
  return from_lane(running_sum(sum), kWarp - 1);
}

// The best splits of a division's children on a quad of columns, to fit.candidates. One block.
inline void search_quad(const TreeView& tree, const Division& division, int step, int quad,
                        Split* candidates, Column* columns) {
  const Fit& fit = tree.fit;
  auto* found = reinterpret_cast<Split*>(columns + kSplitWarps);
  const int first = quad * kQuad;
  read_histograms(tree, division, first, columns);
  __syncthreads();
  const int warp = threadIdx.x / kWarp, side = warp / kQuad, feature = first + warp % kQuad;
  const int id = side == 0 ? division.small : division.large;
  Split best;
  if (id >= 0 && tree.leaf(id).is_searched && feature < fit.n_features) {
    const uint32_t* allowed = allowed_features(fit, division.tree, id);
    if (allowed[feature / 32] >> (feature % 32) & 1) {
      const GradientSum total = step == 0 ? root_sum(tree) : tree.leaf(id).sum;
      best = search(tree, total, feature, columns[warp]);
    }
  }
  if (threadIdx.x % kWarp == 0) found[warp] = best;
  __syncthreads();
  if (threadIdx.x >= 2) return;
  Split of_quad = found[threadIdx.x * kQuad];
  for (int i = 1; i < kQuad; ++i) {
    if (found[threadIdx.x * kQuad + i].beats(of_quad)) of_quad = found[threadIdx.x * kQuad + i];
  }
  candidates[threadIdx.x * fit.n_quads + quad] = of_quad;
}

// The best splits of the step's children, for each quad of columns: division blockIdx.x, quad
// blockIdx.y. Then the plan of the next step.
extern "C" __global__ void split(const __grid_constant__ Fit fit, int32_t step) {
  static_assert(kSplitWarps * kWarp == kPlanThreads);
  extern __shared__ double split_room[];
  const StepView view(fit, step);
  if (blockIdx.x >= view.work.n_divisions()) return;
  const Division& division = view.divisions[blockIdx.x];
  const TreeView tree{fit, division.tree};
  if (step == 0 && blockIdx.y == 0 && threadIdx.x < kWarp) {
    const GradientSum sum = root_sum(tree);
    if (threadIdx.x == 0) tree.leaf(0).sum = sum;
  }
  search_quad(tree, division, step, blockIdx.y,
              fit.candidates + size_t(blockIdx.x) * 2 * fit.n_quads,
              reinterpret_cast<Column*>(split_room));
  TreeState& state = tree.state();
  if (is_last_block(&state.n_arrived, state.n_divisions * gridDim.y)) plan_tree(tree, step);
}

}  // namespace hedgerow::cuda
