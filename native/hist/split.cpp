// Split finding. The common case (no cap on leaf weights) processes eight bins at a time and
// needs no division: two candidates are compared as fractions (see shared/objective.hpp), by
// cross-multiplication. Everything is in the histogram's integer units, so λ and the other limits
// are converted once instead of every sum.
#include "hist/split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "hist/histogram.hpp"
#include "hist/scan_vectors.hpp"

namespace hedgerow::hist {
namespace {

// Up to this number of bins, it is checked first whether one of them has nearly all rows.
constexpr int kFewBins = 64;

double limited_score(const Penalties& penalties, double G, double H, const Limits& limits) {
  const double d = H + penalties.lambda;
  return score_at(G, d, penalties.alpha,
                  limited_weight(G, d, penalties.alpha, limits.low, limits.high));
}

// What the scan of one feature needs: the node, and the limits of its children.
struct SplitContext : SplitNode {
  int feature;
  LimitedLeaf limited;  // empty if values along the feature have no limits

  using SplitNode::gain;
  double gain(const GradientSum& left, const SideLimits& limits, double extra_lambda = 0.0) const {
    const GradientSum right = total - left;
    const Penalties penalties = params.penalties(extra_lambda);
    return split_gain(limited_score(penalties, fixed.g(left), fixed.h(left), limits.left) +
                          limited_score(penalties, fixed.g(right), fixed.h(right), limits.right),
                      parent_score, params.min_split_gain);
  }
  // The gain of a split on categories.
  double gain(const Split& split, double extra_lambda = 0.0) const {
    if (!limited.leaves) return gain(split.left, extra_lambda);
    const SideLimits limits = limited.leaves->limit_sets(limited.node, feature, split.categories);
    return gain(split.left, limits, extra_lambda);
  }
};

// The occupied bins of a feature, as a bit set.
struct Occupied {
  std::uint8_t byte[kBins / 8] = {};

  int nth(int n) const {
    int b = 0;
    for (; n >= std::popcount(byte[b]); ++b) n -= std::popcount(byte[b]);
    unsigned bits = byte[b];
    for (; n > 0; --n) bits &= bits - 1;
    return 8 * b + std::countr_zero(bits);
  }
};

// The histogram of a feature in scan order. Candidates are the splits after the first, …, the
// count-th of n_entries; eight are read at a time, so empty entries follow the last. `load` reads
// one entry or several, `at` one that has been loaded, `ahead` one that may not have been; `pass`
// stands for loading eight that nothing needs.
struct AllBins {
  static constexpr bool kIsShort = false;
  const GradientSum* sums;
  int n_entries;
  int count = n_entries;

  template <class Vector>
  Vector load(int i) const {
    return load_unaligned<Vector>(sums + i);
  }
  void pass(int) const {}
  GradientSum at(int i) const { return sums[i]; }
  GradientSum ahead(int i) const { return sums[i]; }
  int bin(int i) const { return i; }
};

// The difference between a parent's histogram and a child's; it replaces the parent's.
struct RemainingBins {
  static constexpr bool kIsShort = false;
  GradientSum* sums;
  const GradientSum* child;
  int n_entries;
  int count = n_entries;

  template <class Vector>
  Vector load(int i) const {
    const Vector remaining = load_unaligned<Vector>(sums + i) - load_unaligned<Vector>(child + i);
    store_unaligned(sums + i, remaining);
    return remaining;
  }
  void pass(int i) const {
    Pairs8 remaining = Pairs8::load(sums + i);
    remaining -= Pairs8::load(child + i);
    remaining.store(sums + i);
  }
  GradientSum at(int i) const { return sums[i]; }
  GradientSum ahead(int i) const { return sums[i] - child[i]; }
  int bin(int i) const { return i; }
};

// The occupied bins alone.
struct OccupiedBins {
  static constexpr bool kIsShort = true;
  GradientSum sums[kBins + 8];
  Occupied occupied;
  int n_entries, count;

