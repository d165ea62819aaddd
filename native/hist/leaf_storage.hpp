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

class RowPartition {
 public:
  RowPartition(const BinnedView& bins, int threads);

  // Starts a tree on the rows in `bag` (increasing; empty: all rows); returns where they are.
  RowRange begin(std::span<const std::uint32_t> bag);
  RowSet rows(const RowRange& leaf) const;
  // Where the rows of a leaf's children will be.
  std::array<RowRange, 2> children(const RowRange& leaf, std::size_t n_left) const;
  void divide(const RowRange& leaf, const Split& split, std::size_t n_left);
  // Writes the leaf number of every row; `leaves` are in the order of their numbers.
  void number_rows(const GrownTree& tree, std::span<const RowRange> leaves,
                   std::uint16_t* leaf_of_row) const;

 private:
  void number_stretch(std::span<const RowRange> leaves, std::size_t begin, std::size_t end,
                      std::uint16_t* leaf_of_row) const;
  void number_rows_outside_bag(const GrownTree& tree, std::uint16_t* leaf_of_row) const;

  const BinnedView& bins_;
  int threads_;
  std::span<const std::uint32_t> bag_;
  std::array<Buffer<std::uint32_t>, 2> buffers_;
  std::vector<std::uint64_t> marks_;
};

// What an engine stores for a leaf.
struct EngineLeaf {
  RowRange rows;
  int slot = -1;            // its histogram, −1 for none
  bool is_waiting = false;  // it may be split later, and its histogram is not in use
};

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
