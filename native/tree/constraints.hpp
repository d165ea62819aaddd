// Constraints on trees: which features may interact, the weight of each feature when splits are
// compared, and monotonic constraints.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hedgerow {

// Which features may be tested on the same path (allowed_features.hpp). Lists of features are
// increasing.
struct Interactions {
  std::vector<std::vector<int>>
      groups;             // the features of a path belong to one group; empty: no limit
  int most_features = 0;  // maximum number of features on a path; 0: no limit

  bool any() const { return !groups.empty() || most_features > 0; }
};

struct Constraints {
  Interactions interactions;
  std::vector<double> feature_weights;  // empty: all 1
  // Monotonic constraints: 1 for increasing, −1 for decreasing, 0 for none; empty: all
  // 0.
  std::vector<std::int8_t> directions;

  bool are_monotone() const { return !directions.empty(); }
  int direction(std::size_t feature) const { return directions.empty() ? 0 : directions[feature]; }
  double weight(std::size_t feature) const {
    return feature_weights.empty() ? 1.0 : feature_weights[feature];
  }
  // The features that trees may use: those with a positive weight.
  std::vector<int> usable(int n_features) const {
    std::vector<int> features;
    for (int feature = 0; feature < n_features; ++feature) {
      if (weight(static_cast<std::size_t>(feature)) > 0.0) features.push_back(feature);
    }
    return features;
  }
};

}  // namespace hedgerow
