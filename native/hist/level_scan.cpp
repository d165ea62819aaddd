#include "hist/level_scan.hpp"

#include <algorithm>

#include "core/compiler.hpp"
#include "shared/objective.hpp"

namespace hedgerow::hist {
namespace {

typedef std::int64_t Long8 __attribute__((vector_size(64)));
typedef std::uint64_t ULong8 __attribute__((vector_size(64)));
typedef double Double8 __attribute__((vector_size(64)));

constexpr int kLanes = 8;

inline Double8 to_double(Long8 v) { return __builtin_convertvector(v, Double8); }

// Tests in whole vectors.
std::size_t padded(int count) {
  return static_cast<std::size_t>((count + kLanes - 1) / kLanes * kLanes);
}

// The penalties in the histogram's integer units, so that sums need no conversion.
Penalties in_units(const Penalties& penalties, const FixedPoint& fixed) {
  return {penalties.lambda / fixed.h_unit, penalties.alpha / fixed.g_unit,
          penalties.cap * (fixed.h_unit / fixed.g_unit)};
}

// The sum of the scores of both sides where no weight is capped and no denominator is zero: one
// division instead of two.
struct FreeScore {
  Penalties penalties;

  Double8 operator()(Double8 G_left, Double8 G_right, Double8 a, Double8 b) const {
    const auto score = two_sided_fraction(soft_threshold(G_left, penalties.alpha),
                                          soft_threshold(G_right, penalties.alpha), a, b);
    return score.numerator / score.denominator;
  }
};

struct CappedScore {
  Penalties penalties;

  Double8 operator()(Double8 G_left, Double8 G_right, Double8 a, Double8 b) const {
    const auto left = score_fraction(penalties, G_left, a);
    const auto right = score_fraction(penalties, G_right, b);
    return left.numerator / left.denominator + right.numerator / right.denominator;
  }
};

// Which tests of a feature with a monotonic constraint may gain: those with the weights of both
// sides in order, and from `free_from` on all.
struct Order {
  int direction = 0;
  int free_from = 0;

  Long8 permits(const Penalties& penalties, Double8 G_left, Double8 G_right, Double8 a, Double8 b,
                int i) const {
    const Double8 left = weight(penalties, G_left, a), right = weight(penalties, G_right, b);
    const Long8 position = Long8{0, 1, 2, 3, 4, 5, 6, 7} + i;
    return (direction > 0 ? left <= right : left >= right) | (position >= free_from);
  }
  static Double8 weight(const Penalties& penalties, Double8 G, Double8 d) {
    return capped_weight(free_weight(soft_threshold(G, penalties.alpha), d), penalties.cap);
  }
};

// What a leaf needs to know of the rules, with its own sum.
struct LeafRules {
  ChildMinimum minimum;
  ScoreUnits units;
  SplitNode node;

