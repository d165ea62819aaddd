// Split finding: the best split of a node on one feature, from the feature's histogram, by the rule
// of shared/split_rule.hpp.
#pragma once
#include <cstdint>

#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "shared/split_rule.hpp"
#include "table/binned_view.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::hist {

// The limits of leaf weights that max_delta_step sets.
Limits widest_limits(const GrowthParams& params);

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

// The search for the best split of one node, a feature at a time. What depends on the node alone is
// computed once.
class SplitSearch {
 public:
  SplitSearch(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& node,
              const LimitedLeaf& limited = {});

  const GradientSum& node() const { return total_; }
  // What the scan of a feature needs in order to find a split that is better than `best`.
  SplitNode node_for(const Split& best, double weight) const;

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
  NodeScore score_;

  bool leaves_enough(const FeatureHistogram& histogram) const;
};

}  // namespace hedgerow::hist
