// Histograms: the sum of the gradients of a node's rows in each bin of each feature.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "shared/fixed_point.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::hist {

inline constexpr int kRun = 8;  // entries that are cleared, added and scanned at a time

// The rows of a node: `count` ids in increasing order or, if ids is null, consecutive rows from
// `first`.
struct RowSet {
  const std::uint32_t* ids;
  std::size_t first;
  std::size_t count;

  RowSet slice(std::size_t begin, std::size_t end) const {
    return ids ? RowSet{ids + begin, 0, end - begin} : RowSet{nullptr, first + begin, end - begin};
  }
};

// Up to kGroupWidth columns of one block, by their byte offsets in a row of that block. Their
// accumulators fit into the first-level cache together, as do their histograms, which are stored
// side by side: kColumnStride entries per column, in the group's order.
struct ColumnGroup {
  int block;
  int count;
  int first;  // columns in the groups before this one
  std::uint8_t offset[kGroupWidth];
  int column[kGroupWidth];
  int n_codes[kGroupWidth];  // of each column, without the missing bin
  bool contiguous;           // offsets are consecutive
};

// Where a thread accumulates the packed rows of a group: all zero between uses, because a spill
// clears what it reads.
struct alignas(64) Accumulators {
  std::uint64_t word[kGroupWidth * kColumnStride];
};

// Writes the histograms of the columns of one or more groups of the same block, side by side. For a
// column with few codes only their entries are written, up to the next multiple of kRun, and the
// last kRun entries, which include the missing bin. `adds`: the rows are added to those that the
// histograms have already.
void build_histograms(const BinnedView& bins, std::span<const ColumnGroup> groups,
                      const Gradients& gradients, const RowSet& rows, Accumulators& words,
                      GradientSum* histograms, bool adds = false);

// parent -= child for a column with n_codes codes: what remains is the other child.
void subtract_histogram(int n_codes, const GradientSum* child, GradientSum* parent);

// total += part for a column with n_codes codes.
void add_histogram(int n_codes, const GradientSum* part, GradientSum* total);

}  // namespace hedgerow::hist
