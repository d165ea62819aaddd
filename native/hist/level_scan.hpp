// The tests that all leaves of a level could share, and what the level gains by each: the sum of
// the gains of its leaves. A leaf with a side too small for a child gains nothing, because it is
// not divided.
//
// The tests of a feature follow from the root of the tree: thresholds after each bin, with missing
// values on the right and, if the root has any, on the left; sets of categories by the order of all
// rows. Leaves add their gains one after another. Sums of doubles depend on that order, so it is
// the order of the leaves in the level, for every feature and any number of threads.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "hist/engine.hpp"
#include "hist/split.hpp"
#include "shared/bins.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "shared/objective.hpp"
#include "shared/split_rule.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

// Working memory of a thread: what each test of a feature sends left.
struct alignas(64) LeftSums {
  std::int64_t g[kBins];
  std::uint64_t hc[kBins];

  void set(int test, const GradientSum& left) {
    g[test] = left.g;
    hc[test] = left.hc;
  }
};

// Limits and penalties in the histogram's integer units, so that sums need no conversion.
struct LevelUnits {
  FixedPoint fixed;
  ChildMinimum minimum;
  Penalties penalties, of_sorted;  // with cat_l2, for sorted categories
  bool is_plain;                   // no penalty but λ, and no denominator is zero

  LevelUnits(const GrowthParams& params, const FixedPoint& fixed_point);
};

// A leaf of the level, large enough to be divided.
struct LevelLeaf {
  GradientSum sum;
  double score;  // in the histogram's units
};

// What a test does to a leaf.
struct LeafDivision {
  Split split;  // not found() if a side is too small
  GradientSum left, missing, sum;
};

class LevelScan {
 public:
  // All arguments must outlive the scan.
  LevelScan(const GrowthParams& params, const Constraints& constraints,
            std::span<const std::int32_t> n_bins);

  // Starts a tree.
  void begin(const FixedPoint& fixed) { units_.emplace(params_, fixed); }
  LevelLeaf leaf(const GradientSum& sum) const;
  // The best test of some features for the leaves of a search. visit_features(use) calls
  // use(feature) for each of them, visit_leaf(i, allowed, use) calls use(histogram) for those of
  // the allowed ones that can divide leaf i.
  template <class VisitFeatures, class VisitLeaf>
  Split best_test(const LevelSearch& search, std::span<const LevelLeaf> leaves, LeftSums& room,
                  VisitFeatures visit_features, VisitLeaf visit_leaf) {
    const bool is_root = search.leaves.front() == 0;
    if (is_root) visit_leaf(0, AllowedFeatures{}, [&](const auto& root) { list_tests(root); });
    const auto visit_allowed = [&](auto use) {
      visit_features([&](std::size_t feature) {
        if (search.allowed[feature]) use(feature);
      });
    };
    visit_allowed([&](std::size_t feature) { clear(feature); });
    double score = 0.0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      score += leaves[i].score;
      visit_leaf(i, search.allowed,
                 [&](const auto& histogram) { add(leaves[i], histogram, room); });
    }
    Split best;
    visit_allowed([&](std::size_t feature) { offer(feature, score, best); });
    return best;
  }

  // What a test does to a leaf, given the histogram of its feature there. The gain of the split is
  // the leaf's own, in which min_split_gain has no part.
  LeafDivision divide(const LevelLeaf& leaf, const Split& test,
                      const FeatureHistogram& histogram) const;
  // Sets what all leaves together decide about a test; returns the splits of the leaves.
  std::vector<Split> complete(Split& test, std::span<const LeafDivision> leaves, int n_bins) const;

 private:
  // Lists the tests of a feature, of which this is the histogram in the root.
  void list_tests(const FeatureHistogram& root);
  // Starts the sums of a feature in a level.
  void clear(std::size_t feature);
  // Adds what a leaf gains by each test of a feature.
  void add(const LevelLeaf& leaf, const FeatureHistogram& histogram, LeftSums& room);
  // Replaces `best` if a test of the feature gains more. `score` is the sum of the leaves' scores:
  // what is less than its rounding error is no gain.
  void offer(std::size_t feature, double score, Split& best) const;

  // The tests of a feature, of two kinds: thresholds with missing values on the right, then those
  // with missing values on the left; the first categories of an order, then the last.
  struct Tests {
    bool has_missing = false, is_categorical = false;
    bool is_sorted = false;  // categories: otherwise each is one test
    double weight = 1.0;     // of the feature
    std::array<int, 2> count = {};
    std::vector<std::uint8_t> order = {};  // of categories

    int category(int i, std::size_t kind) const {
      return order[kind == 0 ? static_cast<std::size_t>(i)
                             : order.size() - 1 - static_cast<std::size_t>(i)];
    }
  };
  struct Chosen {
    int test = -1;
    std::size_t kind = 0;
    double gain;  // in the histogram's units
  };

  const FixedPoint& fixed() const { return units_->fixed; }
  double* gains(std::size_t feature, std::size_t kind) const {
    return gains_.get() + first_[2 * feature + kind];
  }
  void list_sets(const FeatureHistogram& root, Tests& tests) const;
  void add_thresholds(const LevelLeaf& leaf, const FeatureHistogram& histogram, LeftSums& room);
  void add_categories(const LevelLeaf& leaf, const FeatureHistogram& histogram, LeftSums& room);
  Chosen best_of(std::size_t feature, double least) const;
  Split split(std::size_t feature, const Chosen& chosen) const;

  const GrowthParams& params_;
  const Constraints& constraints_;
  std::vector<std::size_t> first_;   // where the gains of each feature and kind begin, and the end
  Buffer<double> gains_;             // by test, in the histogram's units
  std::vector<Tests> tests_;         // of each feature
  std::optional<LevelUnits> units_;  // of the tree being grown
};

}  // namespace hedgerow::hist
