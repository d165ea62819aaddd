// How features are sampled: of n features a fraction, those with the smallest hashes, the lower
// feature of equals. The hash of a feature is hash_at(key, feature).
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "shared/growth_params.hpp"
#include "shared/random.hpp"

namespace hedgerow {

// The size of a sample of n features: rounded to the nearest number, and at least one.
inline std::size_t feature_sample_size(double fraction, std::size_t n) {
  const double size = std::floor(fraction * static_cast<double>(n) + 0.5);
  return static_cast<std::size_t>(size > 1.0 ? size : 1.0);
}

// The keys of the features of a tree, of a level of it, and of a node, which is known by the key of
// its path (root_key, child_key).
constexpr std::uint64_t tree_features_key(std::uint64_t seed, std::uint64_t tree_id) {
  return hash_key(seed, Purpose::tree_features, tree_id);
}
constexpr std::uint64_t level_features_key(std::uint64_t seed, std::uint64_t tree_id, int depth) {
  const std::uint64_t level = root_key(tree_id) + static_cast<std::uint64_t>(depth);
  return hash_key(seed, Purpose::level_features, level);
}
constexpr std::uint64_t node_features_key(std::uint64_t seed, std::uint64_t path) {
  return hash_key(seed, Purpose::node_features, path);
}

}  // namespace hedgerow
