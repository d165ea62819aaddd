// What a user forbids or favours: features that may not meet on a path, the weight of each feature
// when splits compete, and whether the tree must rise or fall with it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hedgerow {

// Which features may be tested on the way to the same leaf. Lists of features are increasing.
struct Interactions {
  std::vector<std::vector<int>> groups;  // a path's features all belong to one; none: no limit
  int most_features = 0;                 // different features on a path, at most; 0: no limit

  bool any() const { return !groups.empty() || most_features > 0; }

  // Those of `features` that may be tested below a path on which `tested` have been.
  std::vector<int> allowed(const std::vector<int>& features, const std::vector<int>& tested) const;
};

struct Constraints {
  Interactions interactions;
  std::vector<double> feature_weights;  // empty: all 1
  // 1 for a feature with which values may not fall, −1 for one with which they may not rise, else
  // 0; empty: all 0.
  std::vector<std::int8_t> directions;

  bool are_monotone() const { return !directions.empty(); }
  int direction(std::size_t feature) const { return directions.empty() ? 0 : directions[feature]; }
  double weight(std::size_t feature) const {
    return feature_weights.empty() ? 1.0 : feature_weights[feature];
  }
  // The features that trees may use at all: a weight of 0 forbids one.
  std::vector<int> usable(int n_features) const;
};

}  // namespace hedgerow
