// Histograms: for each feature and bin, the sum of the gradients of a node's rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "shared/fixed_point.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::hist {

inline constexpr int kRun = 8;  // sums that are cleared, added up and scanned at a time

// The rows of a node: `count` ids in increasing order, or, when ids is null, the rows from `first`.
struct RowSet {
  const std::uint32_t* ids;
  std::size_t first;
  std::size_t count;

  RowSet slice(std::size_t begin, std::size_t end) const {
    return ids ? RowSet{ids + begin, 0, end - begin} : RowSet{nullptr, first + begin, end - begin};
  }
};

// Up to kGroupWidth columns of one block, by their byte offsets in a row of that block. Their
// accumulators stay in the first-level cache together, and so do their histograms, which are stored
// side by side: kColumnStride sums for each column, in the group's order.
struct ColumnGroup {
  int block;
  int count;
  int first;  // columns in the groups before this one
  std::uint8_t offset[kGroupWidth];
  int column[kGroupWidth];
  int n_codes[kGroupWidth];  // of each column, missing aside
  bool contiguous;           // offsets follow each other
};

// Where a thread adds up the packed rows of a group: all zero between uses, for a spill clears what
// it reads.
struct alignas(64) Accumulators {
  std::uint64_t word[kGroupWidth * kColumnStride];
};

// Writes the histograms of the columns of one or more groups of the same block, side by side. Of a
// column with few codes only their sums are written, up to the next multiple of kRun, and the last
// kRun, where the missing values are.
void build_histograms(const BinnedView& bins, std::span<const ColumnGroup> groups,
                      const Gradients& gradients, const RowSet& rows, Accumulators& words,
                      GradientSum* histograms);

// Of a column with so many codes: parent -= child, so that what is left is the other child.
void subtract_histogram(int n_codes, const GradientSum* child, GradientSum* parent);

// Of a column with so many codes: total += part.
void add_histogram(int n_codes, const GradientSum* part, GradientSum* total);

}  // namespace hedgerow::hist
