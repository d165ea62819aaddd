#include "tree/constraints.hpp"

#include <algorithm>
#include <iterator>

namespace hedgerow {
namespace {

bool holds_all(const std::vector<int>& group, const std::vector<int>& features) {
  return std::includes(group.begin(), group.end(), features.begin(), features.end());
}

std::vector<int> in_both(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

std::vector<int> Interactions::allowed(const std::vector<int>& features,
                                       const std::vector<int>& tested) const {
  if (most_features > 0 && tested.size() >= static_cast<std::size_t>(most_features)) {
    return in_both(features, tested);
  }
  if (groups.empty()) return features;
  std::vector<int> may_meet;
  for (const std::vector<int>& group : groups) {
    if (holds_all(group, tested)) may_meet.insert(may_meet.end(), group.begin(), group.end());
  }
  std::sort(may_meet.begin(), may_meet.end());
  return in_both(features, may_meet);
}

std::vector<int> Constraints::usable(int n_features) const {
  std::vector<int> features;
  for (int feature = 0; feature < n_features; ++feature) {
    if (weight(static_cast<std::size_t>(feature)) > 0.0) features.push_back(feature);
  }
  return features;
}

}  // namespace hedgerow
