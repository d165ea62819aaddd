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
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "hist/split.hpp"
#include "shared/bins.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
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
  // What is referred to must outlive the scan.
  LevelScan(const GrowthParams& params, const Constraints& constraints,
            std::span<const std::int32_t> n_bins);

  // Starts a tree.
  void begin(const FixedPoint& fixed) { fixed_ = fixed; }
  // Lists the tests of a feature, of which this is the histogram in the root.
  void list_tests(const FeatureHistogram& root);

  LevelLeaf leaf(const GradientSum& sum) const;
  // Starts the sums of a feature in a level.
  void clear(std::size_t feature);
  // Adds what a leaf gains by each test of a feature.
  void add(const LevelLeaf& leaf, const FeatureHistogram& histogram, LeftSums& room);
  // Replaces `best` if a test of the feature gains more. `score` is the sum of the leaves' scores:
  // what is less than its rounding error is no gain.
  void offer(std::size_t feature, double score, Split& best) const;

  // What a test does to a leaf, given the histogram of its feature there. The gain of the split is
  // the leaf's own, in which min_split_gain has no part.
  LeafDivision divide(const LevelLeaf& leaf, const Split& test,
                      const FeatureHistogram& histogram) const;
  // Completes a test, and the splits of its leaves, by what their rows leave open.
  void complete(Split& test, std::span<LeafDivision> leaves, int n_bins) const;

 private:
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
  std::vector<std::size_t> first_;  // where the gains of each feature and kind begin, and the end
  Buffer<double> gains_;            // by test, in the histogram's units
  std::vector<Tests> tests_;        // of each feature
  FixedPoint fixed_;                // of the tree being grown
};

}  // namespace hedgerow::hist
