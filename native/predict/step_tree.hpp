// The step form of a tree: nodes that a row follows one by one. It is for trees that are too large
// for the other forms, and for few rows.
//
// Sixteen paths are followed side by side, those of rows through one tree or of one row through
// several trees, so that their cache misses overlap. All of them take the same number of steps, and
// a leaf leads to itself: no branch depends on a row.
//
// Rows are read into blocks, which have a number for each feature that some node tests. If a number
// is missing, a row has two: +∞, which goes right of every threshold, for nodes where missing
// values go right, and −∞ for the others.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "predict/codes.hpp"
#include "predict/predictor.hpp"
#include "predict/stored_rows.hpp"

namespace hedgerow::predict {

inline constexpr std::size_t kWalkers = 16;     // paths that are followed side by side
inline constexpr std::size_t kStepsAtOnce = 4;  // between two looks whether all have arrived
using Nodes = std::array<std::uint32_t, kWalkers>;

// Siblings are adjacent; a leaf leads to itself.
struct StepNode {
  static constexpr std::uint32_t kCategorical = 1u << 31, kMissingLeft = 1u << 30;
  double threshold;      // of a categorical node: the row of category_bits; of a leaf: its number
  std::uint32_t column;  // of a block, and the flags above
  std::uint32_t left;
};

using StepColumn = std::pair<std::int32_t, bool>;  // feature, is categorical

struct StepTrees {
  std::vector<StepNode> nodes;
  std::vector<StepColumn> columns;  // of a block, sorted; then comes −∞, which leaves test
  std::vector<std::uint32_t> category_bits;
  std::uint32_t second = 1;  // where the columns for missing_left begin: a power of two

  std::uint32_t leaf_number(std::uint32_t node) const {
    return static_cast<std::uint32_t>(nodes[node].threshold);
  }
};

// Collects the columns of a block; before the first tree.
inline void find_columns(const TreeArrays& nodes, StepTrees& trees) {
  std::int32_t last = -1;
  for (std::size_t node = 0; node < nodes.n_nodes; ++node)
    last = std::max(last, nodes.feature[node]);
  std::vector<std::array<bool, 2>> is_used(static_cast<std::size_t>(last + 1));
  for (std::size_t node = 0; node < nodes.n_nodes; ++node)
    if (!nodes.is_leaf(node))
      is_used[static_cast<std::size_t>(nodes.feature[node])][nodes.is_categorical(node)] = true;
  for (std::int32_t feature = 0; feature <= last; ++feature)
    for (const bool is_categorical : {false, true})
      if (is_used[static_cast<std::size_t>(feature)][is_categorical])
        trees.columns.push_back({feature, is_categorical});
  trees.second = std::bit_ceil(static_cast<std::uint32_t>(trees.columns.size()) + 1);
}

inline StepNode step_node(const StepTrees& trees, const TreeArrays& tree, std::size_t node,
                          std::uint32_t left) {
  const StepColumn key{tree.feature[node], tree.is_categorical(node)};
  const auto at = std::lower_bound(trees.columns.begin(), trees.columns.end(), key);
  auto column = static_cast<std::uint32_t>(at - trees.columns.begin());
  if (tree.missing_left[node]) column |= trees.second | StepNode::kMissingLeft;
  if (!tree.is_categorical(node)) return {tree.threshold[node], column, left};
  return {static_cast<double>(tree.category_set[node]), column | StepNode::kCategorical, left};
}

// Adds a tree and returns its root. Pairs of siblings are in preorder: many steps of a path lie
// within a few lines of the cache.
inline std::uint32_t add_steps(const TreeArrays& tree,
                               const std::vector<std::uint32_t>& leaf_number, StepTrees& trees) {
  const auto root = static_cast<std::uint32_t>(trees.nodes.size());
  trees.nodes.resize(root + tree.n_nodes);
  std::uint32_t free = root + 1;
  std::vector<std::pair<std::size_t, std::uint32_t>> pending{{0, root}};  // node, its place
  while (!pending.empty()) {
    const auto [node, place] = pending.back();
    pending.pop_back();
    if (tree.is_leaf(node)) {
      const auto infinity = static_cast<std::uint32_t>(trees.columns.size());
      trees.nodes[place] = {static_cast<double>(leaf_number[node]), infinity, place};
      continue;
    }
    trees.nodes[place] = step_node(trees, tree, node, free);
    pending.push_back({static_cast<std::size_t>(tree.right[node]), free + 1});
    pending.push_back({static_cast<std::size_t>(tree.left[node]), free});
    free += 2;
  }
  return root;
}

// Rows of numbers of type T: of a thread, for all trees.
template <class T>
class StepBlock {
 public:
  explicit StepBlock(const StepTrees& trees) : trees_(trees) {}

  // Reads rows, and pads them with dummy rows up to n_room.
  template <class Rows>
  void read(const Rows& rows, std::size_t first_row, std::size_t n_rows, std::size_t n_room) {
    if (!fill(rows, first_row, n_rows, n_room, false)) fill(rows, first_row, n_rows, n_room, true);
  }

