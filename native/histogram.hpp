// Histograms: for each feature and bin, the sum of the gradients of a node's rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "layout.hpp"

namespace hedgerow {

// The rows of a node: `count` ids in increasing order, or, when ids is null, the rows from `first`.
struct RowSet {
  const std::uint32_t* ids;
  std::size_t first;
  std::size_t count;

  RowSet slice(std::size_t begin, std::size_t end) const {
    return ids ? RowSet{ids + begin, 0, end - begin} : RowSet{nullptr, first + begin, end - begin};
  }
};

// Up to kGroupWidth features of one block, by their byte offsets in a row of that block. Their
// accumulators stay in the first-level cache together, and so do their histograms, which are stored
// side by side: kBins sums for each feature, in the group's order.
struct FeatureGroup {
  int block;
  int count;
  int first;  // features in the groups before this one
  std::uint8_t offset[kGroupWidth];
  int feature[kGroupWidth];
  bool contiguous;  // offsets follow each other
};

// Writes the histograms of the features of one or more groups of the same block, side by side.
void build_histograms(const BinnedView& bins, std::span<const FeatureGroup> groups,
                      const Gradients& gradients, const RowSet& rows, Sum* histograms);

// Of one feature: parent -= child, so that what is left is the other child.
void subtract_histogram(const Sum* child, Sum* parent);

// Of one feature: total += part.
void add_histogram(const Sum* part, Sum* total);

}  // namespace hedgerow
