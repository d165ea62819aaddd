#include "tree/feature_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hedgerow {

std::vector<int> sample_features(std::vector<int> features, double fraction, std::uint64_t seed,
                                 Purpose purpose, std::uint64_t key) {
  const auto size = static_cast<std::size_t>(
      std::max(1.0, std::floor(fraction * static_cast<double>(features.size()) + 0.5)));
  if (size >= features.size()) return features;
  std::vector<std::pair<std::uint64_t, int>> ranked;
  ranked.reserve(features.size());
  for (const int feature : features) {
    ranked.emplace_back(hash_u64(seed, purpose, key, static_cast<std::uint64_t>(feature)), feature);
  }
  std::sort(ranked.begin(), ranked.end());
  features.resize(size);
  for (std::size_t i = 0; i < size; ++i) features[i] = ranked[i].second;
  std::sort(features.begin(), features.end());
  return features;
}

std::vector<int> sample_tree_features(std::vector<int> features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id) {
  return sample_features(std::move(features), fraction, seed, Purpose::tree_features, tree_id);
}

}  // namespace hedgerow
