// Trees with few different tests, such as symmetric ones: the Shapley values of such a tree depend
// on the outcomes of its tests alone. They are the bits of a number, an entry, and the values of
// each entry are computed once. A row then costs a comparison for each test and an addition for
// each player of the tree.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/compiler.hpp"
#include "explain/shap_trees.hpp"
#include "explain/shap_walk.hpp"

namespace hedgerow::explain::inline HEDGEROW_LEVEL {

inline std::size_t n_table_values(const ShapTrees& trees, const ShapTree& tree) {
  return tree.tests->n_entries() * tree.seats.size() * trees.n_values;
}

// Whether it takes less time to compute the table of a tree than the values of all rows.
inline bool is_table_worthwhile(const ShapTree& tree, std::size_t n_rows) {
  return tree.tests && 2 * tree.tests->n_entries() <= n_rows;
}

// Fills entries [first, last) of the table of a tree, which has the values of a player one after
// another: those of a seat follow those of the seat before.
inline void fill_table(const ShapTrees& trees, const ShapTree& tree, const TreeNumbers& numbers,
                       std::size_t first, std::size_t last, double* table) {
  const predict::FewTests& tests = *tree.tests;
  const std::size_t n_entries = tests.n_entries();
  std::vector<RowMasks> left(tests.node.size());
  BlockWalk walk(trees);
  for (; first < last; first += kRowLanes) {
    for (std::size_t t = 0; t < left.size(); ++t)
      for (std::size_t i = 0; i < kRowLanes; ++i)
        left[t].set(i, -std::int64_t{!((first + i) >> t & 1)});
    walk.walk(tree, numbers, [&](std::size_t node) { return left[tests.test_of[node]]; });
    for (std::size_t k = 0; k < trees.n_values; ++k)
      for (std::size_t seat = 0; seat < tree.seats.size(); ++seat)
        for (std::size_t i = 0, n = std::min(kRowLanes, last - first); i < n; ++i)
          table[(k * tree.seats.size() + seat) * n_entries + first + i] = walk.gained(k, seat)[i];
  }
}

// The entries of rows.
inline void find_entries(const ShapTrees& trees, const ShapTree& tree, const ShapColumns& columns,
                         std::size_t n_rows, std::uint8_t* left, std::uint16_t* entry) {
  std::fill_n(entry, n_rows, std::uint16_t{0});
  const std::vector<std::size_t>& nodes = tree.tests->node;
  for (std::size_t t = 0; t < nodes.size(); ++t) {
    const ShapTest& test = trees.tests[tree.root + nodes[t]];
    goes_left(trees, test, columns.column(test.feature), n_rows, left);
    for (std::size_t i = 0; i < n_rows; ++i)
      entry[i] = static_cast<std::uint16_t>(entry[i] | (left[i] ^ 1u) << t);
  }
}

// Adds the values of rows to `values`, in which those of a player are `stride` after those of the
// player before, and those of an output follow.
inline void add_table(const ShapTrees& trees, const ShapTree& tree, const double* table,
                      const std::uint16_t* entry, std::size_t n_rows, double* values,
                      std::size_t stride) {
  for (std::size_t k = 0; k < trees.n_values; ++k) {
    const std::size_t output = static_cast<std::size_t>(tree.output) + k;
    for (const std::uint32_t player : tree.seats) {
      double* of_player = values + (output * trees.players.size() + player) * stride;
      for (std::size_t i = 0; i < n_rows; ++i) of_player[i] += table[entry[i]];
      table += tree.tests->n_entries();
    }
  }
}

}  // namespace hedgerow::explain::inline HEDGEROW_LEVEL
