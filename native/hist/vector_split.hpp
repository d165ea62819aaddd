// Split finding for all outputs at once: a cut gains what the outputs gain together.
#pragma once
#include <cstdint>
#include <vector>

#include "gradient/vector_store.hpp"
#include "hist/split.hpp"
#include "hist/vector_histogram.hpp"

namespace hedgerow::hist {

// A feature in a node: where its sums stand, and what its bins mean.
struct VectorFeature {
  int feature;
  int n_bins;
  bool categorical;
  double weight;  // of its gains when splits compete
  int direction;  // 1 if no value may fall with it, −1 if none may rise, else 0
  const Place& place;
  const VectorHistograms& histograms;
  int column;  // of the histograms
  // The bins of the column that hold rows, if the node has so few that most do not; or null.
  BinSet* occupied;
};

// A split, and the sums of its left child; `left` is what lane 0 says of it, its weight and count.
struct VectorSplit : Split {
  std::vector<std::uint64_t> left_sums;
};

// What a panel's scan needs to know of the node, lane by lane.
struct PanelOfNode {
  alignas(64) double reg_lambda[kPanelWidth];  // in units of h, as all that follows
  alignas(64) double both_sides[kPanelWidth];  // H + 2λ
  alignas(64) double mean[kPanelWidth];        // G / (H + 2λ)
  alignas(64) double factor[kPanelWidth];      // from a fraction in units to a gain
  alignas(64) double g[kPanelWidth], h[kPanelWidth];
  alignas(64) double g_unit[kPanelWidth], h_unit[kPanelWidth];  // 0 in lanes that are no output
};

// What a child must have at least, in the units of lane 0 (see Least): `sum` holds S + c and c.
struct VectorLeast {
  GradientSum sum;
  std::int64_t h;

  VectorLeast(const GrowthParams& params, const VectorGradients& gradients);
  bool fits(const GradientSum& child, int times = 1) const {
    const auto count = static_cast<std::int64_t>(child.hc);
    return child.hc >= times * sum.hc && child.g + count >= times * sum.g && child.g >= times * h;
  }
};

// The search for the best split of one node, a feature at a time.
class VectorSearch {
 public:
  // `node` is the node's sums, words_per_row() of them; it must outlive the search.
  VectorSearch(const GrowthParams& params, const VectorGradients& gradients,
               const std::uint64_t* node);

  // Replaces `best` if the feature has a better split: its rules are SplitSearch's, with the mean
  // of the outputs' Σh in the place of Σh. The sums of bins that share a column with others may be
  // overwritten.
  void offer(const VectorFeature& feature, VectorSplit& best) const;

 private:
  void describe_lane(int k);

  const GrowthParams& params_;
  const VectorGradients& gradients_;
  const std::uint64_t* node_;
  VectorLeast least_;
  double parent_score_ = 0.0;
  double constant_ = 0.0;  // what every cut's score has in common
  bool is_plain_;          // no penalty but λ
  std::vector<PanelOfNode> panels_;
};

}  // namespace hedgerow::hist
