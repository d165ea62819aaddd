// Memory for the histograms of leaves within a budget, recycled.
#pragma once
#include <cstddef>
#include <vector>

#include "core/buffer.hpp"
#include "hist/row_partition.hpp"

namespace hedgerow::hist {

// What both engines of this folder store for a leaf.
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
