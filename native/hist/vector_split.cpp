// Split finding for all outputs. The lanes of a panel are one vector: the scan adds up bin after
// bin and computes the share of each lane in the gain of every candidate, a fraction as in the
// search for one output (shared/objective.hpp). Fractions of two lanes are added before they are
// divided, and the lanes of several candidates together; panels are processed one after another.
// The gain of the best candidate is then computed from its sums.
#include "hist/vector_split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "core/lanes.hpp"
#include "shared/min_child_weight.hpp"
#include "tree/category_order.hpp"

namespace hedgerow::hist {
namespace {

// More than any sum of weights in steps, and safe to double.
constexpr double kMostSteps = 0x1p61;

using Words = std::vector<std::uint64_t>;

template <int W>
using Double = Lanes<double, W>;
template <int W>
using ULong = Lanes<std::uint64_t, W>;

// The bins of a feature in scan order, and their codes in the column. A scan reads several at a
// time, so the list is padded.
struct BinList {
  int count = 0;
  std::uint8_t bin[kBins + kPanelWidth], code[kBins + kPanelWidth];
};

// The score of each candidate, without the part that all candidates of a node have in common. The
// first panel sets the values, the others add to them.
struct CandidateValues {
  alignas(64) double value[kBins + kPanelWidth];
  bool is_set = false;
};

// What the search on one feature needs to know of the node.
struct VectorSplitContext {
  const GrowthParams& params;
  const VectorGradients& gradients;
  const std::uint64_t* total;
  const VectorChildMinimum& minimum;
  double parent_score, constant;
  bool is_plain;
  std::span<const PanelOfNode> panels;

  GradientSum count_of(const std::uint64_t* sums) const { return gradients.lane(sums, 0); }
  bool allowed(const GradientSum& left) const {
    return minimum.fits(left) && minimum.fits(count_of(total) - left);
  }
  double score(const GradientSum& side, int k, const Penalties& penalties) const {
    return leaf_score(penalties, gradients.g_unit[k] * static_cast<double>(side.g),
                      gradients.h_unit[k] * static_cast<double>(side.hc));
  }
  double weight(const GradientSum& side, int k) const {
    return params.weight(gradients.g_unit[k] * static_cast<double>(side.g),
                         gradients.h_unit[k] * static_cast<double>(side.hc));
  }
  double gain(const Words& left, double extra_lambda = 0.0, int direction = 0) const;
};

// An output whose two weights violate the direction gains nothing.
double VectorSplitContext::gain(const Words& left, double extra_lambda, int direction) const {
  const Penalties penalties = params.penalties(extra_lambda);
  double children = 0.0;
  for (int k = 1; k <= gradients.lanes.n_outputs; ++k) {
    const GradientSum all = gradients.lane(total, k), of_left = gradients.lane(left.data(), k);
    const GradientSum of_right = all - of_left;
    if (direction != 0 && direction * weight(of_left, k) > direction * weight(of_right, k)) {
      children += score(all, k, penalties);
    } else {
      children += score(of_left, k, penalties);
      children += score(of_right, k, penalties);
    }
  }
  return split_gain(children, parent_score, params.min_split_gain);
}

// Running sums of a panel's lanes, in the format of histograms.
template <int W, bool kWide>
class Running {
 public:
  void add(const std::uint64_t* sums) {
    first_ += ULong<W>::load(sums);
    if constexpr (kWide) second_ += ULong<W>::load(sums + W);
  }

  Double<W> g() const {
    if constexpr (kWide) return to_double(as<std::int64_t>(first_));
    // The upper half, converted without a conversion instruction.
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return as<double>(((first_ ^ sign) >> 32) | kOnes) - (0x1p52 + 0x1p31);
  }

