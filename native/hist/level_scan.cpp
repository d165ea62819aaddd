#include "hist/level_scan.hpp"

#include <algorithm>

#include "hist/scan_vectors.hpp"
#include "shared/objective.hpp"

namespace hedgerow::hist {
namespace {

constexpr int kLanes = 8;

// A number of tests, rounded up to whole vectors.
std::size_t padded(int count) {
  return (static_cast<std::size_t>(count) + kLanes - 1) / kLanes * kLanes;
}

// The penalties in the histogram's integer units, so that sums need no conversion.
Penalties in_units(const Penalties& penalties, const FixedPoint& fixed) {
  return {penalties.lambda / fixed.h_unit, penalties.alpha / fixed.g_unit,
          penalties.cap * (fixed.h_unit / fixed.g_unit)};
}

// The gradient sums G and the denominators H + λ of both sides of eight tests.
struct TestSides {
  Double8 G_left, G_right, a, b;

  TestSides(const FixedPoint& fixed, const GradientSum& leaf, double lambda, const Long8& g,
            const Long8& h)
      : G_left(to_double(g)),
        G_right(to_double(leaf.g - g)),
        a(to_double(h) + lambda),
        b(to_double(static_cast<std::int64_t>(fixed.h_steps(leaf)) - h) + lambda) {}
};

// What a leaf gains by eight tests with the sums g and h on the left, if there is no penalty but λ:
// a constant and a multiple of one fraction (see shared/objective.hpp).
struct PlainGain {
  double lambda, both_sides, mean, constant;

  PlainGain(const FixedPoint& fixed, const LevelLeaf& leaf, const Penalties& penalties)
      : lambda(penalties.lambda),
        both_sides(static_cast<double>(fixed.h_steps(leaf.sum)) + 2.0 * lambda),
        mean(static_cast<double>(leaf.sum.g) / both_sides),
        constant(static_cast<double>(leaf.sum.g) * mean - leaf.score) {}

  Double8 operator()(const Long8& g, const Long8& h) const {
    const auto [numerator, denominator] =
        split_fraction(to_double(g), to_double(h), lambda, both_sides, mean);
    return both_sides * (numerator / denominator) + constant;
  }
};

// The same with any penalties.
struct PenalisedGain {
  const FixedPoint& fixed;
  const LevelLeaf& leaf;
  const Penalties& penalties;

  Double8 operator()(const Long8& g, const Long8& h) const {
    const TestSides sides(fixed, leaf.sum, penalties.lambda, g, h);
    const auto left = score_fraction(penalties, sides.G_left, sides.a);
    const auto right = score_fraction(penalties, sides.G_right, sides.b);
    return left.numerator / left.denominator + right.numerator / right.denominator - leaf.score;
  }
};

// Which tests of a feature with a monotonic constraint may gain: those with the weights of both
// sides in order, and all tests from `free_from` on.
struct Order {
  int direction = 0;
  int free_from = 0;

