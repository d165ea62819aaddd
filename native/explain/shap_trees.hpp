// What the kernels of shap.hpp share: trees and how rows go through them, by places. A place stands
// for a feature, or a player, that some tree uses.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <vector>

#include "core/lanes.hpp"
#include "explain/quadrature.hpp"
#include "predict/codes.hpp"
#include "predict/linear_terms.hpp"
#include "predict/predictor.hpp"
#include "predict/table_tree.hpp"

namespace hedgerow::explain {

// A node's test; `feature` is a place.
struct ShapTest {
  double threshold;
  std::uint32_t feature;
  std::int32_t category_set;  // −1: a number is tested
  bool missing_left;
};

// The way to a child, in the order of a walk; `slot` is the child's depth. `previous` is the slot
// of the last edge of the same player on the way, 0 if there is none. Of all edges of the player so
// far: `share` is the product of their shares. `seat` is the player's number within the tree.
struct ShapEdge {
  std::uint32_t parent, child;
  std::uint32_t player, seat;
  std::uint32_t slot, previous;
  double own_share, share;
  bool is_right, is_leaf;
};

struct ShapTree {
  std::uint32_t root;  // among the nodes of all trees
  std::int32_t output;
  std::vector<ShapEdge> edges;
  // The walk: an edge's number as it is entered, and the same, negative less 1, when all below is
  // done. A leaf is entered only.
  std::vector<std::int32_t> steps;
  std::size_t n_slots = 1;
  std::size_t n_players = 0;           // on a way, at most
  std::vector<std::uint32_t> seats{};  // the players of the tree
  std::optional<predict::FewTests> tests{};
};

struct ShapTrees {
  std::size_t n_players, n_outputs, n_values;
  std::vector<std::size_t> features;  // of each place
  std::vector<std::size_t> players;   // of each place
  std::vector<ShapTest> tests;        // of all nodes
  std::vector<double> value;          // of all nodes
  std::vector<std::uint32_t> category_bits;
  std::vector<ShapTree> trees;
  std::vector<double> expected;
  std::vector<QuadratureRule> rules;  // by the number of points, those of some tree's longest way

  struct ShapSlopes {
    std::vector<std::int64_t> start;
    std::vector<std::uint32_t> feature, player;  // places
    std::vector<double> coefficient, centre, low, high;

    // The terms of a node.
    auto of_node(std::size_t node) const {
      const bool has_any = !start.empty();
      return std::views::iota(has_any ? static_cast<std::size_t>(start[node]) : 0,
                              has_any ? static_cast<std::size_t>(start[node + 1]) : 0);
    }
  } slopes;  // no start: there are none

  double leaf_value(const ShapTree& tree, const ShapEdge& edge, std::size_t k) const {
    return value[(tree.root + edge.child) * n_values + k];
  }
};

// The values of some rows, column by column, for features by their places. Padded with NaN.
class ShapColumns {
 public:
  ShapColumns(std::size_t n_features, std::size_t capacity)
      : capacity_(capacity), values_(n_features * capacity) {}

  template <class T>
  void read(Strided<const T> rows, std::size_t n_rows, const std::vector<std::size_t>& features) {
    for (std::size_t place = 0; place < features.size(); ++place) {
      double* column = &values_[place * capacity_];
      for (std::size_t i = 0; i < n_rows; ++i)
        column[i] = static_cast<double>(rows.at(i, features[place]));
      std::fill(column + n_rows, column + capacity_, std::numeric_limits<double>::quiet_NaN());
    }
  }

  const double* column(std::size_t place) const { return &values_[place * capacity_]; }

 private:
  std::size_t capacity_;
  std::vector<double> values_;
};

inline bool category_goes_left(const ShapTrees& trees, const ShapTest& test, double value) {
  const int code = predict::category_code(value);
  const auto set = 8 * static_cast<std::size_t>(test.category_set);
  return code == predict::kMissingCode ? test.missing_left
                                       : predict::has_bit(&trees.category_bits[set], code);
}

// Which of n values of a column go left.
inline void goes_left(const ShapTrees& trees, const ShapTest& test, const double* column,
                      std::size_t n, std::uint8_t* left) {
  if (test.category_set >= 0)
    for (std::size_t i = 0; i < n; ++i) left[i] = category_goes_left(trees, test, column[i]);
  else if (test.missing_left)
    for (std::size_t i = 0; i < n; ++i) left[i] = !(column[i] > test.threshold);
  else
    for (std::size_t i = 0; i < n; ++i) left[i] = column[i] <= test.threshold;
}

inline namespace HEDGEROW_LEVEL {

// Rows that walk through a tree side by side.
inline constexpr std::size_t kRowLanes = 16;
using RowDoubles = Lanes<double, kRowLanes>;
using RowMasks = RowDoubles::Mask;

inline RowMasks goes_left(const ShapTrees& trees, const ShapTest& test, const double* column) {
  if (test.category_set < 0) {
    const RowDoubles values = RowDoubles::load(column);
    return test.missing_left ? ~(values > test.threshold) : values <= test.threshold;
  }
  RowMasks left;
  for (std::size_t i = 0; i < kRowLanes; ++i)
    left.set(i, -std::int64_t{category_goes_left(trees, test, column[i])});
  return left;
}

}  // namespace HEDGEROW_LEVEL

// Leaves one by one, with the players on their ways; those without players are left out.
struct ShapLeaves {
  struct Member {
    std::uint32_t player;
    double share;
  };
  struct Turn {  // at a node, by a member of the leaf
    std::uint32_t node, member;
    bool is_right;
  };
  struct ShapLeaf {
    std::uint32_t node;
    std::size_t member_begin, member_end, turn_begin, turn_end;
  };
  std::vector<ShapLeaf> leaves;
  std::vector<Member> members;
  std::vector<Turn> turns;

  ShapLeaves(const ShapTrees& trees, const ShapTree& tree);

  std::size_t most_members() const;
};

}  // namespace hedgerow::explain
