#include "tree/allowed_features.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/feature_sampling.hpp"

namespace hedgerow {
namespace {

std::vector<int> sample(const std::vector<int>& features, double fraction, std::uint64_t key) {
  const std::size_t size = feature_sample_size(fraction, features.size());
  if (size >= features.size()) return features;
  std::vector<std::pair<std::uint64_t, int>> ranked;
  ranked.reserve(features.size());
  for (const int feature : features) {
    ranked.emplace_back(hash_at(key, static_cast<std::uint64_t>(feature)), feature);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> sampled(size);
  for (std::size_t i = 0; i < size; ++i) sampled[i] = ranked[i].second;
  std::sort(sampled.begin(), sampled.end());
  return sampled;
}

bool holds_all(const std::vector<int>& group, const std::vector<int>& features) {
  return std::includes(group.begin(), group.end(), features.begin(), features.end());
}

std::vector<int> in_both(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// Those of `features` that may be tested below a path with the features `tested`.
std::vector<int> that_may_follow(const std::vector<int>& features, const std::vector<int>& tested,
                                 const Interactions& interactions) {
  const auto most = static_cast<std::size_t>(interactions.most_features);
  if (most > 0 && tested.size() >= most) return in_both(features, tested);
  if (interactions.groups.empty()) return features;
  std::vector<int> may_meet;
  for (const std::vector<int>& group : interactions.groups) {
    if (holds_all(group, tested)) may_meet.insert(may_meet.end(), group.begin(), group.end());
  }
  std::sort(may_meet.begin(), may_meet.end());
  return in_both(features, may_meet);
}

}  // namespace

std::vector<int> sample_tree_features(const std::vector<int>& features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id) {
  return sample(features, fraction, tree_features_key(seed, tree_id));
}

std::vector<int> allowed_features(const GrowthParams& params, const Interactions& interactions,
                                  const std::vector<int>& features_of_tree, const NodePath& path) {
  std::vector<int> features = sample(features_of_tree, params.colsample_bylevel,
                                     level_features_key(params.seed, path.tree_id, path.depth));
  if (interactions.any()) features = that_may_follow(features, path.tested, interactions);
  return sample(features, params.colsample_bynode, node_features_key(params.seed, path.key));
}

}  // namespace hedgerow
