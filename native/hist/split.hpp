// Split finding: the best way to cut a node in two on one feature, from that feature's histogram.
#pragma once
#include <cstdint>

#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::hist {

struct Split {
  double gain = 0.0;  // ½[score(L) + score(R) − score(parent)] − γ; 0 when no split is worth making
  double weight = 1.0;  // of its feature
  int feature = -1;
  std::uint8_t bin = 0;  // numeric: bins up to this one go left
  bool missing_left = false;
  bool categorical = false;
  std::uint32_t categories[8] = {};  // categorical: the bins that go left
  GradientSum left = {0, 0};

  bool found() const { return feature >= 0; }
  // What splits compete by: the gain times the weight of the feature.
  double weighted_gain() const { return weight * gain; }
  // The order of candidates: the larger weighted gain first, the lower feature at a tie.
  bool beats(const Split& other) const {
    return weighted_gain() > other.weighted_gain() ||
           (weighted_gain() == other.weighted_gain() && found() && feature < other.feature);
  }
};

// What max_delta_step leaves.
Limits widest_limits(const GrowthParams& params);

// A gain below this share of the parent's score is rounding, not improvement.
inline constexpr double kRelativeNoise = 0x1p-48;
// What a scan's own arithmetic may be wrong by, as a share of the scores that it adds up.
inline constexpr double kScanNoise = 0x1p-40;

// A feature's histogram (kBins sums) in a node, and what its bins mean.
struct FeatureHistogram {
  GradientSum* sums;
  int feature;
  int n_bins;
  bool categorical;
  double weight = 1.0;
};

// What a child must have at least, in the histogram's units, by the rule of
// shared/least_weight.hpp: hc for its rows, `steps` for S + c, `h` for S alone.
struct Least {
  std::uint64_t hc, steps, h;

  Least(const GrowthParams& params, const FixedPoint& fixed);
  // Whether two such children fit into a node.
  bool fits_twice(const FixedPoint& fixed, const GradientSum& node) const {
    return node.hc >= 2 * hc && fixed.most_steps(node) >= 2 * steps && fixed.h_steps(node) >= 2 * h;
  }
};

// The search for the best split of one node, a feature at a time. What depends on the node alone is
// worked out once.
class SplitSearch {
 public:
  SplitSearch(const GrowthParams& params, const FixedPoint& fixed, const GradientSum& node,
              const LimitedLeaf& limited = {});

  const GradientSum& node() const { return total_; }

  // Replaces `best` if the feature has a better split. Candidates come in their order: lower
  // feature, lower bin, missing values right before left; the first of equals wins.
  void offer(const FeatureHistogram& histogram, Split& best) const;

  // Turns a parent's histogram into that of its other child, the node of this search, and offers
  // it: the two go together because each is a walk through the same 4 KiB.
  void offer_sibling(const FeatureHistogram& parent, const GradientSum* child, Split& best) const;

 private:
  const GrowthParams& params_;
  FixedPoint fixed_;
  GradientSum total_;
  Least least_;
  LimitedLeaf limited_;
  double parent_score_;
  double score_size_;  // of the numbers that it is the sum of
  double least_gain_;  // below it a gain is rounding

  double gain_to_beat(const Split& best, double weight) const;
};

}  // namespace hedgerow::hist
