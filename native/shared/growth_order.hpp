// In which order the leaves of a tree are split, and when a tree is full: the rules of every
// histogram engine, whether it splits one leaf after another or many at once.
//
// Leaves are split one after another by is_after, whose order is total, until none has a split that
// gains or the tree has most_leaves(params) leaves. The children of a leaf get the next two node
// numbers when it is split, the left one first.
#pragma once
#include <bit>
#include <cstdint>

#include "shared/growth_params.hpp"

namespace hedgerow {

inline constexpr int kMaxLeaves = 65535;  // leaf numbers of rows are 16 bits wide

inline int most_leaves(const GrowthParams& params) {
  if (params.max_leaves <= 0 || params.max_leaves > kMaxLeaves) return kMaxLeaves;
  return static_cast<int>(params.max_leaves);
}

// The levels of a symmetric tree: as many as max_depth permits, and the leaves if all of a level
// are divided.
inline int most_levels(const GrowthParams& params) {
  const int by_leaves = std::bit_width(static_cast<unsigned>(most_leaves(params))) - 1;
  if (params.max_depth <= 0 || params.max_depth > by_leaves) return by_leaves;
  return static_cast<int>(params.max_depth);
}

// What decides when a leaf is split.
struct LeafRank {
  double weighted_gain;  // of its best split
  int depth;
  int node;
};

// Whether a is split after b: leaf-wise the larger gain comes first, level-wise the lower depth; of
// equals the lower node.
inline bool is_after(const GrowthParams& params, const LeafRank& a, const LeafRank& b) {
  if (params.is_leafwise()) {
    return a.weighted_gain != b.weighted_gain ? a.weighted_gain < b.weighted_gain : a.node > b.node;
  }
  return a.depth != b.depth ? a.depth > b.depth : a.node > b.node;
}

}  // namespace hedgerow
