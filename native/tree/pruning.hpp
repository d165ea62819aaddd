// Pruning after growth: a tree is grown without regard to γ, and then splits are cut from the
// bottom up. A split is cut if both of its children are leaves, by then, and it gains no more than
// γ. A split that gains little is kept if splits below it gain enough, which a minimum gain during
// growth would never find out: the first split of an exclusive or gains nothing.
#pragma once
#include <cstddef>
#include <vector>

namespace hedgerow {

// The nodes of a pruned tree, in the order of the tree before.
struct PrunedNodes {
  std::vector<int> kept;      // node before
  std::vector<int> number;    // of each node before; −1 if it was cut
  std::vector<bool> is_leaf;  // of each node before
};

// `left_of` and `right_of` a node are its children, −1 for a leaf, and come after it; `gain_of` a
// split includes −γ.
template <class Left, class Right, class Gain>
PrunedNodes prune(std::size_t n_nodes, Left left_of, Right right_of, Gain gain_of) {
  PrunedNodes nodes;
  nodes.is_leaf.resize(n_nodes);
  for (std::size_t i = n_nodes; i-- > 0;) {
    const auto left = static_cast<std::size_t>(left_of(i));
    const auto right = static_cast<std::size_t>(right_of(i));
    nodes.is_leaf[i] =
        left_of(i) < 0 || (nodes.is_leaf[left] && nodes.is_leaf[right] && gain_of(i) <= 0.0);
  }
  nodes.number.assign(n_nodes, -1);
  std::vector<bool> is_kept(n_nodes, false);
  is_kept[0] = true;
  for (std::size_t i = 0; i < n_nodes; ++i) {
    if (!is_kept[i]) continue;
    nodes.number[i] = static_cast<int>(nodes.kept.size());
    nodes.kept.push_back(static_cast<int>(i));
    if (nodes.is_leaf[i]) continue;
    is_kept[static_cast<std::size_t>(left_of(i))] = true;
    is_kept[static_cast<std::size_t>(right_of(i))] = true;
  }
  return nodes;
}

}  // namespace hedgerow
