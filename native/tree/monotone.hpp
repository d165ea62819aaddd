// Monotone constraints: which leaves of a tree bound each other's values, and how far.
//
// A leaf is a box: of each feature an interval, or a set of categories, and perhaps the missing
// value. Two leaves touch in a constrained feature f if one's interval of f begins where the
// other's ends, and in every other feature there is a value (the missing one counts) that is in
// both. The values of leaves that touch in f must be ordered as f demands, and that is all:
//
//   A tree is monotone in f if and only if the values of all leaves that touch in f are ordered.
//   For take x and x' that differ in f alone, both known. On the line from one to the other lie
//   leaves in turn, each of which touches the next, as the line's other coordinates are in both;
//   so their values rise, or fall, along the line. And leaves that touch have such a line.
//
// A split parts the box of one leaf, so its children's touches are found among its own. While a
// tree grows the values are always ordered: a new leaf's is kept within the limits that those it
// touches set. Once it is grown, all values are chosen anew, the best together (isotonic.hpp).
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

// Where a value must lie.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  double clamp(double value) const { return value < low ? low : value > high ? high : value; }
};

// A split as boxes see it. Numbers are in any units that keep their order, the same for all splits
// of a feature. Of a set of categories, bit b & 31 of word b >> 5 is category b, of eight words.
struct BoxSplit {
  int feature;
  double end;  // numbers up to it go left; infinite: all
  bool missing_left;
  bool categorical;
  const std::uint32_t* categories;  // those that go left
};

// Cuts of a leaf on a numeric feature that are tried together, ascending.
struct ThresholdSeries {
  std::size_t count;
  std::function<double(std::size_t)> end;  // of a cut, as above
  bool takes_all;                          // whether the last one leaves no number on the right
  std::size_t missing_left_from;           // from this one on missing values go left

  std::size_t first_from(double number) const;    // the first with an end no less than the number
  std::size_t first_beyond(double number) const;  // the first with a larger end
};

// The limits of one child for each cut of a series, followed by eight times the last.
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

// The leaves of a tree that is being grown, by the numbers of their nodes.
class MonotoneLeaves {
 public:
  // Begins with a root. `directions` as in constraints.hpp; `widest` is what all values lie within.
  void plant(std::span<const std::int8_t> directions, const Limits& widest, double value);

  // Replaces a leaf by its children. Their values are the ones given, as far as limits allow.
  void split(int node, const BoxSplit& split, int left, int right, double left_value,
             double right_value);
  double value(int node) const { return leaf(node).value; }

  int direction(int feature) const { return directions_[static_cast<std::size_t>(feature)]; }
  // Whether the best split of a leaf on a feature must be looked for within limits.
  bool matters(int node, int feature) const;
  Limits limits(int node) const;
  // Within what the children of each cut must stay.
  void limit_splits(int node, int feature, const ThresholdSeries& cuts, SplitLimits& limits) const;
  // If these categories go left, and all else right.
  SideLimits limit_sets(int node, int feature, const std::uint32_t* left) const;

  // The leaves whose limits depend on a leaf's value.
  std::vector<int> touching(int node) const;
  // Which values may not exceed which, as places in `nodes`, a list of all leaves.
  std::vector<Link> links(std::span<const int> nodes) const;

 private:
  using CategorySet = std::array<std::uint32_t, 8>;

  // What a leaf holds of a feature that was tested on the way to it.
  struct Extent {
    int feature;
    double low, high;  // of numbers: those above low, up to high
    bool missing;
    CategorySet categories;

    bool holds_numbers() const { return low < high; }
  };
  // Another leaf, and the feature in which it touches.
  struct Touch {
    int node;
    int feature;
    bool is_upper;  // whether its value may not be exceeded; else it may not exceed
  };
  struct LeafBox {
    double value = std::numeric_limits<double>::quiet_NaN();  // limits nothing until it is set
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

// A grown tree, node by node as docs/architecture.md describes it.
struct TreeSplits {
  std::span<const std::int32_t> feature, left, right, category_set;
  std::span<const double> threshold;
  std::span<const bool> missing_left;
  std::span<const std::uint32_t> category_bits;
};

// Which leaves' values may not exceed which, by the numbers of their nodes.
std::vector<Link> monotone_links(const TreeSplits& tree, std::span<const std::int8_t> directions);

// A leaf whose best split is looked for within limits; without `leaves` there are none.
struct LimitedLeaf {
  const MonotoneLeaves* leaves = nullptr;
  int node = 0;

  bool matters(int feature) const { return leaves && leaves->matters(node, feature); }
};

}  // namespace hedgerow