  LeafRules(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& sum)
      : minimum(params, fixed),
        units(params, fixed, sum),
        node{params, fixed, sum, minimum, units, 0.0, 0.0, 0.0} {}
  LeafRules(const LeafRules&) = delete;
};

// Adds what a leaf gains by each of some tests; `start` is on the left in addition to `left`.
template <class Score>
void add_gains(const SplitNode& node, double leaf_score, const Score& score, const LeftSums& left,
               const GradientSum& start, int count, const Order& order, double* gains) {
  // min ≤ left ≤ total − min as one comparison of unsigned numbers, for rows, S + c and S.
  const auto& [min_hc, min_steps, min_h] = node.minimum;
  const std::uint64_t range_hc = node.total.hc - 2 * min_hc,
                      range_steps = node.fixed.most_steps(node.total) - 2 * min_steps,
                      range_h = node.h(node.total) - 2 * min_h;
  const auto total_h = static_cast<std::int64_t>(node.h(node.total));
  const auto h_mask = static_cast<std::int64_t>(node.fixed.h_mask());
  const double lambda = score.penalties.lambda;
  for (int i = 0; i < count; i += kLanes) {
    const Long8 left_g = load_unaligned<Long8>(left.g + i) + start.g;
    const ULong8 left_hc = load_unaligned<ULong8>(left.hc + i) + start.hc;
    const Long8 left_h = (Long8)left_hc & h_mask;
    const ULong8 left_steps = (ULong8)left_h + (left_hc >> node.fixed.count_shift);
    Long8 allowed = (left_hc - min_hc <= range_hc) & (left_steps - min_steps <= range_steps) &
                    ((ULong8)left_h - min_h <= range_h);

    const Double8 G_left = to_double(left_g), G_right = to_double(node.total.g - left_g);
    const Double8 a = to_double(left_h) + lambda, b = to_double(total_h - left_h) + lambda;
    if (order.direction != 0) allowed &= order.permits(score.penalties, G_left, G_right, a, b, i);
    const Double8 gain = score(G_left, G_right, a, b) - leaf_score;
    store_unaligned(gains + i, load_unaligned<Double8>(gains + i) + (allowed ? gain : Double8{}));
  }
}

void add_gains(const GrowthParams& params, const FixedPoint& fixed, const LevelLeaf& leaf,
               const LeftSums& left, const GradientSum& start, int count, const Order& order,
               double extra_lambda, double* gains) {
  const LeafRules rules(params, fixed, leaf.sum);
  const Penalties penalties = in_units(params.penalties(extra_lambda), fixed);
  if (rules.node.has_fractions()) {
    add_gains(rules.node, leaf.score, FreeScore{penalties}, left, start, count, order, gains);
  } else {
    add_gains(rules.node, leaf.score, CappedScore{penalties}, left, start, count, order, gains);
  }
}

}  // namespace

LevelScan::LevelScan(const GrowthParams& params, const Constraints& constraints,
                     std::span<const std::int32_t> n_bins)
    : params_(params), constraints_(constraints), tests_(n_bins.size()) {
  std::size_t end = 0;
  for (const std::int32_t count : n_bins) {
    first_.insert(first_.end(), {end, end + padded(count)});
    end += 2 * padded(count);
  }
  first_.push_back(end);
  gains_ = Buffer<double>(end);
}

LevelLeaf LevelScan::leaf(const GradientSum& sum) const {
  return {sum, leaf_score(in_units(params_.penalties(), fixed_), static_cast<double>(sum.g),
                          static_cast<double>(fixed_.h_steps(sum)))};
}

// The split after the last bin separates missing values from all numbers. Missing categories always
// go right.
void LevelScan::list_tests(const FeatureHistogram& root) {
  Tests& tests = tests_[static_cast<std::size_t>(root.feature)];
  tests.has_missing = root.missing.hc != 0;
  tests.is_categorical = root.categorical;
  tests.weight = root.weight;
  if (root.categorical) return list_sets(root, tests);
  const int between = root.n_bins - 1;
  tests.count = tests.has_missing ? std::array{root.n_bins, between} : std::array{between, 0};
}

// Few categories are tried against the rest, one by one. More are sorted by G/(H + smoothing),
// without those of too little Σh.
void LevelScan::list_sets(const FeatureHistogram& root, Tests& tests) const {
  std::vector<std::uint8_t>& order = tests.order;
  order.clear();
  for (int bin = 0; bin < root.n_bins; ++bin) {
    if (root.sums[bin].hc != 0) order.push_back(static_cast<std::uint8_t>(bin));
  }
  auto count = static_cast<int>(order.size());
  tests.is_sorted = count > params_.max_cat_to_onehot;
  tests.count = {count, 0};
  if (!tests.is_sorted) return;
  const LeafRules rules(params_, fixed_, root.missing);  // of no leaf: categories alone count
  double ratio[kBins];
  std::erase_if(order, [&](std::uint8_t bin) { return !rules.node.is_sortable(root.sums[bin]); });
  for (const std::uint8_t bin : order) ratio[bin] = rules.node.category_ratio(root.sums[bin]);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return ratio[a] < ratio[b]; });
  count = std::min(static_cast<int>(order.size()), params_.max_cat_threshold);
  tests.count = {count, count};
}

void LevelScan::clear(std::size_t feature) {
  std::fill(gains(feature, 0), gains_.get() + first_[2 * feature + 2], 0.0);
}

void LevelScan::add(const LevelLeaf& leaf, const FeatureHistogram& histogram, LeftSums& room) {
  if (histogram.categorical) {
    add_categories(leaf, histogram, room);
  } else {
    add_thresholds(leaf, histogram, room);
  }
}

void LevelScan::add_thresholds(const LevelLeaf& leaf, const FeatureHistogram& histogram,
                               LeftSums& room) {
  const auto feature = static_cast<std::size_t>(histogram.feature);
  const Tests& tests = tests_[feature];
  GradientSum left = {0, 0};
  for (int bin = 0; bin < static_cast<int>(padded(histogram.n_bins)); ++bin) {
    if (bin < histogram.n_bins) left += histogram.sums[bin];
    room.set(bin, left);
  }
  const Order order = {constraints_.direction(feature), histogram.n_bins - 1};
  add_gains(params_, fixed_, leaf, room, {0, 0}, tests.count[0], order, 0.0, gains(feature, 0));
  if (!tests.has_missing) return;
  add_gains(params_, fixed_, leaf, room, histogram.missing, tests.count[1], order, 0.0,
            gains(feature, 1));
}

