// The rows and histograms of a tree's leaves, for both engines of this folder.
//
// A split writes the divided rows of a leaf to the other of two buffers, so that rows keep their
// order and those of a leaf are contiguous. The rows of the leaf itself remain until one of its
// children is divided. Histograms are kept within a budget of memory, and recycled.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
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
  // Divides the rows of a leaf; returns where those of its children are: left, right.
  std::array<RowRange, 2> divide(const RowRange& leaf, const Split& split);
  // The same for children whose histograms have counted their rows already.
  void divide(const RowRange& leaf, const Split& split, RowRange& left, RowRange& right);
  // Writes the leaf number of every row.
  void number_rows(const GrownTree& tree, std::span<const NumberedRows> leaves,
                   std::uint16_t* leaf_of_row) const;

 private:
  void number_stretch(std::span<const NumberedRows> leaves, std::size_t begin, std::size_t end,
                      std::uint16_t* leaf_of_row) const;
  void number_rows_outside_bag(const GrownTree& tree, std::uint16_t* leaf_of_row) const;

  const BinnedView& bins_;
  int threads_;
  Bag bag_;
  std::array<Buffer<std::uint32_t>, 2> buffers_;
  std::vector<std::uint64_t> marks_;
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

}  // namespace hedgerow::hist
