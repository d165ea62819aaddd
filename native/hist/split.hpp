// Split finding: the best split of a node on one feature, from the feature's histogram.
#pragma once
#include <cstdint>

#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::hist {

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
};

// The limits of leaf weights that max_delta_step sets.
Limits widest_limits(const GrowthParams& params);

// A gain below this fraction of the parent's score is rounding error.
inline constexpr double kRelativeNoise = 0x1p-48;
// The error of a scan's arithmetic, as a fraction of the scores that it adds up.
inline constexpr double kScanNoise = 0x1p-40;

// The histogram of a feature in a node, followed by zeros up to the next multiple of eight, and the
// type of its bins.
struct FeatureHistogram {
  GradientSum* sums;
  GradientSum missing;
  int feature;
  int n_bins;
  bool categorical;
  double weight = 1.0;
};

// The minimum of a child in the histogram's units, by the rule of shared/min_child_weight.hpp: hc
// for its rows, `steps` for S + c, `h` for S alone.
struct ChildMinimum {
  std::uint64_t hc, steps, h;

  ChildMinimum(const GrowthParams& params, const FixedPoint& fixed);
  // Whether a node is large enough for two children.
  bool fits_twice(const FixedPoint& fixed, const GradientSum& node) const {
    return node.hc >= 2 * hc && fixed.most_steps(node) >= 2 * steps && fixed.h_steps(node) >= 2 * h;
  }
};

// The constants of a node's scores in the histogram's units.
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

// The search for the best split of one node, a feature at a time. What depends on the node alone is
// computed once.
class SplitSearch {
 public:
  SplitSearch(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& node,
              const LimitedLeaf& limited = {});

  const GradientSum& node() const { return total_; }

  // Replaces `best` if the feature has a better split. The order of candidates is: lower feature,
  // lower bin, missing values right before left; the first of equals wins.
  void offer(const FeatureHistogram& histogram, Split& best) const;

  // Turns a parent's histogram, that of a column, into that of its other child, the node of this
  // search, and offers it: one pass over 4 KiB instead of two.
  void offer_sibling(const FeatureHistogram& parent, const GradientSum* child, Split& best) const;

 private:
  const GrowthParams& params_;
  FixedPoint fixed_;
  GradientSum total_;
  ChildMinimum minimum_;
  ScoreUnits units_;
  LimitedLeaf limited_;
  double parent_score_;
  double score_size_;  // magnitude of the terms of parent_score_
  double least_gain_;  // smaller gains are rounding error

  double gain_to_beat(const Split& best, double weight) const;
  bool leaves_enough(const FeatureHistogram& histogram) const;
};

}  // namespace hedgerow::hist
