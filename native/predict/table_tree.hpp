// The table form of a tree with few different tests, such as a symmetric tree, in which all nodes
// of a level share one: the outcomes of the tests are the bits of a number, by which the leaf is
// looked up. A test costs a comparison of bytes for all rows of a block, and no test is made twice,
// however many nodes have it.
//
// Codes and their columns are those of the flat form (flat_tree.hpp).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "predict/flat_tree.hpp"
#include "predict/predictor.hpp"

namespace hedgerow::predict {

inline constexpr std::size_t kMaxTableTests = 12;     // 32 KiB of values
inline constexpr std::size_t kMaxEntriesPerLeaf = 4;  // of a table of more than 256 entries

// The different tests of a tree, each represented by a node that has it, and the number of the test
// of each inner node.
struct FewTests {
  std::vector<std::size_t> node;
  std::vector<std::uint8_t> test_of;

  std::size_t n_entries() const { return std::size_t{1} << node.size(); }
  // Whether the number of an entry needs more than a byte.
  bool is_wide() const { return node.size() > 8; }
};

inline bool have_same_test(const TreeArrays& tree, std::size_t a, std::size_t b) {
  if (tree.feature[a] != tree.feature[b] || tree.missing_left[a] != tree.missing_left[b] ||
      tree.is_categorical(a) != tree.is_categorical(b)) {
    return false;
  }
  if (!tree.is_categorical(a)) return tree.threshold[a] == tree.threshold[b];
  return std::equal(tree.bits(a), tree.bits(a) + 8, tree.bits(b));
}

// The tests of a tree, if there are at most kMaxTableTests.
inline std::optional<FewTests> distinct_tests(const TreeArrays& tree) {
  FewTests tests{{}, std::vector<std::uint8_t>(tree.n_nodes)};
  for (std::size_t node = 0; node < tree.n_nodes; ++node) {
    if (tree.is_leaf(node)) continue;
    const auto same = std::find_if(tests.node.begin(), tests.node.end(), [&](std::size_t other) {
      return have_same_test(tree, node, other);
    });
    tests.test_of[node] = static_cast<std::uint8_t>(same - tests.node.begin());
    if (same != tests.node.end()) continue;
    if (tests.node.size() == kMaxTableTests) return std::nullopt;
    tests.node.push_back(node);
  }
  return tests;
}

// The same, if nodes share them.
inline std::optional<FewTests> few_tests(const TreeArrays& tree) {
  std::optional<FewTests> tests = distinct_tests(tree);
  const std::size_t n_inner = tree.n_nodes / 2, n_leaves = n_inner + 1;
  if (!tests || tests->node.size() == n_inner) return std::nullopt;
  if (tests->is_wide() && tests->n_entries() > kMaxEntriesPerLeaf * n_leaves) return std::nullopt;
  return tests;
}

// The leaf of each entry: bit t of its number is whether test t goes right.
inline std::vector<std::size_t> leaves_of_entries(const TreeArrays& tree, const FewTests& tests) {
  std::vector<std::size_t> leaves(tests.n_entries());
  for (std::size_t entry = 0; entry < leaves.size(); ++entry) {
    std::size_t node = 0;
    while (!tree.is_leaf(node)) {
      const bool right = entry >> tests.test_of[node] & 1;
      node = static_cast<std::size_t>(right ? tree.right[node] : tree.left[node]);
    }
    leaves[entry] = node;
  }
  return leaves;
}

// Adds the tests of a tree to `trees`, as nodes without children, in the order of their bits.
template <class Locate>
FlatTree list_tests(const TreeArrays& tree, const FewTests& tests, std::size_t n_features,
                    const Locate& locate, FlatTrees& trees) {
  FlatTree flat{trees.nodes.size(), 0, trees.tests.size(), 0};
  for (const std::size_t node : tests.node) {
    trees.nodes.push_back(flat_test(tree, node, n_features, locate(node), flat, trees));
  }
  flat.node_end = trees.nodes.size();
  flat.test_end = trees.tests.size();
  return flat;
}

}  // namespace hedgerow::predict
