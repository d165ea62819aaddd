// The rows and histograms of a tree's leaves, for the engines of this folder.
//
// A split writes the divided rows of a leaf to the other of two buffers, so that rows keep their
// order and those of a leaf are contiguous. The rows of the leaf itself remain until one of its
// children is divided. Histograms are kept within a budget of memory, and recycled.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/stages.hpp"
#include "hist/engine.hpp"
#include "hist/histogram.hpp"
#include "hist/split.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::hist {

// Where the rows of a leaf are.
struct RowRange {
  int buffer = -1;  // −1: the bag itself
  std::size_t begin = 0, count = 0;
};

// Consecutive rows of a leaf that is divided.
struct RowChunk {
  std::size_t begin, end;
  std::uint64_t* marks;  // of the leaf's first row
  std::size_t to_left = 0, left_before = 0;
};

// A leaf whose rows are divided, and where those of its children are.
struct RowDivision {
  RowRange leaf;
  const Split* split;
  std::optional<std::size_t> n_left;  // the number of rows that go left, if it is known
  RowRange left = {}, right = {};
  std::span<RowChunk> chunks = {};
};

// Rows of a leaf, and its number.
struct NumberedRows {
  RowRange rows;
  std::uint16_t number;
};

class RowPartition {
 public:
  RowPartition(const BinnedView& bins, int threads);

  // Starts a tree on the rows of a bag; returns where they are.
  RowRange begin(const Bag& bag);
  RowSet rows(const RowRange& leaf) const;
  // Divides the rows of leaves side by side.
  void divide(std::span<RowDivision> divisions);
  // Adds the stages in which threads mark the rows of leaves, then move them; a leaf of one chunk
  // takes one stage. Returns the last stage of each leaf. The children of a leaf whose `n_left` is
  // known have their places at once. The divisions must live until the stages have run.
  std::vector<int> add_stages(std::span<RowDivision> divisions, std::vector<Stage>& stages);
  // Writes the leaf number of every row.
  void number_rows(const GrownTree& tree, std::span<const NumberedRows> leaves,
                   std::uint16_t* leaf_of_row) const;

 private:
  void make_chunks(std::span<RowDivision> divisions);
  void mark(const RowDivision& division, RowChunk& chunk) const;
  static void finish_marks(RowDivision& division);
  void move(const RowDivision& division, const RowChunk& chunk) const;
  void number_stretch(std::span<const NumberedRows> leaves, std::size_t begin, std::size_t end,
                      std::uint16_t* leaf_of_row) const;
  void number_rows_outside_bag(const GrownTree& tree, std::uint16_t* leaf_of_row) const;

  const BinnedView& bins_;
  int threads_;
  Bag bag_;
  std::array<Buffer<std::uint32_t>, 2> buffers_;
  std::vector<std::uint64_t> marks_;
  std::vector<RowChunk> chunks_;  // of the leaves that are being divided
};

// What an engine stores for a leaf.
struct EngineLeaf {
  RowRange rows;
  int slot = -1;            // its histogram, −1 for none
  bool is_waiting = false;  // it may be split later, and its histogram is not in use
  // The ids of its children, once its rows are divided. It stays a leaf of the tree if it was
  // divided ahead and then not split.
  std::array<int, 2> children = {-1, -1};
};

// Appends the children of a leaf, with the sums and the numbers of rows that a split gives them.
template <class AnyLeaf>
std::array<int, 2> add_children(std::vector<AnyLeaf>& leaves, int leaf, const Split& split,
                                const FixedPoint& fixed) {
  const int left = static_cast<int>(leaves.size()), right = left + 1;
  AnyLeaf first, second;
  const AnyLeaf& parent = leaves[static_cast<std::size_t>(leaf)];
  first.sum = split.left;
  first.rows.count = fixed.count(split.left);
  second.sum = parent.sum - split.left;
  second.rows.count = parent.rows.count - first.rows.count;
  leaves.push_back(first);
  leaves.push_back(second);
  return {left, right};
}

// The divisions of leaves whose children exist, and whose histograms have counted the rows of
// these.
template <class AnyLeaf>
std::vector<RowDivision> row_divisions(std::span<const Division> divisions,
                                       const std::vector<AnyLeaf>& leaves) {
  const auto at = [&](int leaf) -> const AnyLeaf& {
    return leaves[static_cast<std::size_t>(leaf)];
  };
  std::vector<RowDivision> divided;
  divided.reserve(divisions.size());
  for (const Division& division : divisions) {
    divided.push_back(
        {at(division.leaf).rows, &division.split, at(division.children[0].leaf).rows.count});
  }
  return divided;
}

