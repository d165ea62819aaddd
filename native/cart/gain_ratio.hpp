// C4.5's choice among the best splits of a node's features (Quinlan, 1993). Information gain
// favours features with many values. C4.5 therefore divides it by the split information, the
// entropy of the sides' weights; and as that is close to 0 for very uneven splits, only features
// whose gain is at least the average take part.
#pragma once
#include <cstddef>
#include <vector>

#include "cart/candidate_search.hpp"

namespace hedgerow::cart {

class GainRatios {
 public:
  void clear() { gain_.clear(), ratio_.clear(); }

  // Adds the best split of a feature, of a node of this weight.
  void add(double gain, double left_weight, double weight) {
    const double right_weight = weight - left_weight;
    const double split_information = x_log_x(weight) - x_log_x(left_weight) - x_log_x(right_weight);
    gain_.push_back(gain);
    ratio_.push_back(gain / split_information);
  }

  // The index of the best split, the first of equals; there must be one.
  std::size_t best() const {
    double mean = 0.0;
    for (const double gain : gain_) mean += gain / static_cast<double>(gain_.size());
    std::size_t best = 0;
    double ratio = kNoScore;
    for (std::size_t i = 0; i < gain_.size(); ++i) {
      if (beats(mean, gain_[i]) || !beats(ratio_[i], ratio)) continue;
      best = i;
      ratio = ratio_[i];
    }
    return best;
  }

  bool empty() const { return gain_.empty(); }

 private:
  std::vector<double> gain_, ratio_;
};

}  // namespace hedgerow::cart