  Double<W> h() const {
    if constexpr (kWide) return to_double(as<std::int64_t>(second_));
    return as<double>((first_ & 0xffff'ffffu) | kOnes) - 0x1p52;
  }

 private:
  // The bits of 2^52, a double whose last digit stands for 1.
  static constexpr std::uint64_t kOnes = std::uint64_t{0x433} << 52;
  ULong<W> first_, second_;
};

template <int W>
using Fractions = Fraction<Double<W>>;

// The shares of a candidate's gain if λ is the only penalty, and so no denominator is 0.
template <int W>
struct PlainShares {
  PlainShares(const VectorSplitContext&, const PanelOfNode& panel)
      : reg_lambda(Double<W>::load(panel.reg_lambda)),
        both_sides(Double<W>::load(panel.both_sides)),
        mean(Double<W>::load(panel.mean)),
        factor(Double<W>::load(panel.factor)) {}

  Fractions<W> operator()(const Double<W>& g, const Double<W>& h) const {
    const Fractions<W> cut = split_fraction(g, h, reg_lambda, both_sides, mean);
    return {factor * cut.numerator, cut.denominator};
  }

  Double<W> reg_lambda, both_sides, mean, factor;
};

// The same with every penalty: the scores of both sides.
template <int W>
struct ScoreShares {
  ScoreShares(const VectorSplitContext& node, const PanelOfNode& panel)
      : g(Double<W>::load(panel.g)),
        h(Double<W>::load(panel.h)),
        g_unit(Double<W>::load(panel.g_unit)),
        h_unit(Double<W>::load(panel.h_unit)),
        penalties(node.params.penalties()) {}

  Fractions<W> operator()(const Double<W>& left_g, const Double<W>& left_h) const {
    const Fractions<W> left = score(left_g, left_h), right = score(g - left_g, h - left_h);
    return {left.numerator * right.denominator + right.numerator * left.denominator,
            left.denominator * right.denominator};
  }

  Fractions<W> score(const Double<W>& g_steps, const Double<W>& h_steps) const {
    const Double<W> G = g_steps * g_unit, d = h_steps * h_unit + penalties.lambda;
    return score_fraction(penalties, G, d);
  }

  Double<W> g, h, g_unit, h_unit;
  Penalties penalties;
};

// Lanes 0 of a, 0 of b, 2 of a, 2 of b … (`first` = 0), or those after each (1).
template <int first, class Part, int... i>
Part every_other(Part a, Part b, std::integer_sequence<int, i...>) {
  constexpr int per_part = sizeof...(i);
  return shuffle<i - i % 2 + i % 2 * per_part + first...>(a, b);
}

template <int first, int W>
Double<W> every_other(const Double<W>& a, const Double<W>& b) {
  constexpr std::make_integer_sequence<int, Double<W>::kPerPart> places;
  return Double<W>::template map<Double<W>>(
      a, b, [&](auto x, auto y) { return every_other<first>(x, y, places); });
}

// The sums of lanes 0 and 1, 2 and 3 … of x, and between them those of y.
template <int W>
Double<W> add_neighbours(const Fractions<W>& x, const Fractions<W>& y) {
  const Double<W> n0 = every_other<0, W>(x.numerator, y.numerator),
                  n1 = every_other<1, W>(x.numerator, y.numerator),
                  d0 = every_other<0, W>(x.denominator, y.denominator),
                  d1 = every_other<1, W>(x.denominator, y.denominator);
  return (n0 * d1 + n1 * d0) / (d0 * d1);
}

// The sums over the lanes of each of W fractions.
template <int W>
Double<W> add_lanes(const Fractions<W>* v) {
  const auto fours = [](const Fractions<W>* four) {
    return add_pairs(add_neighbours<W>(four[0], four[1]), add_neighbours<W>(four[2], four[3]));
  };
  if constexpr (W == 4) {
    return fours(v);
  } else {
    return add_halves(fours(v), fours(v + 4));
  }
}

// Adds a panel's shares of the gain of every candidate; `start`, if not null, is on the left side
// of all.
template <int W, bool kWide, class Share>
void add_values(const Share& share, const std::uint64_t* column, const std::uint64_t* start,
                const BinList& bins, CandidateValues& candidates) {
  constexpr int width = W * (kWide ? 2 : 1);
  Running<W, kWide> left;
  if (start) left.add(start);
  for (int i = 0; i < bins.count; i += W) {
    Fractions<W> shares[W];
    for (int j = 0; j < W; ++j) {
      left.add(column + bins.code[i + j] * width);
      shares[j] = share(left.g(), left.h());
    }
    Double<W> values = add_lanes<W>(shares);
    if (candidates.is_set) values = Double<W>::load(candidates.value + i) + values;
    values.store(candidates.value + i);
  }
}

template <int W, bool kWide>
void add_values(const VectorSplitContext& node, const PanelOfNode& panel,
                const std::uint64_t* column, const std::uint64_t* start, const BinList& bins,
                CandidateValues& candidates) {
  if (node.is_plain) {
    add_values<W, kWide>(PlainShares<W>(node, panel), column, start, bins, candidates);
  } else {
    add_values<W, kWide>(ScoreShares<W>(node, panel), column, start, bins, candidates);
  }
}

// The sums of a bin in one panel.
std::uint64_t* sums_at(const VectorSplitContext& node, const VectorFeature& feature, int panel,
                       int code) {
  return feature.histograms.column(node.gradients, panel, feature.column) +
         static_cast<std::size_t>(code) * node.gradients.width(panel);
}

void add_values(const VectorSplitContext& node, const VectorFeature& feature, int panel,
                bool missing_left, const BinList& bins, CandidateValues& candidates) {
  const PanelOfNode& of_node = node.panels[static_cast<std::size_t>(panel)];
  const std::uint64_t* column = sums_at(node, feature, panel, 0);
  const std::uint64_t* start = missing_left ? sums_at(node, feature, panel, kMissingBin) : nullptr;
  const auto add = [&]<int W>() {
    if (node.gradients.wide) {
      add_values<W, true>(node, of_node, column, start, bins, candidates);
    } else {
      add_values<W, false>(node, of_node, column, start, bins, candidates);
    }
  };
  if (node.gradients.lanes.width(panel) == kPanelWidth) {
    add.template operator()<kPanelWidth>();
  } else {
    add.template operator()<kPanelWidth / 2>();
  }
}

// Adds the sums of a bin in all panels.
void add_bin(const VectorSplitContext& node, const VectorFeature& feature, int code, Words& sums) {
  for (int panel = 0; panel < node.gradients.lanes.n_panels(); ++panel) {
    const std::uint64_t* from = sums_at(node, feature, panel, code);
    std::uint64_t* to = sums.data() + node.gradients.before(panel);
    for (std::size_t w = 0; w < node.gradients.width(panel); ++w) to[w] += from[w];
  }
}

Words no_sums(const VectorSplitContext& node) { return Words(node.gradients.words_per_row(), 0); }

// All rows outside the other bins of a bundled feature are in its zero bin. Code 0 belongs to no
// feature: its sums are replaced by those of the zero bin.
void find_zeros(const VectorSplitContext& node, const VectorFeature& feature) {
  for (int panel = 0; panel < node.gradients.lanes.n_panels(); ++panel) {
    const std::size_t width = node.gradients.width(panel);
    std::uint64_t* zeros = sums_at(node, feature, panel, 0);
    std::copy_n(node.total + node.gradients.before(panel), width, zeros);
    for (int bin = 0; bin < feature.n_bins; ++bin) {
      if (bin == feature.place.zero_bin) continue;
      const std::uint64_t* other = sums_at(node, feature, panel, feature.place.code(bin));
      for (std::size_t w = 0; w < width; ++w) zeros[w] -= other[w];
    }
  }
  if (feature.occupied) feature.occupied->bits[0] |= 1;  // so that it will be cleared
}

// All bins of a feature.
BinList every_bin(const VectorFeature& feature) {
  BinList bins;
  bins.count = feature.n_bins;
  std::iota(bins.bin, bins.bin + bins.count, std::uint8_t{0});
  std::iota(bins.code, bins.code + bins.count, std::uint8_t{0});
  if (!feature.place.is_bundled()) return bins;
  for (int bin = 0; bin < feature.n_bins; ++bin) {
    const bool is_zeros = bin == feature.place.zero_bin;
    bins.code[bin] = static_cast<std::uint8_t>(is_zeros ? 0 : feature.place.code(bin));
  }
  return bins;
}

// The occupied bins of a feature that is not bundled.
BinList occupied_bins(const BinSet& occupied) {
  BinList bins;
  for (int i = 0; i < kBins / 64; ++i) {
    for (std::uint64_t bits = occupied.bits[i]; bits; bits &= bits - 1) {
      const int bin = 64 * i + std::countr_zero(bits);
      bins.bin[bins.count] = bins.code[bins.count] = static_cast<std::uint8_t>(bin);
      ++bins.count;
    }
  }
  if (occupied.bits[kMissingBin / 64] >> (kMissingBin % 64) & 1) --bins.count;
  return bins;
}

// The bins to scan.
BinList bins_of(const VectorFeature& feature) {
  const bool are_few = feature.occupied && !feature.place.is_bundled();
  BinList bins = are_few ? occupied_bins(*feature.occupied) : every_bin(feature);
  std::fill_n(bins.code + bins.count, kPanelWidth, std::uint8_t{0});
  return bins;
}

// The position of the largest value above `to_beat` among allowed candidates, the first of equals;
// −1 for none.
int largest_value(const VectorSplitContext& node, const VectorFeature& feature, const BinList& bins,
                  const CandidateValues& candidates, bool missing_left, double to_beat) {
  GradientSum left =
      missing_left ? node.count_of(sums_at(node, feature, 0, kMissingBin)) : GradientSum{0, 0};
  int chosen = -1;
  for (int i = 0; i < bins.count; ++i) {
    left += node.count_of(sums_at(node, feature, 0, bins.code[i]));
    if (!(candidates.value[i] > to_beat) || !node.allowed(left)) continue;
    to_beat = candidates.value[i];
    chosen = i;
  }
  return chosen;
}

// Replaces `best` by the split after a bin if that is allowed and gains more.
void consider_threshold(const VectorSplitContext& node, int bin, const Words& left,
                        bool missing_left, int direction, VectorSplit& best) {
  const GradientSum count = node.count_of(left.data());
  if (!node.allowed(count)) return;
  const double gain = node.gain(left, 0.0, direction);
  const bool wins_tie = gain == best.gain && bin < best.bin;
  if (!(gain > best.gain || wins_tie)) return;
  best.gain = gain;
  best.bin = static_cast<std::uint8_t>(bin);
  best.missing_left = missing_left;
  best.left = count;
  best.left_sums = left;
}

// Evaluates the splits between bins one by one, for a feature with a monotonic
// constraint.
void consider_ordered(const VectorSplitContext& node, const VectorFeature& feature,
                      const BinList& bins, bool missing_left, VectorSplit& best) {
  Words left = no_sums(node);
  if (missing_left) add_bin(node, feature, kMissingBin, left);
  for (int i = 0; i + 1 < bins.count; ++i) {
    add_bin(node, feature, bins.code[i], left);
    consider_threshold(node, bins.bin[i], left, missing_left, feature.direction, best);
  }
}

// The split of missing values from all numbers is always monotone.
VectorSplit best_ordered(const VectorSplitContext& node, const VectorFeature& feature,
                         const BinList& bins, bool has_missing) {
  VectorSplit best;
  consider_ordered(node, feature, bins, false, best);
  if (!has_missing) return best;
  consider_ordered(node, feature, bins, true, best);
  Words numbers = no_sums(node);
  for (int i = 0; i < bins.count; ++i) add_bin(node, feature, bins.code[i], numbers);
  consider_threshold(node, feature.n_bins - 1, numbers, false, 0, best);
  return best;
}

// Evaluates the splits after each of the bins; a better one replaces `best`.
void consider(const VectorSplitContext& node, const VectorFeature& feature, const BinList& bins,
              bool missing_left, double gain_to_beat, VectorSplit& best) {
  if (bins.count <= 0) return;
  CandidateValues candidates;
  for (int panel = 0; panel < node.gradients.lanes.n_panels(); ++panel) {
    add_values(node, feature, panel, missing_left, bins, candidates);
    candidates.is_set = true;
  }
  const double to_beat = node.parent_score +
                         score_difference(gain_to_beat, node.params.min_split_gain) - node.constant;
  const int position = largest_value(node, feature, bins, candidates, missing_left, to_beat);
  if (position < 0) return;
  Words left = no_sums(node);
  if (missing_left) add_bin(node, feature, kMissingBin, left);
  for (int i = 0; i <= position; ++i) add_bin(node, feature, bins.code[i], left);
  consider_threshold(node, bins.bin[position], left, missing_left, 0, best);
}

// The split after the last occupied bin separates missing values from numbers; it is moved behind
// the last bin of the feature, so that larger numbers go the same way. If the node has no missing
// values, they go to the larger child.
VectorSplit best_numeric(const VectorSplitContext& node, const VectorFeature& feature,
                         double gain_to_beat) {
  VectorSplit best;
  if (feature.place.is_bundled()) find_zeros(node, feature);
  BinList bins = bins_of(feature);
  const bool has_missing =
      !feature.place.is_bundled() && node.count_of(sums_at(node, feature, 0, kMissingBin)).hc > 0;
  if (feature.direction != 0) {
    best = best_ordered(node, feature, bins, has_missing);
  } else {
    if (has_missing) consider(node, feature, bins, false, gain_to_beat, best);
    --bins.count;
    consider(node, feature, bins, has_missing, gain_to_beat, best);
  }
  const std::uint64_t n_rows = node.count_of(node.total).hc;
  if (!has_missing) {
    best.missing_left = 2 * best.left.hc >= n_rows;
  } else if (!best.missing_left &&
             best.left.hc + node.count_of(sums_at(node, feature, 0, kMissingBin)).hc == n_rows) {
    best.bin = static_cast<std::uint8_t>(feature.n_bins - 1);
  }
  return best;
}

void set_category(Split& split, int bin) { split.categories[bin >> 5] |= 1u << (bin & 31); }

// Replaces `best` by a split on these categories if that is allowed and gains more.
void consider_categories(const VectorSplitContext& node, std::span<const std::uint8_t> chosen,
                         const Words& left, double extra_lambda, VectorSplit& best) {
  const GradientSum count = node.count_of(left.data());
  if (!node.allowed(count)) return;
  const double gain = node.gain(left, extra_lambda);
  if (!(gain > best.gain)) return;
  best = VectorSplit{};
  best.gain = gain;
  best.left = count;
  best.left_sums = left;
  for (const std::uint8_t bin : chosen) set_category(best, bin);
}

// One category against the rest: for features with few of them in the node.
void consider_one_against_rest(const VectorSplitContext& node, const VectorFeature& feature,
                               std::span<const std::uint8_t> categories, VectorSplit& best) {
  for (std::size_t i = 0; i < categories.size(); ++i) {
    Words left = no_sums(node);
    add_bin(node, feature, categories[i], left);
    consider_categories(node, categories.subspan(i, 1), left, 0.0, best);
  }
}

// Sorts categories along the first principal component of their Newton steps, each output weighted
// by its part of the hessian. For one output that is the order of G/(H + smoothing), whose best
// split is the best of all subsets.
void sort_categories(const VectorSplitContext& node, const VectorFeature& feature,
                     std::vector<std::uint8_t>& categories) {
  const VectorGradients& gradients = node.gradients;
  const int K = gradients.lanes.n_outputs;
  std::vector<double> weight, point, rank(categories.size());
  for (const std::uint8_t category : categories) {
    Words sums = no_sums(node);
    add_bin(node, feature, category, sums);
    weight.push_back(gradients.weight(sums.data()));
    for (int k = 1; k <= K; ++k) {
      const double part = gradients.h(node.total, k) / (K * gradients.weight(node.total));
      point.push_back(std::sqrt(part) * gradients.g(sums.data(), k) /
                      (gradients.h(sums.data(), k) + node.params.cat_smooth));
    }
  }
  principal_coordinates(weight, point, K, rank);
  double rank_of[kBins];
  for (std::size_t i = 0; i < categories.size(); ++i) rank_of[categories[i]] = rank[i];
  std::stable_sort(categories.begin(), categories.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return rank_of[a] < rank_of[b]; });
}

// The rarest categories go right: they are too noisy to be sorted.
void consider_sorted(const VectorSplitContext& node, const VectorFeature& feature,
                     std::vector<std::uint8_t> categories, VectorSplit& best) {
  std::erase_if(categories, [&](std::uint8_t category) {
    const GradientSum count = node.count_of(sums_at(node, feature, 0, category));
    const double weight = static_cast<double>(count.g) * node.gradients.g_unit[0];
    return weight < node.params.min_category_weight;
  });
  if (categories.empty()) return;
  sort_categories(node, feature, categories);
  const auto most = static_cast<std::size_t>(node.params.max_cat_threshold);
  for (const bool from_high : {false, true}) {
    if (from_high) std::reverse(categories.begin(), categories.end());
    Words left = no_sums(node);
    for (std::size_t size = 1; size <= std::min(most, categories.size()); ++size) {
      add_bin(node, feature, categories[size - 1], left);
      consider_categories(node, std::span(categories).first(size), left, node.params.cat_l2, best);
    }
  }
}

// Missing values and categories not seen in the node go right.
VectorSplit best_categorical(const VectorSplitContext& node, const VectorFeature& feature) {
  std::vector<std::uint8_t> categories;
  for (int bin = 0; bin < feature.n_bins; ++bin) {
    if (node.count_of(sums_at(node, feature, 0, bin)).hc > 0) {
      categories.push_back(static_cast<std::uint8_t>(bin));
    }
  }
  VectorSplit best;
  if (categories.size() <= static_cast<std::size_t>(node.params.max_cat_to_onehot)) {
    consider_one_against_rest(node, feature, categories, best);
  } else {
    consider_sorted(node, feature, std::move(categories), best);
  }
  best.categorical = true;
  return best;
}

}  // namespace

VectorChildMinimum::VectorChildMinimum(const GrowthParams& params,
                                       const VectorGradients& gradients) {
  const double tolerance = gradients.wide ? kWeightTolerance : kFloatWeightTolerance;
  const double steps = min_steps_of_child(params.min_child_weight, gradients.g_unit[0], tolerance);
  sum.g = static_cast<std::int64_t>(std::min(steps, kMostSteps));
  sum.hc = static_cast<std::uint64_t>(params.min_rows());
  h = params.min_child_weight > 0.0 ? 1 : 0;
}

VectorSearch::VectorSearch(const GrowthParams& params, const VectorGradients& gradients,
                           const std::uint64_t* node)
    : params_(params),
      gradients_(gradients),
      node_(node),
      minimum_(params, gradients),
      is_plain_(params.max_delta_step <= 0.0 && params.reg_alpha <= 0.0 && params.reg_lambda > 0.0),
      panels_(static_cast<std::size_t>(gradients.lanes.n_panels())) {
  for (int k = 0; k < gradients.lanes.count(); ++k) describe_lane(k);
}

void VectorSearch::describe_lane(int k) {
  PanelOfNode& panel = panels_[static_cast<std::size_t>(k / kPanelWidth)];
  const int place = k % kPanelWidth;
  const GradientSum sum = gradients_.lane(node_, k);
  const auto g = static_cast<double>(sum.g), h = static_cast<double>(sum.hc);
  const double g_unit = gradients_.g_unit[k], h_unit = gradients_.h_unit[k];
  const bool is_output = k >= 1 && k <= gradients_.lanes.n_outputs;
  const double reg_lambda = is_output ? params_.reg_lambda / h_unit : 1.0;
  const double both_sides = h + 2.0 * reg_lambda;
  panel.reg_lambda[place] = reg_lambda;
  panel.both_sides[place] = both_sides;
  panel.mean[place] = g / both_sides;
  panel.factor[place] = is_output ? both_sides * g_unit * g_unit / h_unit : 0.0;
  panel.g[place] = g;
  panel.h[place] = h;
  panel.g_unit[place] = is_output ? g_unit : 0.0;
  panel.h_unit[place] = is_output ? h_unit : 0.0;
  if (!is_output) return;
  parent_score_ += leaf_score(params_.penalties(), g * g_unit, h * h_unit);
  noise_ = std::max(noise_, scan_noise(params_, h * h_unit));
  if (is_plain_) constant_ += g * g / both_sides * g_unit * g_unit / h_unit;
}

void VectorSearch::offer(const VectorFeature& feature, VectorSplit& best) const {
  const VectorSplitContext node{params_,       gradients_, node_,     minimum_,
                                parent_score_, constant_,  is_plain_, panels_};
  if (!minimum_.fits(node.count_of(node_), 2)) return;
  // Candidates near the best so far are compared by their gain, which does not depend on the
  // features offered before.
  const double to_beat = best.weighted_gain() / feature.weight;
  const double noise = noise_ * (parent_score_ + score_difference(to_beat, params_.min_split_gain));
  VectorSplit candidate = feature.categorical ? best_categorical(node, feature)
                                              : best_numeric(node, feature, to_beat - noise);
  candidate.feature = feature.feature;
  candidate.weight = feature.weight;
  const double least_gain = split_gain(kRelativeNoise * parent_score_, 0.0, 0.0);
  if (candidate.gain > least_gain && candidate.beats(best)) {
    best = std::move(candidate);
  }
}

}  // namespace hedgerow::hist
