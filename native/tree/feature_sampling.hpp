// Feature sampling for trees, levels and nodes: by hashes, so that every engine samples the
// same.
#pragma once
#include <cstdint>
#include <vector>

#include "shared/random.hpp"

namespace hedgerow {

// A fraction of `features`, at least one: those with the smallest hashes, in increasing order, as
// `features` are.
std::vector<int> sample_features(std::vector<int> features, double fraction, std::uint64_t seed,
                                 Purpose purpose, std::uint64_t key);

// The features that a tree may use.
std::vector<int> sample_tree_features(std::vector<int> features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id);

}  // namespace hedgerow
