// The features that a tree, a level or a node may use: drawn by hashes, so that every engine draws
// the same.
#pragma once
#include <cstdint>
#include <vector>

#include "shared/random.hpp"

namespace hedgerow {

// A fraction of `features`, at least one, with the smallest hashes; in increasing order, as
// `features` are.
std::vector<int> sample_features(std::vector<int> features, double fraction, std::uint64_t seed,
                                 Purpose purpose, std::uint64_t key);

// Those that a tree may use.
std::vector<int> sample_tree_features(std::vector<int> features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id);

}  // namespace hedgerow
