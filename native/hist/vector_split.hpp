// Split finding for all outputs at once: the gain of a split is the sum over the outputs.
#pragma once
#include <cstdint>
#include <vector>

#include "gradient/vector_store.hpp"
#include "hist/split.hpp"
#include "hist/vector_histogram.hpp"

namespace hedgerow::hist {

// A feature in a node: the histogram of its column, or of its digit in a joint column, and the type
// of its bins.
struct VectorFeature {
  int feature;
  int n_bins;
  bool categorical;
  double weight;  // of its gains when splits are compared
  int direction;  // 1 if no value may fall with it, −1 if none may rise, else 0
  const Place& place;
  const VectorHistograms& histograms;
  int column;  // of the histograms
  // The occupied bins of the column if the node has few rows, else null.
  BinSet* occupied;
};

// A split and the sums of its left child; `left` is lane 0 of these, weight and count.
struct VectorSplit : Split {
  std::vector<std::uint64_t> left_sums;
};

// What the scan of a panel needs to know of the node, lane by lane.
struct PanelOfNode {
  alignas(64) double reg_lambda[kPanelWidth];  // in units of h, like the following
  alignas(64) double both_sides[kPanelWidth];  // H + 2λ
  alignas(64) double mean[kPanelWidth];        // G / (H + 2λ)
  alignas(64) double factor[kPanelWidth];      // from a fraction in units to a gain
  alignas(64) double g[kPanelWidth], h[kPanelWidth];
  alignas(64) double g_unit[kPanelWidth], h_unit[kPanelWidth];  // 0 in lanes that are no output
};

// The minimum of a child in the units of lane 0 (see ChildMinimum): `sum` holds S + c and c.
struct VectorChildMinimum {
  GradientSum sum;
  std::int64_t h;

  VectorChildMinimum(const GrowthParams& params, const VectorGradients& gradients);
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

  // Replaces `best` if the feature has a better split, by the rules of SplitSearch with the mean
  // over the outputs of Σh instead of Σh. The sums of bins that share a column with others may be
  // overwritten.
  void offer(const VectorFeature& feature, VectorSplit& best) const;

 private:
  void describe_lane(int k);

  const GrowthParams& params_;
  const VectorGradients& gradients_;
  const std::uint64_t* node_;
  VectorChildMinimum minimum_;
  double parent_score_ = 0.0;
  double noise_ = kScanNoise;  // of a scan
  double constant_ = 0.0;      // the part of the score that all candidates have in common
  bool is_plain_;              // no penalty but λ
  std::vector<PanelOfNode> panels_;
};

}  // namespace hedgerow::hist