  template <class Vector>
  Vector load(int i) const {
    return load_unaligned<Vector>(sums + i);
  }
  void pass(int) const {}
  GradientSum at(int i) const { return sums[i]; }
  GradientSum ahead(int i) const { return sums[i]; }
  int bin(int i) const { return occupied.nth(i); }
};

// The best candidate per lane, as a fraction; position −1 while there is none.
struct Best8 {
  Double8 numerator, denominator;
  Long8 position;
};

// The score of a candidate as a fraction, for eight positions.
template <bool kL1>
struct Fractions : FractionUnits<kL1> {
  explicit Fractions(const SplitContext& node) : FractionUnits<kL1>(node), total_g(node.total.g) {}

  Fraction<Double8> operator()(int, const Long8& left_g, const Long8& left_h) const {
    const Double8 right_g = kL1 ? to_double(total_g - left_g) : Double8{};
    return FractionUnits<kL1>::operator()(to_double(left_g), right_g, to_double(left_h));
  }

  Long8 total_g;
};

// The thresholds of a feature whose children have limits: their range, and the order of the
// children's weights.
struct LimitedThresholds {
  int first, last;  // the first and the last occupied bin: thresholds lie between numbers
  int all;          // the split of missing values from all numbers; beyond all bins: none
  int direction;    // 1 if the left weight may not exceed the right one, −1 if the right the left
  SplitLimits limits;
};

// The score of a candidate within limits, over 1, in the units of g and h: a limit is a weight.
struct LimitedScores {
  LimitedScores(const SplitContext& node, const LimitedThresholds& thresholds)
      : params(node.params), fixed(node.fixed), thresholds(thresholds), total(node.total) {
    total_h = static_cast<std::int64_t>(node.h(total));
    to_beat = node.parent_score + score_difference(node.gain_to_beat, params.min_split_gain);
  }

  Fraction<Double8> operator()(int i, const Long8& left_g, const Long8& left_h) const {
    const auto at = static_cast<std::size_t>(i);
    const Long8 position = Long8::numbers() + i;
    Double8 w_left, w_right;
    const Double8 total_score =
        score(left_g, left_h, thresholds.limits.left, at, w_left) +
        score(total.g - left_g, total_h - left_h, thresholds.limits.right, at, w_right);
    const Long8 is_all = position >= thresholds.all;
    Long8 allowed = (position >= thresholds.first) & ((position < thresholds.last) | is_all);
    if (thresholds.direction > 0) allowed &= (w_left <= w_right) | is_all;
    if (thresholds.direction < 0) allowed &= (w_left >= w_right) | is_all;
    const Double8 never = -std::numeric_limits<double>::infinity();
    return {select(allowed, total_score, never), 1.0};
  }

  Double8 score(const Long8& g, const Long8& h, const LimitSeries& limits, std::size_t at,
                Double8& w) const {
    const Double8 G = to_double(g) * fixed.g_unit;
    const Double8 d = to_double(h) * fixed.h_unit + params.reg_lambda;
    const Double8 low = Double8::load(limits.low + at), high = Double8::load(limits.high + at);
    w = limited_weight(G, d, params.reg_alpha, low, high);
    return score_at(G, d, params.reg_alpha, w);
  }

  const GrowthParams& params;
  const FixedPoint& fixed;
  const LimitedThresholds& thresholds;
  GradientSum total;
  std::int64_t total_h;
  double to_beat;
};

// What is on neither side at the ends of a scan: missing values, on the left of all thresholds or
// on the right.
struct Outside {
  GradientSum left = {0, 0}, right = {0, 0};
};

// Which positions leave enough on both sides, tested one by one: where vectors are wide, and where
// there are few entries.
struct EachPosition {
  int begin = 0, end;  // the first of eight positions to scan, and the last
  GradientSum before;  // the left side before `begin`
  ULong8 min_hc, min_steps, min_h, range_hc, range_steps, range_h;
  int count_shift;
  bool has_zero_h;  // or rows enough are S enough

  // min ≤ left ≤ total − min is one comparison of unsigned numbers, for rows, S + c and S.
  template <class Scan>
  EachPosition(const SplitContext& node, const Scan& scan, const Outside& outside)
      : end(scan.count - 1),
        before(outside.left),
        min_hc(node.minimum.hc),
        min_steps(node.minimum.steps),
        min_h(node.minimum.h),
        range_hc(node.total.hc - 2 * node.minimum.hc),
        range_steps(node.fixed.most_steps(node.total) - 2 * node.minimum.steps),
        range_h(node.h(node.total) - 2 * node.minimum.h),
        count_shift(node.fixed.count_shift),
        has_zero_h(node.fixed.has_zero_h) {}