// Tells the leaves where their rows are, or will be.
template <class AnyLeaf>
void set_rows(std::span<const Division> divisions, const std::vector<RowDivision>& divided,
              std::vector<AnyLeaf>& leaves) {
  const auto at = [&](int leaf) -> AnyLeaf& { return leaves[static_cast<std::size_t>(leaf)]; };
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    const auto& [left, right] = divisions[i].children;
    at(left.leaf).rows = divided[i].left;
    at(right.leaf).rows = divided[i].right;
    at(divisions[i].leaf).children = {left.leaf, right.leaf};
    at(divisions[i].leaf).is_waiting = false;
  }
}

// Divides the rows of leaves whose children exist.
template <class AnyLeaf>
void divide_rows(RowPartition& rows, std::span<const Division> divisions,
                 std::vector<AnyLeaf>& leaves) {
  std::vector<RowDivision> divided = row_divisions(divisions, leaves);
  rows.divide(divided);
  set_rows(divisions, divided, leaves);
}

// The rows of leaves, which are given in the order of their numbers. Those of a leaf that was
// divided ahead are where its descendants have them.
template <class AnyLeaf>
std::vector<NumberedRows> number_leaves(const std::vector<AnyLeaf>& leaves,
                                        std::span<const int> ids) {
  std::vector<NumberedRows> numbered;
  std::vector<int> pending;
  for (std::size_t number = 0; number < ids.size(); ++number) {
    pending.push_back(ids[number]);
    while (!pending.empty()) {
      const AnyLeaf& leaf = leaves[static_cast<std::size_t>(pending.back())];
      pending.pop_back();
      if (leaf.children[0] < 0) {
        numbered.push_back({leaf.rows, static_cast<std::uint16_t>(number)});
      } else {
        pending.insert(pending.end(), leaf.children.begin(), leaf.children.end());
      }
    }
  }
  return numbered;
}

// Histograms of the same size.
class HistogramPool {
 public:
  // As many as fit into `budget` bytes, and at least `fewest`.
  HistogramPool(std::size_t bytes, std::size_t budget, std::size_t fewest);

  // −1 if the budget is spent.
  int acquire();
  void release(int& slot);
  void release_all();
  template <class T>
  T* at(int slot) const {
    return reinterpret_cast<T*>(slots_[static_cast<std::size_t>(slot)].get());
  }

 private:
  std::size_t bytes_, most_;  // size of a histogram; number in the budget
  std::vector<Buffer<std::byte>> slots_;
  std::vector<int> free_;
};

// A free histogram; if the budget is spent, that of the smallest waiting leaf; −1 if there is none.
template <class AnyLeaf>
int take_slot(HistogramPool& pool, std::vector<AnyLeaf>& leaves) {
  const int slot = pool.acquire();
  if (slot >= 0) return slot;
  AnyLeaf* smallest = nullptr;
  for (AnyLeaf& leaf : leaves) {
    if (!leaf.is_waiting || leaf.slot < 0) continue;
    if (!smallest || leaf.rows.count < smallest->rows.count) smallest = &leaf;
  }
  if (!smallest) return -1;
  pool.release(smallest->slot);
  return pool.acquire();
}

// Two new leaves: which has fewer rows, and whether the histogram of the other is that of their
// parent minus that of the smaller.
struct PairPlan {
  std::size_t small_side;
  bool subtracts;
};

// Gives the leaves of a division that are searched their histograms, if is_kept(number of rows).
template <class AnyLeaf, class IsKept>
PairPlan plan_pair(const Division& division, HistogramPool& pool, std::vector<AnyLeaf>& leaves,
                   IsKept is_kept) {
  const auto at = [&](int leaf) -> AnyLeaf& { return leaves[static_cast<std::size_t>(leaf)]; };
  const auto child = [&](std::size_t side) -> AnyLeaf& { return at(division.children[side].leaf); };
  const std::size_t small_side = child(0).rows.count <= child(1).rows.count ? 0 : 1;
  const bool scan_small = division.is_searched[small_side];
  const bool scan_large = division.is_searched[1 - small_side];
  AnyLeaf &parent = at(division.leaf), &small = child(small_side), &large = child(1 - small_side);
  const bool subtracts = scan_large && parent.slot >= 0;
  if (!subtracts) pool.release(parent.slot);
  if (scan_small && is_kept(small.rows.count)) small.slot = take_slot(pool, leaves);
  if (scan_large && !subtracts && is_kept(large.rows.count)) large.slot = take_slot(pool, leaves);
  if (subtracts) large.slot = std::exchange(parent.slot, -1);
  return {small_side, subtracts};
}

}  // namespace hedgerow::hist
