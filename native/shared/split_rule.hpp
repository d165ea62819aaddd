// The rule by which every histogram engine of trees with one output chooses the split of a node.
//
// A scan visits the thresholds of a feature and compares candidates as fractions, by
// cross-multiplication, which is not transitive in the last bits. So the order of comparisons is
// part of the rule:
//   - Position p is the threshold after entry p of the feature's histogram; in a node of fewer than
//     kSparseRows rows, after its p-th occupied entry. Candidates are the first `count` positions:
//     without missing values all but the last bin; with missing values first all bins, with missing
//     values on the right, then all but the last, with missing values on the left.
//   - Positions are divided into kScanClasses classes, p modulo 8. In each class p increases, and a
//     candidate replaces the best if it is allowed and its fraction is larger. Positions are
//     visited up to a multiple of 8, so up to seven beyond `count` take part; entries beyond the
//     bins count as empty, that of missing values, too.
//   - The winner among the classes has the largest quotient, then the lowest position, where
//     positions beyond the last candidate stand for it.
//   - The winner's gain, computed from its sums, decides everything else.
// Where weights are capped or denominators may vanish there are no fractions: the largest gain
// wins, then the lowest position.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "shared/bins.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "shared/min_child_weight.hpp"
#include "shared/objective.hpp"

namespace hedgerow {

// A gain below this fraction of the parent's score is rounding error.
inline constexpr double kRelativeNoise = 0x1p-48;
// The error of a scan's arithmetic, as a fraction of the scores that it adds up.
inline constexpr double kScanNoise = 0x1p-40;
// The error of a difference of two Σh + λ, as a fraction of the larger one.
inline constexpr double kDifferenceNoise = 0x1p-50;

// The error of a scan in a node with this Σh. A scan finds Σh + λ of one side by subtracting the
// other side's from that of both, which loses digits if one side is far smaller than the other.
inline double scan_noise(const GrowthParams& params, double h) {
  const double least_side = params.reg_lambda + 0.5 * params.min_child_weight;
  const double lost = kDifferenceNoise * (h + 2.0 * params.reg_lambda);
  if (!(lost < least_side)) return 1.0;
  return lost > kScanNoise * least_side ? lost / least_side : kScanNoise;
}
// Nodes with fewer rows have mostly empty bins, which are removed before the scan.
inline constexpr std::uint64_t kSparseRows = 160;
inline constexpr int kScanClasses = 8;

struct Split {
  double gain = 0.0;    // ½[score(L) + score(R) − score(parent)] − γ; 0 if no split gains
  double weight = 1.0;  // of its feature
  int feature = -1;
  std::uint8_t bin = 0;  // numeric: bins up to this one go left
  bool missing_left = false;
  bool categorical = false;
  std::uint32_t categories[8] = {};  // categorical: the bins that go left
  GradientSum left = {0, 0};

  bool found() const { return feature >= 0; }
  // Splits are compared by the gain times the weight of the feature.
  double weighted_gain() const { return weight * gain; }
  // Larger weighted gains win; ties are won by the lower feature.
  bool beats(const Split& other) const {
    return weighted_gain() > other.weighted_gain() ||
           (weighted_gain() == other.weighted_gain() && found() && feature < other.feature);
  }
  // Whether the rows of a bin go left.
  bool takes(int b) const {
    if (b == kMissingBin) return missing_left;
    return categorical ? (categories[b >> 5] >> (b & 31) & 1) != 0 : b <= bin;
  }
};

// The minimum of a child in the histogram's units, by the rule of shared/min_child_weight.hpp: hc
// for its rows, `steps` for S + c, `h` for S alone.
struct ChildMinimum {
  std::uint64_t hc, steps, h;

  // Where all h are one step, S = c and nothing was rounded: S ≥ T is S + c ≥ 2T.
  ChildMinimum(const GrowthParams& params, const FixedPoint& fixed) {
    constexpr auto kMostUnits = std::uint64_t{1} << 62;  // more than any Σh, and safe to double
    hc = static_cast<std::uint64_t>(params.min_rows()) << fixed.count_shift;
    const double enough = min_steps_of_child(params.min_child_weight, fixed.h_unit) *
                          (fixed.has_equal_h() ? 2.0 : 1.0);
    steps = enough < kMostUnits ? static_cast<std::uint64_t>(enough) : kMostUnits;
    h = params.min_child_weight > 0.0 ? 1 : 0;
  }
  // Whether candidates can be compared as fractions: no weight is capped, no denominator is zero.
  bool has_fractions(const GrowthParams& params) const {
    return params.max_delta_step <= 0.0 && (params.reg_lambda > 0.0 || h > 0);
  }
  // Whether a node is large enough for two children.
  bool fits_twice(const FixedPoint& fixed, const GradientSum& node) const {
    return node.hc >= 2 * hc && fixed.most_steps(node) >= 2 * steps && fixed.h_steps(node) >= 2 * h;
  }
};

// The score of a node whose children have no limits, and what follows from it.
struct NodeScore {
  double parent;      // of the node itself
  double size;        // magnitude of the terms of `parent`
  double noise;       // of a scan, as a fraction of the scores that it adds up
  double least_gain;  // smaller gains are rounding error

  NodeScore(double parent_score, double score_size, double scan_noise)
      : parent(parent_score),
        size(score_size),
        noise(scan_noise),
        least_gain(split_gain(kRelativeNoise * score_size, 0.0, 0.0)) {}
  NodeScore(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& node)
      : NodeScore(leaf_score(params.penalties(), fixed.g(node), fixed.h(node)),
                  hedgerow::scan_noise(params, fixed.h(node))) {}