void LevelScan::add_categories(const LevelLeaf& leaf, const FeatureHistogram& histogram,
                               LeftSums& room) {
  const auto feature = static_cast<std::size_t>(histogram.feature);
  const Tests& tests = tests_[feature];
  for (const std::size_t kind : {0, 1}) {
    const int count = tests.count[kind];
    GradientSum left = {0, 0};
    for (int i = 0; i < static_cast<int>(padded(count)); ++i) {
      if (!tests.is_sorted) left = {0, 0};
      if (i < count) left += histogram.sums[tests.category(i, kind)];
      room.set(i, left);
    }
    add_gains(params_, fixed_, leaf, room, {0, 0}, count, {},
              tests.is_sorted ? params_.cat_l2 : 0.0, gains(feature, kind));
  }
}

// Of equals, the first wins: thresholds by bin, missing values right before left; the first
// categories before the last.
LevelScan::Chosen LevelScan::best_of(std::size_t feature, double least) const {
  const Tests& tests = tests_[feature];
  Chosen best;
  best.gain = least;
  const auto look_at = [&](int test, std::size_t kind) {
    const double gain = gains(feature, kind)[test];
    if (gain > best.gain) best = {test, kind, gain};
  };
  if (tests.is_categorical) {
    for (const std::size_t kind : {0, 1}) {
      for (int i = 0; i < tests.count[kind]; ++i) look_at(i, kind);
    }
    return best;
  }
  for (int bin = 0; bin < tests.count[0]; ++bin) {
    look_at(bin, 0);
    if (bin < tests.count[1]) look_at(bin, 1);
  }
  return best;
}

void LevelScan::offer(std::size_t feature, double score, Split& best) const {
  const Chosen chosen = best_of(feature, kRelativeNoise * score);
  if (chosen.test < 0) return;
  const Split found = split(feature, chosen);
  if (found.gain > 0.0 && found.beats(best)) best = found;
}

Split LevelScan::split(std::size_t feature, const Chosen& chosen) const {
  const Tests& tests = tests_[feature];
  Split split;
  split.gain = split_gain(chosen.gain * fixed_.g_unit, 0.0, params_.min_split_gain,
                          fixed_.g_unit / fixed_.h_unit);
  split.weight = tests.weight;
  split.feature = static_cast<int>(feature);
  split.categorical = tests.is_categorical;
  if (!tests.is_categorical) {
    split.bin = static_cast<std::uint8_t>(chosen.test);
    split.missing_left = chosen.kind == 1;
    return split;
  }
  for (int i = tests.is_sorted ? 0 : chosen.test; i <= chosen.test; ++i) {
    const int bin = tests.category(i, chosen.kind);
    split.categories[bin >> 5] |= 1u << (bin & 31);
  }
  return split;
}

LeafDivision LevelScan::divide(const LevelLeaf& leaf, const Split& test,
                               const FeatureHistogram& histogram) const {
  GradientSum left = test.missing_left ? histogram.missing : GradientSum{0, 0};
  for (int bin = 0; bin < histogram.n_bins; ++bin) {
    if (test.takes(bin)) left += histogram.sums[bin];
  }
  LeafDivision division = {{}, left, histogram.missing, leaf.sum};
  if (!LeafRules(params_, fixed_, leaf.sum).node.allowed(left)) return division;
  const auto score = [&](const GradientSum& sum, double extra_lambda = 0.0) {
    return leaf_score(params_.penalties(extra_lambda), fixed_.g(sum), fixed_.h(sum));
  };
  const bool is_sorted = tests_[static_cast<std::size_t>(test.feature)].is_sorted;
  const double extra_lambda = is_sorted ? params_.cat_l2 : 0.0;
  division.split = test;
  division.split.left = left;
  division.split.gain = split_gain(score(left, extra_lambda) + score(leaf.sum - left, extra_lambda),
                                   score(leaf.sum), 0.0);
  return division;
}

// If no leaf has missing values, they go to the larger side of those that are divided. A threshold
// that separates missing values from all numbers is moved behind the last bin, so that larger
// numbers go the same way.
void LevelScan::complete(Split& test, std::span<LeafDivision> leaves, int n_bins) const {
  if (test.categorical) return;
  bool any_missing = false, all_left = true;
  std::uint64_t n_left = 0, n_rows = 0;
  for (const LeafDivision& leaf : leaves) {
    any_missing |= leaf.missing.hc != 0;
    all_left &= leaf.left.hc == (leaf.sum - leaf.missing).hc;
    if (!leaf.split.found()) continue;
    n_left += fixed_.count(leaf.left);
    n_rows += fixed_.count(leaf.sum);
  }
  if (!any_missing) test.missing_left = 2 * n_left >= n_rows;
  if (any_missing && !test.missing_left && all_left)
    test.bin = static_cast<std::uint8_t>(n_bins - 1);
  for (LeafDivision& leaf : leaves) {
    leaf.split.bin = test.bin;
    leaf.split.missing_left = test.missing_left;
  }
}

}  // namespace hedgerow::hist