  Long8 permit(const Long8& better, int, const ULong8& hc, const ULong8& h) const {
    const ULong8 steps = h + (hc >> count_shift);
    const Long8 both = better & (steps - min_steps <= range_steps) & (hc - min_hc <= range_hc);
    return has_zero_h ? both & (h - min_h <= range_h) : both;
  }
};

// The same where comparisons of integers are dear. Sums grow from entry to entry, so the positions
// follow one another: the first and the last are found before the scan.
struct AllowedRange {
  int first = 0, last;
  int begin, end;
  GradientSum before;

  template <class Scan>
  AllowedRange(const SplitContext& node, const Scan& scan, const Outside& outside)
      : last((scan.count + 7) / 8 * 8 - 1), before(outside.left) {
    GradientSum left = outside.left;
    for (; first <= last; ++first) {
      if (first % 8 == 0) before = left;
      left += scan.ahead(first);
      if (node.big_enough(left)) break;
    }
    GradientSum right = outside.right;
    for (int i = scan.n_entries; i > first && !node.big_enough(right);) {
      right += scan.ahead(--i);
      last = std::min(last, i - 1);
    }
    begin = first / 8 * 8;
    end = last / 8 * 8;
  }

  Long8 permit(const Long8& better, int i, const ULong8&, const ULong8&) const {
    if (i != begin && i != end) return better;
    const Long8 position = Long8::numbers() + i;
    return better & (position >= first) & (position <= last);
  }
};

// Scans eight positions at a time, one of each class.
template <class SplitScore, class Scan>
Best8 scan8(const SplitContext& node, const SplitScore& fraction, const Scan& scan,
            const Outside& outside) {
  constexpr bool kTestsEach = Scan::kIsShort || Long8::kParts == 1;
  using Allowed = std::conditional_t<kTestsEach, EachPosition, AllowedRange>;
  const ULong8 h_mask = node.fixed.h_mask();
  const Allowed allowed(node, scan, outside);
  RunningSums running(allowed.before);
  Best8 best = {fraction.to_beat, 1.0, -1};
  int i = 0;
  for (; i < std::min(allowed.begin, scan.count); i += 8) scan.pass(i);
  for (; i <= allowed.end; i += 8) {
    const Sums8 left =
        running.next([&]<class Vector>(int k) { return scan.template load<Vector>(i + k); });
    const ULong8 left_h = left.hc & h_mask;
    const auto [numerator, denominator] = fraction(i, left.g, as<std::int64_t>(left_h));
    const Long8 better = allowed.permit(numerator * best.denominator > best.numerator * denominator,
                                        i, left.hc, left_h);
    best.numerator = select(better, numerator, best.numerator);
    best.denominator = select(better, denominator, best.denominator);
    best.position = select(better, Long8(i), best.position);
  }
  for (; i < scan.count; i += 8) scan.pass(i);
  best.position = select(best.position < 0, best.position, best.position + Long8::numbers());
  return best;
}

// The same search one position at a time, for capped weights and children without hessian.
template <class Scan>
int scan_one_by_one(const SplitContext& node, const Scan& scan, const GradientSum& start) {
  int chosen = -1;
  double best = node.gain_to_beat;
  GradientSum left = start;
  for (int i = 0; i < scan.count; ++i) {
    left += scan.at(i);
    if (!node.allowed(left)) continue;
    const double gain = node.gain(left);
    if (gain > best) {
      best = gain;
      chosen = i;
    }
  }
  return chosen;
}

template <class Scan>
int best_position(const SplitContext& node, const Scan& scan, const Outside& outside) {
  if (!node.has_fractions()) return scan_one_by_one(node, scan, outside.left);
  const Best8 best = node.params.reg_alpha > 0.0
                         ? scan8(node, Fractions<true>(node), scan, outside)
                         : scan8(node, Fractions<false>(node), scan, outside);
  return winner(best, scan.count);
}

// Evaluates the candidates of a scan; one that is better than `best` and gain_to_beat replaces
// `best`.
template <class Scan>
void consider(const SplitContext& node, const Scan& scan, const GradientSum& missing,
              bool missing_left, Split& best) {
  const Outside outside = missing_left ? Outside{.left = missing} : Outside{.right = missing};
  const int position = best_position(node, scan, outside);
  if (position < 0) return;
  GradientSum left = outside.left;
  for (int i = 0; i <= position; ++i) left += scan.at(i);
  node.keep_better_threshold(node.gain(left), scan.bin(position), left, missing_left, best);
}

// Extracts the occupied entries among the first n_bins.
void squeeze(const GradientSum* histogram, int n_bins, OccupiedBins& into) {
  int count = 0;
  for (int first = 0; first < n_bins; first += 64) {
    std::uint64_t occupied_bits = 0;
    for (int b = first; b < std::min(first + 64, n_bins); b += 8) {
      auto occupied = static_cast<std::uint8_t>(~bits(unzip(Pairs8::load(histogram + b)).hc == 0));
      if (b + 8 > n_bins) occupied &= (1u << (n_bins - b)) - 1;
      into.occupied.byte[b / 8] = occupied;
      occupied_bits |= std::uint64_t{occupied} << (b - first);
    }
    for (; occupied_bits; occupied_bits &= occupied_bits - 1) {
      into.sums[count++] = histogram[first + std::countr_zero(occupied_bits)];
    }
  }
  std::fill_n(into.sums + count, 8, GradientSum{0, 0});
  into.n_entries = into.count = count;
}

template <class Scan>
Split best_threshold_without_missing(const SplitContext& node, const Scan& scan) {
  Split best;
  consider(node, scan, {0, 0}, false, best);
  best.missing_left = node.missing_follow_left(best.left);
  return best;
}

template <class Scan>
Split best_threshold(const SplitContext& node, const GradientSum& missing, Scan& scan) {
  if (missing.hc == 0) {
    --scan.count;
    return best_threshold_without_missing(node, scan);
  }
  Split best;  // the split after the last bin separates missing values from the rest
  consider(node, scan, missing, false, best);
  --scan.count;
  consider(node, scan, missing, true, best);
  return best;
}

// Evaluates the first `count` thresholds, with `left` on the left side in addition to bins; if
// there are as many as bins, the last one separates missing values from all numbers.
void consider_within_limits(const SplitContext& node, const FeatureHistogram& histogram, int count,
                            const Outside& outside, int missing_left_from, Split& best) {
  const AllBins scan{histogram.sums, histogram.n_bins, count};
  const auto holds_rows = [&](int bin) { return histogram.sums[bin].hc != 0; };
  const bool takes_all = count == histogram.n_bins;
  LimitedThresholds thresholds;
  thresholds.direction = node.limited.leaves->direction(histogram.feature);
  thresholds.all = takes_all ? count - 1 : kBins;
  for (thresholds.first = 0; thresholds.first < count && !holds_rows(thresholds.first);)
    ++thresholds.first;
  for (thresholds.last = histogram.n_bins - 1; thresholds.last > 0 && !holds_rows(thresholds.last);)
    --thresholds.last;
  const ThresholdSeries series = {static_cast<std::size_t>(count),
                                  [](std::size_t bin) { return static_cast<double>(bin); },
                                  takes_all, static_cast<std::size_t>(missing_left_from)};
  node.limited.leaves->limit_splits(node.limited.node, histogram.feature, series,
                                    thresholds.limits);
  const int position = winner(scan8(node, LimitedScores(node, thresholds), scan, outside), count);
  if (position < 0) return;
  GradientSum left = outside.left;
  for (int i = 0; i <= position; ++i) left += scan.at(i);
  const double gain = node.gain(left, thresholds.limits[static_cast<std::size_t>(position)]);
  node.keep_better_threshold(gain, position, left, position >= missing_left_from, best);
}

// The first of `count` thresholds with at least as many rows on the left as on the right.
int first_with_half(const SplitContext& node, const FeatureHistogram& histogram, int count) {
  GradientSum left = {0, 0};
  for (int bin = 0; bin < count; ++bin) {
    left += histogram.sums[bin];
    if (node.missing_follow_left(left)) return bin;
  }
  return count;
}

Split best_numeric_within_limits(const SplitContext& node, const FeatureHistogram& histogram) {
  Split best;
  const int n_bins = histogram.n_bins;
  const GradientSum missing = histogram.missing;
  if (missing.hc == 0) {
    const int half = first_with_half(node, histogram, n_bins - 1);
    consider_within_limits(node, histogram, n_bins - 1, {}, half, best);
  } else {
    consider_within_limits(node, histogram, n_bins, {.right = missing}, n_bins, best);
    consider_within_limits(node, histogram, n_bins - 1, {.left = missing}, 0, best);
  }
  return best;
}

// Empties the entry of missing values while a column is scanned. A scan reads up to seven entries
// past the last bin; missing values would be added to a side that has them already, and the sum may
// wrap around to one that looks like a child's.
class HiddenMissing {
 public:
  explicit HiddenMissing(const FeatureHistogram& histogram)
      : entry_(histogram.n_bins > kBins - 8 ? histogram.sums + kMissingBin : nullptr),
        missing_(histogram.missing) {
    if (entry_) *entry_ = {0, 0};
  }
  ~HiddenMissing() {
    if (entry_) *entry_ = missing_;
  }
  HiddenMissing(const HiddenMissing&) = delete;