  Long8 permits(const Penalties& penalties, const TestSides& sides, int i) const {
    const Double8 left = weight(penalties, sides.G_left, sides.a),
                  right = weight(penalties, sides.G_right, sides.b);
    const Long8 position = Long8::numbers() + i;
    return (direction > 0 ? left <= right : left >= right) | (position >= free_from);
  }
  static Double8 weight(const Penalties& penalties, const Double8& G, const Double8& d) {
    return capped_weight(free_weight(soft_threshold(G, penalties.alpha), d), penalties.cap);
  }
};

// The rules of all engines for a leaf.
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
template <class Gain>
void add_gains(const LevelUnits& units, const LevelLeaf& leaf, const Penalties& penalties,
               const Gain& gain, const LeftSums& left, const GradientSum& start, int count,
               const Order& order, double* gains) {
  // min ≤ left ≤ total − min as one comparison of unsigned numbers, for rows, S + c and S.
  const FixedPoint& fixed = units.fixed;
  const auto& [min_hc, min_steps, min_h] = units.minimum;
  const std::uint64_t range_hc = leaf.sum.hc - 2 * min_hc,
                      range_steps = fixed.most_steps(leaf.sum) - 2 * min_steps,
                      range_h = fixed.h_steps(leaf.sum) - 2 * min_h;
  const ULong8 h_mask = fixed.h_mask();
  for (int i = 0; i < count; i += kLanes) {
    const Long8 left_g = Long8::load(left.g + i) + start.g;
    const ULong8 left_hc = ULong8::load(left.hc + i) + start.hc, left_h = left_hc & h_mask;
    const ULong8 left_steps = left_h + (left_hc >> fixed.count_shift);
    Long8 allowed = (left_hc - min_hc <= range_hc) & (left_steps - min_steps <= range_steps);
    if (fixed.has_zero_h) allowed &= left_h - min_h <= range_h;  // or rows are S enough
    if (order.direction != 0) {
      const TestSides sides(fixed, leaf.sum, penalties.lambda, left_g, as<std::int64_t>(left_h));
      allowed &= order.permits(penalties, sides, i);
    }
    const Double8 added = select(allowed, gain(left_g, as<std::int64_t>(left_h)), Double8{});
    (Double8::load(gains + i) + added).store(gains + i);
  }
}

void add_gains(const LevelUnits& units, const LevelLeaf& leaf, const Penalties& penalties,
               const LeftSums& left, const GradientSum& start, int count, const Order& order,
               double* gains) {
  if (units.is_plain) {
    const PlainGain gain(units.fixed, leaf, penalties);
    add_gains(units, leaf, penalties, gain, left, start, count, order, gains);
  } else {
    const PenalisedGain gain{units.fixed, leaf, penalties};
    add_gains(units, leaf, penalties, gain, left, start, count, order, gains);
  }
}

// The sums of the first bins, for each number of them up to a multiple of eight. Those beyond the
// last bin are of no use.
void sum_up(const FeatureHistogram& histogram, LeftSums& left) {
  RunningSums running({0, 0});
  for (int i = 0; i < histogram.n_bins; i += kLanes) {
    const Sums8 sums = running.next(
        [&]<class Vector>(int k) { return load_unaligned<Vector>(histogram.sums + i + k); });
    sums.g.store(left.g + i);
    sums.hc.store(left.hc + i);
  }
}

}  // namespace

LevelUnits::LevelUnits(const GrowthParams& params, const FixedPoint& fixed_point)
    : fixed(fixed_point),
      minimum(params, fixed),
      penalties(in_units(params.penalties(), fixed)),
      of_sorted(in_units(params.penalties(params.cat_l2), fixed)),
      is_plain(minimum.has_fractions(params) && params.reg_alpha == 0.0) {}

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
  return {sum, leaf_score(units_->penalties, static_cast<double>(sum.g),
                          static_cast<double>(fixed().h_steps(sum)))};
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
  const LeafRules rules(params_, fixed(), root.missing);  // of no leaf: categories alone count
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
  sum_up(histogram, room);
  const Order order = {constraints_.direction(feature), histogram.n_bins - 1};
  add_gains(*units_, leaf, units_->penalties, room, {0, 0}, tests.count[0], order,
            gains(feature, 0));
  add_gains(*units_, leaf, units_->penalties, room, histogram.missing, tests.count[1], order,
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
    add_gains(*units_, leaf, tests.is_sorted ? units_->of_sorted : units_->penalties, room, {0, 0},
              count, {}, gains(feature, kind));
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
  split.gain = split_gain(chosen.gain * fixed().g_unit, 0.0, params_.min_split_gain,
                          fixed().g_unit / fixed().h_unit);
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
  if (!LeafRules(params_, fixed(), leaf.sum).node.allowed(left)) return division;
  const auto score = [&](const GradientSum& sum, double extra_lambda = 0.0) {
    return leaf_score(params_.penalties(extra_lambda), fixed().g(sum), fixed().h(sum));
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
std::vector<Split> LevelScan::complete(Split& test, std::span<const LeafDivision> leaves,
                                       int n_bins) const {
  bool any_missing = false, all_left = true;
  std::uint64_t n_left = 0, n_rows = 0;
  for (const LeafDivision& leaf : leaves) {
    any_missing |= leaf.missing.hc != 0;
    all_left &= leaf.left.hc == (leaf.sum - leaf.missing).hc;
    if (!leaf.split.found()) continue;
    n_left += fixed().count(leaf.left);
    n_rows += fixed().count(leaf.sum);
  }
  if (!test.categorical) {
    const bool is_behind = any_missing && !test.missing_left && all_left;
    if (!any_missing) test.missing_left = 2 * n_left >= n_rows;
    if (is_behind) test.bin = static_cast<std::uint8_t>(n_bins - 1);
  }
  std::vector<Split> splits;
  for (const LeafDivision& leaf : leaves) {
    splits.push_back(leaf.split);
    splits.back().bin = test.bin;
    splits.back().missing_left = test.missing_left;
  }
  return splits;
}

}  // namespace hedgerow::hist
