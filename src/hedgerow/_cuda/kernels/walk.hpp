// Rows down a tree.
#pragma once
#include "state.hpp"

namespace hedgerow::cuda {

inline bool goes_left(const NodeTest& test, const uint32_t* categories, int bin) {
  if (bin == kMissingBin) return test.missing_left;
  return test.categorical ? categories[bin >> 5] >> (bin & 31) & 1 : bin <= test.bin;
}

// The leaf of a row of the training set, as a node; `tests` are those of the tree, or a copy.
inline int leaf_of(const TreeView& view, const NodeTest* tests, size_t row) {
  int node = 0;
  for (NodeTest test = tests[0]; test.feature >= 0; test = tests[node]) {
    const int bin =
        row_of(view.fit, test.feature / kGroupColumns, row)[test.feature % kGroupColumns];
    node = goes_left(test, view.nodes()[node].categories, bin) ? test.left : test.right;
  }
  return node;
}

}  // namespace hedgerow::cuda
