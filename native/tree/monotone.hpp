// Monotonic constraints: which leaves of a tree bound each other's values, and by how much.
//
// A leaf is a box: an interval or a set of categories of each feature, possibly with the missing
// value. Two leaves touch in a constrained feature f if the interval of f of one starts where that
// of the other ends, and if in every other feature some value (possibly the missing one) belongs to
// both. The values of leaves that touch in f must be ordered as f demands, and that is sufficient:
//
//   A tree is monotone in f if and only if the values of all leaves that touch in f are ordered.
//   Proof: take x and x' that differ in f alone, neither missing. The leaves along the line from
//   one to the other touch one after another, as the line's other coordinates belong to both; so
//   their values increase, or decrease, along the line. Conversely, leaves that touch have such a
//   line.
//
// A split divides the box of one leaf, so the touches of its children are among its own. During
// growth values are always ordered: that of a new leaf stays within the limits set by the leaves it
// touches. After growth, all values are chosen again, jointly optimal (isotonic.hpp).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tree/isotonic.hpp"

namespace hedgerow {

// The interval of a value.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  double clamp(double value) const { return value < low ? low : value > high ? high : value; }
};

// A split of a box. Numbers are in any units that preserve their order, the same for all splits of
// a feature. A set of categories is eight words: bit b & 31 of word b >> 5 is category b.
struct BoxSplit {
  int feature;
  double end;  // numbers up to it go left; infinite: all
  bool missing_left;
  bool categorical;
  const std::uint32_t* categories;  // those that go left
};

// Candidate thresholds of a leaf on a numeric feature, increasing.
struct ThresholdSeries {
  std::size_t count;
  std::function<double(std::size_t)> end;  // of a threshold, as above
  bool takes_all;                          // whether all numbers go left at the last one
  std::size_t missing_left_from;           // from this index on missing values go left

  std::size_t first_from(double number) const;    // the first at or above the number
  std::size_t first_beyond(double number) const;  // the first above the number
};

// The limits of one child for each threshold of a series, padded with eight copies of the last.
struct LimitSeries {
  static constexpr std::size_t kMost = 512;
  alignas(64) double low[kMost + 8];
  alignas(64) double high[kMost + 8];

  Limits operator[](std::size_t i) const { return {low[i], high[i]}; }
  void fill(std::size_t count, const Limits& limits);
  void tighten(std::size_t i, double value, bool is_upper);
  void pass_up(std::size_t count);
  void pass_down(std::size_t count);
};

// The limits of both children.
struct SideLimits {
  Limits left, right;
};
struct SplitLimits {
  LimitSeries left, right;

  SideLimits operator[](std::size_t i) const { return {left[i], right[i]}; }
};

// The leaves of a growing tree, by node number.
class MonotoneLeaves {
 public:
  // Starts with a root. `directions` as in constraints.hpp; `widest` are the limits of all values.
  void plant(std::span<const std::int8_t> directions, const Limits& widest, double value);

  // Replaces a leaf by its children, whose values are clipped to their limits.
  void split(int node, const BoxSplit& split, int left, int right, double left_value,
             double right_value);
  double value(int node) const { return leaf(node).value; }

  int direction(int feature) const { return directions_[static_cast<std::size_t>(feature)]; }
  // Whether the best split of a leaf on a feature is subject to limits.
  bool matters(int node, int feature) const;
  Limits limits(int node) const;
  // Computes the limits of the children for each threshold.
  void limit_splits(int node, int feature, const ThresholdSeries& cuts, SplitLimits& limits) const;
  // The limits if these categories go left and everything else right.
  SideLimits limit_sets(int node, int feature, const std::uint32_t* left) const;

  // The leaves whose limits depend on a leaf's value.
  std::vector<int> touching(int node) const;
  // Which values must not exceed which, as indices into `nodes`, a list of all leaves.
  std::vector<Link> links(std::span<const int> nodes) const;

 private:
  using CategorySet = std::array<std::uint32_t, 8>;

  // The values in a leaf of a feature that was tested on the path to it.
  struct Extent {
    int feature;
    double low, high;  // numbers above low, up to high
    bool missing;
    CategorySet categories;

    bool holds_numbers() const { return low < high; }
  };
  // Another leaf, and the feature in which it touches.
  struct Touch {
    int node;
    int feature;
    bool is_upper;  // whether its value is an upper limit; else it is a lower limit
  };
  struct LeafBox {
    double value = std::numeric_limits<double>::quiet_NaN();  // no limit until it is set
    std::vector<Extent> extents;
    std::vector<Touch> touches;
  };

  LeafBox& leaf(int node) { return leaves_[static_cast<std::size_t>(node)]; }
  const LeafBox& leaf(int node) const { return leaves_[static_cast<std::size_t>(node)]; }
  const Extent* extent(int node, int feature) const;
  bool overlap(int node, int other, int feature) const;
  static bool shares_rest(const Extent* mine, const Extent& its, const std::uint32_t* left);
  std::pair<std::size_t, std::size_t> reach(int node, const Touch& touch, int feature,
                                            const ThresholdSeries& cuts) const;
  std::vector<Extent> child_extents(const LeafBox& parent, const BoxSplit& split,
                                    bool is_left) const;
  bool inherits(const Touch& touch, const BoxSplit& split, int left, int right, bool is_left) const;
  void connect(int lower, int upper, int feature);
  bool split_box(int node, const BoxSplit& split, int left, int right);

  std::span<const std::int8_t> directions_;
  Limits widest_;
  std::vector<LeafBox> leaves_;
};

// The splits of a grown tree, in the arrays of docs/architecture.md.
struct TreeSplits {
  std::span<const std::int32_t> feature, left, right, category_set;
  std::span<const double> threshold;
  std::span<const bool> missing_left;
  std::span<const std::uint32_t> category_bits;
};

// Which leaf values must not exceed which, by node number.
std::vector<Link> monotone_links(const TreeSplits& tree, std::span<const std::int8_t> directions);

// A leaf whose best split is searched within limits; no limits if `leaves` is null.
struct LimitedLeaf {
  const MonotoneLeaves* leaves = nullptr;
  int node = 0;

  bool matters(int feature) const { return leaves && leaves->matters(node, feature); }
};

}  // namespace hedgerow