  const T* row(std::size_t i) const { return values_.data() + i * stride_; }
  std::size_t stride() const { return stride_; }
  // The bits of a node's column that are in use.
  std::uint32_t mask() const { return mask_; }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  // Returns whether no number is missing, or there are two for each.
  template <class Rows>
  bool fill(const Rows& rows, std::size_t first_row, std::size_t n_rows, std::size_t n_room,
            bool has_two) {
    const std::size_t n_columns = trees_.columns.size();
    stride_ = n_columns + 1 + (has_two ? trees_.second : 0);
    mask_ = (has_two ? 2 : 1) * trees_.second - 1;
    values_.resize(n_room * stride_);
    bool any_missing = false;
    for (std::size_t i = 0; i < n_rows; ++i) {
      T* row = values_.data() + i * stride_;
      any_missing |= read_row(rows, first_row + i, row);
      row[n_columns] = -kInfinity;
      if (has_two) divide(row, row + trees_.second);
    }
    std::fill(values_.data() + n_rows * stride_, values_.data() + n_room * stride_, -kInfinity);
    return has_two || !any_missing;
  }

  // Writes one of two numbers into each column; categories stay as they are.
  void divide(T* right, T* left) const {
    for (std::size_t c = 0; c < trees_.columns.size(); ++c) {
      const bool is_missing = right[c] != right[c] && !trees_.columns[c].second;
      left[c] = is_missing ? -kInfinity : right[c];
      right[c] = is_missing ? kInfinity : right[c];
    }
  }

  // Returns whether some value is missing.
  bool read_row(const Strided<const T>& rows, std::size_t row, T* to) const {
    bool any_missing = false;
    for (const auto& [feature, is_categorical] : trees_.columns) {
      const T x = rows.at(row, static_cast<std::size_t>(feature));
      any_missing |= x != x;
      *to++ = x;
    }
    return any_missing;
  }

  bool read_row(const StoredRows<T>& rows, std::size_t row, T* to) const {
    const std::vector<StepColumn>& columns = trees_.columns;
    bool any_missing = false;
    std::fill_n(to, columns.size(), T{0});
    rows.for_each(row, [&](std::size_t feature, T value) {
      const StepColumn first{static_cast<std::int32_t>(feature), false};
      auto at = std::lower_bound(columns.begin(), columns.end(), first);
      for (; at != columns.end() && at->first == first.first; ++at)
        to[at - columns.begin()] = T{0} + value;  // −0 is 0
      any_missing |= value != value;
    });
    return any_missing;
  }

  const StepTrees& trees_;
  std::size_t stride_ = 1;
  std::uint32_t mask_ = 0;
  std::vector<T> values_;
};

template <bool kCategories, class T>
std::uint32_t next_node(const StepTrees& trees, std::uint32_t node, const T* row,
                        std::uint32_t mask) {
  const StepNode step = trees.nodes[node];
  const T x = row[step.column & mask];
  if constexpr (kCategories) {
    if (step.column & StepNode::kCategorical) [[unlikely]] {
      const int code = category_code(x);
      const auto* bits = trees.category_bits.data() + 8 * static_cast<std::size_t>(step.threshold);
      const bool missing_left = step.column & StepNode::kMissingLeft;
      return step.left + !(code == kMissingCode ? missing_left : has_bit(bits, code));
    }
  }
  return step.left + (static_cast<double>(x) > step.threshold);
}

// Follows each path to its leaf. Rows are `stride` apart, or 0 if they are the same one.
template <bool kCategories, class T>
void walk(const StepTrees& trees, const T* rows, std::size_t stride, std::uint32_t mask,
          Nodes& node) {
  std::uint32_t moved;
  do {
    for (std::size_t s = 1; s < kStepsAtOnce; ++s)
      for (std::size_t i = 0; i < kWalkers; ++i)
        node[i] = next_node<kCategories>(trees, node[i], rows + i * stride, mask);
    moved = 0;
    for (std::size_t i = 0; i < kWalkers; ++i) {
      const std::uint32_t next = next_node<kCategories>(trees, node[i], rows + i * stride, mask);
      moved |= next ^ node[i];
      node[i] = next;
    }
  } while (moved);
}

template <class T>
void walk(const StepTrees& trees, const T* rows, std::size_t stride, std::uint32_t mask,
          Nodes& node) {
  if (trees.category_bits.empty())
    walk<false>(trees, rows, stride, mask, node);
  else
    walk<true>(trees, rows, stride, mask, node);
}

// Writes the leaf of each row of a block; there is room for whole groups of them.
template <class T>
void walk_block(const StepTrees& trees, std::uint32_t root, const StepBlock<T>& block,
                std::size_t n_rows, std::uint32_t* leaf) {
  for (std::size_t first = 0; first < n_rows; first += kWalkers) {
    Nodes node;
    node.fill(root);
    walk(trees, block.row(first), block.stride(), block.mask(), node);
    for (std::size_t i = 0; i < kWalkers; ++i) leaf[first + i] = trees.leaf_number(node[i]);
  }
}

}  // namespace hedgerow::predict
