// Which features a node may use: those of its tree; of these, those of its level; of these, those
// that may be tested below its path; and of these, those sampled for the node itself.
//
// A sample consists of the features with the smallest hashes. The node is known by the path to it,
// not by its number, which depends on the order of splits: so every engine samples the same
// features, and a node can be searched before it is certain that its parent will be split.
#pragma once
#include <cstdint>
#include <vector>

#include "shared/growth_params.hpp"
#include "tree/constraints.hpp"

namespace hedgerow {

// The features that a tree may use: a fraction of `features`, at least one. Lists of features are
// increasing.
std::vector<int> sample_tree_features(const std::vector<int>& features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id);

struct NodePath {
  std::uint64_t tree_id;
  std::uint64_t key;  // by root_key and child_key
  int depth;
  std::vector<int> tested;  // the features tested on the way; used if interactions are limited
};

std::vector<int> allowed_features(const GrowthParams& params, const Interactions& interactions,
                                  const std::vector<int>& features_of_tree, const NodePath& path);

}  // namespace hedgerow
