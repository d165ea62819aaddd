// Mean predictions of trees.
#pragma once
#include <cstddef>
#include <vector>

#include "predict/predictor.hpp"

namespace hedgerow::predict {

// The mean value of the leaves below each node, n_values per node; `share` is the fraction of the
// parent's rows in each node.
inline std::vector<double> node_means(const TreeArrays& tree, const double* share) {
  const std::size_t n_values = tree.n_values;
  std::vector<double> mean(tree.value, tree.value + tree.n_nodes * n_values);
  for (std::size_t node = tree.n_nodes; node-- > 0;) {  // children come after their parent
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]),
               right = static_cast<std::size_t>(tree.right[node]);
    for (std::size_t k = 0; k < n_values; ++k)
      mean[node * n_values + k] =
          share[left] * mean[left * n_values + k] + share[right] * mean[right * n_values + k];
  }
  return mean;
}

}  // namespace hedgerow::predict
