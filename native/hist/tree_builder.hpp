// What growing a tree for one output and growing one for all of them have in common: which leaf is
// next, which features it may use, where its rows are, and the tree as it comes to be.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/interrupt.hpp"
#include "hist/scalar_grower.hpp"

namespace hedgerow {

struct Leaf {
  int node = 0;  // its index in the tree
  int depth = 0;
  int buffer = -1;  // which row buffer its rows are in; −1: the bag itself
  std::size_t begin = 0, count = 0;
  int slot = -1;  // its histogram, −1 for none
  Sum sum = {0, 0};
  Split best;
};

// Histograms of the same size, recycled.
class HistogramPool {
 public:
  // As many as `budget` bytes hold, and at least `fewest`.
  HistogramPool(std::size_t bytes, std::size_t budget, std::size_t fewest);

  // −1 when the budget is spent.
  int acquire();
  void release(int& slot);
  void release_all();
  template <class T>
  T* at(int slot) const {
    return reinterpret_cast<T*>(slots_[static_cast<std::size_t>(slot)].get());
  }

 private:
  std::size_t bytes_, most_;  // of a histogram, histograms in the budget
  std::vector<Buffer<std::byte>> slots_;
  std::vector<int> free_;
};

// The features that a node may be split on.
struct AllowedFeatures {
  std::vector<bool> flags;  // empty: all

  bool operator[](std::size_t feature) const { return flags.empty() || flags[feature]; }
};

class Growth {
 public:
  Growth(const BinnedView& view, const GrowthParams& growth, const Constraints& constrained,
         int team, HistogramPool histograms);

  // A new tree on some rows; whether it has other features than the last.
  bool begin(std::span<const std::uint32_t> rows, std::uint64_t id);

  RowSet rows_of(const Leaf& leaf) const {
    if (leaf.buffer >= 0) return {row_buffer[leaf.buffer].get() + leaf.begin, 0, leaf.count};
    return {bag.empty() ? nullptr : bag.data(), 0, leaf.count};
  }
  int n_leaves() const { return static_cast<int>(open.size() + closed.size()); }
  bool is_full() const { return n_leaves() >= max_leaves; }

  // Files an evaluated leaf: open if it has a split worth making.
  void settle(Leaf leaf);
  // To be called when open leaves were taken out.
  void put_in_order();
  // Takes the leaf that is to be split next.
  Leaf next();

  // Groups of at most `widest` columns of the tree's that share a block, of nearly equal size, and
  // if possible `wanted` a block.
  std::vector<ColumnGroup> make_groups(std::size_t wanted, std::size_t widest = kGroupWidth) const;
  // How many codes a column of the tree's has on average.
  std::size_t mean_codes() const;

  // Rows and depth allow it to be split; of its weight nothing is known here.
  bool is_splittable(const Leaf& leaf) const;
  AllowedFeatures allowed_features(const Leaf& leaf) const;
  // A free histogram; if the budget is spent, that of the smallest open leaf; −1 if none has one.
  int take_slot();

  // A node without values.
  int add_node(double cover, std::size_t count);
  // The two children of a leaf, whose nodes are there, and whose rows are not divided yet.
  std::array<Leaf, 2> children(const Leaf& parent, std::size_t n_left) const;
  void record_split(const Leaf& leaf, int left, int right);
  void divide_rows(const Leaf& parent, const Leaf& left, const Leaf& right);
  // Numbers the leaves, and notes every row's.
  void finish(std::uint16_t* leaf_of_row);

  BinnedView bins;
  GrowthParams params;
  Constraints constraints;
  int max_leaves;
  int threads;
  HistogramPool pool;
  std::vector<std::vector<std::size_t>> members;  // the features of each column
  std::vector<int> n_codes;                       // of each column, missing aside
  std::vector<bool> partable;                     // features that could part the rows
  std::array<Buffer<std::uint32_t>, 2> row_buffer;
  std::vector<std::uint64_t> marks;

  // Of the tree being grown.
  std::span<const std::uint32_t> bag;
  std::uint64_t tree_id = 0;
  std::vector<int> features;
  AllowedFeatures in_tree;   // the same as flags
  std::vector<int> columns;  // those that hold what of them could part the rows
  GrownTree tree;
  std::vector<int> parent_of;  // of each node; −1 for the root
  std::vector<Leaf> open;      // a heap: the next to split in front
  std::vector<Leaf> closed;    // will stay leaves

 private:
  std::size_t fewest_rows() const;
  std::vector<int> columns_to_add_up() const;
  bool after(const Leaf& a, const Leaf& b) const;
  std::vector<int> features_above(int node) const;
  void number_rows(std::size_t begin, std::size_t end, std::uint16_t* leaf_of_row) const;
  void number_rows_outside_bag(const std::vector<std::uint16_t>& number,
                               std::uint16_t* leaf_of_row) const;
};

// Grows a tree with what a kind of growth adds: begin(…) of its gradients, plant_root(),
// split(leaf) and perhaps a finish(…) of its own.
template <class State, class AnyGradients>
GrownTree grow_tree(State& state, const AnyGradients& gradients, std::span<const std::uint32_t> bag,
                    std::uint64_t tree_id, std::uint16_t* leaf_of_row) {
  state.begin(gradients, bag, tree_id);
  state.plant_root();
  while (!state.open.empty() && !state.is_full()) {
    check_interrupt();
    state.split(state.next());
  }
  state.finish(leaf_of_row);
  return std::move(state.tree);
}

}  // namespace hedgerow