  // What a scan must exceed to be better than `best`; it may skip smaller gains. Fractions and
  // gains round differently, so candidates near the best so far pass and are compared by their
  // gains: the result must not depend on which features were offered before, in this group or by
  // another thread.
  double gain_to_beat(const Split& best, double weight, double min_split_gain) const {
    const double gain = best.weighted_gain() / weight;
    return gain - noise * (size + score_difference(gain, min_split_gain));
  }

 private:
  NodeScore(double score, double scan_noise) : NodeScore(score, score, scan_noise) {}
};

// The constants of a node's scores in the histogram's integer units, so that λ and α are converted
// once instead of every sum.
struct ScoreUnits {
  double reg_lambda, alpha;
  double both_sides;  // S = H + 2λ
  double mean;        // G/S
  double per_g;

  ScoreUnits(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& node)
      : reg_lambda(params.reg_lambda / fixed.h_unit),
        alpha(params.reg_alpha / fixed.g_unit),
        both_sides(static_cast<double>(fixed.h_steps(node)) + 2.0 * reg_lambda),
        mean(static_cast<double>(node.g) / both_sides),
        per_g(1.0 / fixed.g_unit) {}
};

// What the scan of one feature needs: the node, and what must be exceeded.
struct SplitNode {
  const GrowthParams& params;
  const FixedPoint& fixed;
  const GradientSum& total;
  const ChildMinimum& minimum;
  const ScoreUnits& units;
  double parent_score;
  double least_gain;    // smaller gains are rounding error
  double gain_to_beat;  // smaller gains need not be reported

  std::uint64_t h(const GradientSum& sum) const { return fixed.h_steps(sum); }
  bool big_enough(const GradientSum& child) const {
    return child.hc >= minimum.hc && fixed.most_steps(child) >= minimum.steps &&
           h(child) >= minimum.h;
  }
  bool allowed(const GradientSum& left) const {
    return big_enough(left) && big_enough(total - left);
  }
  bool is_sparse() const { return fixed.count(total) < kSparseRows; }
  bool has_room() const { return minimum.fits_twice(fixed, total); }
  bool has_fractions() const { return minimum.has_fractions(params); }
  double gain(const GradientSum& left, double extra_lambda = 0.0) const {
    const GradientSum right = total - left;
    const Penalties penalties = params.penalties(extra_lambda);
    return split_gain(leaf_score(penalties, fixed.g(left), fixed.h(left)) +
                          leaf_score(penalties, fixed.g(right), fixed.h(right)),
                      parent_score, params.min_split_gain);
  }
  // If the node has no missing values, they go to the larger child.
  bool missing_follow_left(const GradientSum& left) const {
    return 2 * fixed.count(left) >= fixed.count(total);
  }
  // Replaces `best` by a better split on the same feature; of equals the lower bin is kept.
  void keep_better_threshold(double gain, int bin, const GradientSum& left, bool missing_left,
                             Split& best) const {
    const bool wins_tie = gain == best.gain && bin < best.bin;
    if (!(gain > gain_to_beat) || !(gain > best.gain || wins_tie)) return;
    best.gain = gain;
    best.bin = static_cast<std::uint8_t>(bin);
    best.missing_left = missing_left;
    best.left = left;
  }
  // A scan finds the split of missing values from all numbers after the last occupied bin. Larger
  // numbers must go the same way as numbers, so the split is moved behind the last bin of the
  // feature.
  void move_behind_all_numbers(const GradientSum& missing, int n_bins, Split& best) const {
    if (missing.hc != 0 && !best.missing_left && best.left.hc == (total - missing).hc) {
      best.bin = static_cast<std::uint8_t>(n_bins - 1);
    }
  }
  // Whether a category has enough Σh to be sorted; others go right.
  bool is_sortable(const GradientSum& category) const {
    return !(fixed.h(category) < params.min_category_weight);
  }
  // What categories are sorted by.
  double category_ratio(const GradientSum& category) const {
    return fixed.g(category) / (fixed.h(category) + params.cat_smooth);
  }
};

// The score of a candidate as a fraction. With α the thresholded gradients of the two sides do not
// add up to a constant, so both are needed.
template <bool kL1>
struct FractionUnits : ScoreUnits {
  explicit FractionUnits(const SplitNode& node) : ScoreUnits(node.units) {
    const double parent =
        node.parent_score + score_difference(node.gain_to_beat, node.params.min_split_gain);
    to_beat = parent * node.fixed.h_unit * per_g * per_g;
    if (!kL1) to_beat = (to_beat - static_cast<double>(node.total.g) * mean) / both_sides;
  }

  template <class Real>
  Fraction<Real> operator()(const Real& left_g, const Real& right_g, const Real& left_h) const {
    if constexpr (kL1) {
      const Real a = left_h + reg_lambda, b = both_sides - a;
      return two_sided_fraction(soft_threshold(left_g, alpha), soft_threshold(right_g, alpha), a,
                                b);
    } else {
      return split_fraction(left_g, left_h, reg_lambda, both_sides, mean);
    }
  }

  double to_beat;  // the fraction of the best split so far
};

// The best position over the classes, −1 for none. A class past the end can win if missing values
// are on the right: it stands for the last position, whose own class may hold an earlier fraction
// that is equal up to rounding.
template <class BestOfClasses>
int winner(const BestOfClasses& best, int count) {
  int chosen = -1;
  double chosen_value = 0.0;
  for (int i = 0; i < kScanClasses; ++i) {
    const int found = static_cast<int>(best.position[i]);
    const int position = found < count - 1 ? found : count - 1;
    if (position < 0) continue;
    const double value = best.numerator[i] / best.denominator[i];
    if (chosen < 0 || value > chosen_value || (value == chosen_value && position < chosen)) {
      chosen = position;
      chosen_value = value;
    }
  }
  return chosen;
}

}  // namespace hedgerow