 private:
  GradientSum* entry_;
  GradientSum missing_;
};

Split best_threshold(const SplitContext& node, const FeatureHistogram& histogram) {
  const GradientSum missing = histogram.missing;
  if (node.is_sparse()) {
    OccupiedBins scan;
    squeeze(histogram.sums, histogram.n_bins, scan);
    return best_threshold(node, missing, scan);
  }
  const HiddenMissing hidden(histogram);
  AllBins scan{histogram.sums, histogram.n_bins};
  return best_threshold(node, missing, scan);
}

Split best_numeric(const SplitContext& node, const FeatureHistogram& histogram) {
  if (node.limited.leaves) return best_numeric_within_limits(node, histogram);
  Split best = best_threshold(node, histogram);
  node.move_behind_all_numbers(histogram.missing, histogram.n_bins, best);
  return best;
}

void keep_better(const SplitContext& node, const FeatureHistogram& of, Split candidate,
                 Split& best) {
  candidate.feature = of.feature;
  candidate.weight = of.weight;
  if (candidate.gain > node.least_gain && candidate.beats(best)) best = candidate;
}

void set_category(Split& split, int bin) { split.categories[bin >> 5] |= 1u << (bin & 31); }

// One category against the rest: for features with few of them in the node.
void consider_one_against_rest(const SplitContext& node, const std::uint8_t* occupied, int count,
                               const GradientSum* histogram, Split& best) {
  for (int i = 0; i < count; ++i) {
    const GradientSum left = histogram[occupied[i]];
    if (!node.allowed(left)) continue;
    Split tried;
    set_category(tried, occupied[i]);
    tried.left = left;
    tried.gain = node.gain(tried);
    if (tried.gain > best.gain) best = tried;
  }
}

// Drops the categories whose Σh is too small to be sorted; they go right.
int keep_heavy(const SplitContext& node, std::uint8_t* occupied, int count,
               const GradientSum* histogram) {
  const auto too_light = [&](std::uint8_t bin) { return !node.is_sortable(histogram[bin]); };
  return static_cast<int>(std::remove_if(occupied, occupied + count, too_light) - occupied);
}

// Categories in the order of G/(H + smoothing): for a convex loss the best split of this order is
// the best of all subsets (Fisher). Noise would sort rare categories to the ends, where prefixes
// begin: the rarest are dropped, and smoothing and the additional λ restrain the others.
void consider_sorted(const SplitContext& node, std::uint8_t* occupied, int count,
                     const GradientSum* histogram, Split& best) {
  count = keep_heavy(node, occupied, count, histogram);
  double ratio[kBins];
  for (int i = 0; i < count; ++i) {
    ratio[occupied[i]] = node.category_ratio(histogram[occupied[i]]);
  }
  std::stable_sort(occupied, occupied + count,
                   [&](std::uint8_t a, std::uint8_t b) { return ratio[a] < ratio[b]; });
  const int longest = std::min(node.params.max_cat_threshold, count);
  for (const bool from_high : {false, true}) {
    Split tried;
    for (int size = 1; size <= longest; ++size) {
      const int bin = occupied[from_high ? count - size : size - 1];
      set_category(tried, bin);
      tried.left += histogram[bin];
      if (!node.allowed(tried.left)) continue;
      tried.gain = node.gain(tried, node.params.cat_l2);
      if (tried.gain > best.gain) best = tried;
    }
  }
}

// Missing values and categories not seen in the node go right.
Split best_categorical(const SplitContext& node, const FeatureHistogram& histogram) {
  Split best;
  std::uint8_t occupied[kBins];
  int count = 0;
  for (int b = 0; b < histogram.n_bins; ++b) {
    occupied[count] = static_cast<std::uint8_t>(b);
    count += histogram.sums[b].hc != 0;
  }
  if (count <= node.params.max_cat_to_onehot) {
    consider_one_against_rest(node, occupied, count, histogram.sums, best);
  } else {
    consider_sorted(node, occupied, count, histogram.sums, best);
  }
  best.categorical = true;
  return best;
}

}  // namespace

Limits widest_limits(const GrowthParams& params) {
  const double cap = params.max_delta_step;
  return cap > 0.0 ? Limits{-cap, cap} : Limits{};
}

namespace {

// The score of a node, whose weight may have limits.
NodeScore score_of(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& node,
                   const LimitedLeaf& limited) {
  if (!limited.leaves) return {params, fixed, node};
  const double G = fixed.g(node), H = fixed.h(node);
  const Limits limits = limited.leaves->limits(limited.node);
  const double d = H + params.reg_lambda;
  const double w = limited_weight(G, d, params.reg_alpha, limits.low, limits.high);
  return {score_at(G, d, params.reg_alpha, w),
          -score_at(std::fabs(G), d, params.reg_alpha, std::fabs(w)), scan_noise(params, H)};
}

}  // namespace

SplitSearch::SplitSearch(const GrowthParams& params, const FixedPoint& fixed,
                         const GradientSum& node, const LimitedLeaf& limited)
    : params_(params),
      fixed_(fixed),
      total_(node),
      minimum_(params, fixed),
      units_(params, fixed, node),
      limited_(limited),
      score_(score_of(params, fixed, node, limited)) {}

SplitNode SplitSearch::node_for(const Split& best, double weight) const {
  return {params_,
          fixed_,
          total_,
          minimum_,
          units_,
          score_.parent,
          score_.least_gain,
          score_.gain_to_beat(best, weight, params_.min_split_gain)};
}

// Whether enough rows for a child are outside the largest bin: no split divides a bin. Only looked
// at if bins are few, where it takes less time than a scan.
bool SplitSearch::leaves_enough(const FeatureHistogram& histogram) const {
  if (histogram.n_bins > kFewBins) return true;
  std::uint64_t largest = histogram.missing.hc;
  for (int b = 0; b < histogram.n_bins; ++b) largest = std::max(largest, histogram.sums[b].hc);
  return total_.hc - largest >= minimum_.hc;
}

void SplitSearch::offer(const FeatureHistogram& histogram, Split& best) const {
  const bool is_limited = limited_.matters(histogram.feature);
  const SplitContext node{node_for(best, histogram.weight), histogram.feature,
                          is_limited ? limited_ : LimitedLeaf{}};
  if (!node.has_room() || !leaves_enough(histogram)) return;
  keep_better(
      node, histogram,
      histogram.categorical ? best_categorical(node, histogram) : best_numeric(node, histogram),
      best);
}

void SplitSearch::offer_sibling(const FeatureHistogram& parent, const GradientSum* child,
                                Split& best) const {
  const SplitContext node{node_for(best, parent.weight), parent.feature, LimitedLeaf{}};
  const bool plain =
      !parent.categorical && parent.missing.hc == 0 && !limited_.matters(parent.feature);
  if (!plain || node.is_sparse() || !node.has_fractions() || !node.has_room()) {
    subtract_histogram(parent.n_bins, child, parent.sums);
    FeatureHistogram remaining = parent;
    remaining.missing = parent.sums[kMissingBin];
    return offer(remaining, best);
  }
  // The split after the last bin is scanned too, so that every entry is subtracted; it leaves no
  // row on the right.
  RemainingBins scan{parent.sums, child, parent.n_bins};
  keep_better(node, parent, best_threshold_without_missing(node, scan), best);
}

}  // namespace hedgerow::hist
