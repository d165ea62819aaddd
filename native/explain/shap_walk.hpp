// The walk of shap.cpp: the Shapley values of a tree for sixteen rows side by side, of which it
// needs to know only on which side of each node they go.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/compiler.hpp"
#include "explain/shap_trees.hpp"

namespace hedgerow::explain::inline HEDGEROW_LEVEL {

// The effect of an edge at the points of the quadrature: `n` numbers of each kind.
//
// Going down it multiplies the product of all players on the way by its player's factor, f = z + t
// (o − z), after dividing it by the factor that the same player had before. Going up, the sum S of
// all leaves below adds S (o − z) / f to its player, less what the same player has had for it
// before. Both depend on whether the row fits (o = 1) and on whether it did before; one that did
// not, does not. Then the product takes the edge's own share, and nothing is added.
struct EdgeNumbers {
  const double *factor_in, *factor_out;
  const double *gain_in, *gain_out;

  static constexpr std::size_t kKinds = 4;

  EdgeNumbers(const double* of_edge, std::size_t n)
      : factor_in(of_edge),
        factor_out(of_edge + n),
        gain_in(of_edge + 2 * n),
        gain_out(of_edge + 3 * n) {}
};

inline void write_numbers(const ShapEdge& edge, double share_before, const QuadratureRule& rule,
                          double* numbers) {
  const std::size_t n = rule.size();
  const double z = edge.share, z_before = share_before;
  for (std::size_t q = 0; q < n; ++q) {
    const double t = rule.point[q], w = rule.weight[q];
    const double in = z + t * (1.0 - z), out = z * (1.0 - t);
    const double before = z_before + t * (1.0 - z_before);
    const double had = (1.0 - z_before) / before;
    numbers[q] = in / before;
    numbers[n + q] = out / before;
    numbers[2 * n + q] = w * ((1.0 - z) / in - had);
    numbers[3 * n + q] = w * (-1.0 / (1.0 - t) - had);
  }
}

// The numbers of all edges of a tree.
struct TreeNumbers {
  std::size_t n_points = 0;
  std::vector<double> numbers;

  static std::size_t size(const ShapTree& tree) {
    return tree.edges.size() * EdgeNumbers::kKinds * points(tree);
  }

  TreeNumbers() = default;
  TreeNumbers(const ShapTrees& trees, const ShapTree& tree) : n_points(points(tree)) {
    const QuadratureRule& rule = trees.rules[n_points];
    numbers.resize(size(tree));
    std::vector<double> share_on_way(tree.n_slots, 1.0);  // by slot
    double* to = numbers.data();
    for (const ShapEdge& edge : tree.edges) {
      share_on_way[edge.slot] = edge.share;
      write_numbers(edge, share_on_way[edge.previous], rule, to);
      to += EdgeNumbers::kKinds * n_points;
    }
  }

  EdgeNumbers of_edge(std::size_t edge) const {
    return {&numbers[edge * EdgeNumbers::kKinds * n_points], n_points};
  }

 private:
  static std::size_t points(const ShapTree& tree) { return (tree.n_players + 1) / 2; }
};

// Walks blocks of rows through trees. The state of the path from the root to the current node is
// stored in slots, one for each depth.
class BlockWalk {
 public:
  explicit BlockWalk(const ShapTrees& trees) : trees_(trees) {}

  // Computes a tree's values of a block of rows; left_of(node) are those that go left there.
  template <class LeftOf>
  void walk(const ShapTree& tree, const TreeNumbers& of_tree, const LeftOf& left_of) {
    reserve(tree, of_tree.n_points);
    std::fill_n(product_.begin(), n_points_, RowDoubles(1.0));
    std::fill_n(gained_.begin(), n_seats_ * trees_.n_values, RowDoubles(0.0));
    for (const std::int32_t step : tree.steps) {
      const auto number = static_cast<std::size_t>(step < 0 ? -(step + 1) : step);
      const ShapEdge& edge = tree.edges[number];
      const EdgeNumbers numbers = of_tree.of_edge(number);
      if (step >= 0) {
        turn(edge, left_of);
        go_down(edge, numbers);
      }
      if (step >= 0 && !edge.is_leaf) continue;
      for (std::size_t k = 0; k < trees_.n_values; ++k) {
        if (edge.is_leaf)
          go_up<true>(edge, numbers, k, trees_.leaf_value(tree, edge, k));
        else
          go_up<false>(edge, numbers, k, 1.0);
      }
    }
  }

  // The values of that tree for value k of its nodes and the player of a seat.
  const RowDoubles& gained(std::size_t k, std::size_t seat) const {
    return gained_[k * n_seats_ + seat];
  }

 private:
  RowDoubles* product(std::size_t slot) { return &product_[slot * n_points_]; }
  RowDoubles* sum(std::size_t slot, std::size_t k) {
    return &sum_[(slot * trees_.n_values + k) * n_points_];
  }

  void reserve(const ShapTree& tree, std::size_t n_points) {
    const auto grow = [](auto& numbers, std::size_t size) {
      if (numbers.size() < size) numbers.resize(size);
    };
    n_points_ = n_points;
    n_seats_ = tree.seats.size();
    grow(went_left_, tree.n_slots);
    grow(fits_, tree.n_slots);
    fits_[0] = RowMasks(-1);
    grow(product_, tree.n_slots * n_points);
    grow(sum_, tree.n_slots * n_points * trees_.n_values);
    grow(gained_, n_seats_ * trees_.n_values);
  }

  // Determines which rows fit.
  template <class LeftOf>
  void turn(const ShapEdge& edge, const LeftOf& left_of) {
    RowMasks& left = went_left_[edge.slot - 1];
    if (!edge.is_right) left = left_of(edge.parent);
    fits_[edge.slot] = (edge.is_right ? ~left : left) & fits_[edge.previous];
  }

  // Inlined, because the walk is compiled for rows and for tables, which made it 9 % slower.
  __attribute__((always_inline)) void go_down(const ShapEdge& edge, const EdgeNumbers& numbers) {
    const RowDoubles* from = product(edge.slot - 1);
    RowDoubles* to = product(edge.slot);
    const RowMasks fits = fits_[edge.slot], before = fits_[edge.previous];
    const RowDoubles share = RowDoubles(edge.own_share);
    for (std::size_t q = 0, n = n_points_; q < n; ++q) {
      const RowDoubles in = RowDoubles(numbers.factor_in[q]);
      RowDoubles out = RowDoubles(numbers.factor_out[q]);
      if (edge.previous != 0) out = select(before, out, share);
      to[q] = from[q] * select(fits, in, out);
    }
  }

  // Adds to the player, and passes the sum of the leaves below on to the parent.
  template <bool is_leaf>
  __attribute__((always_inline)) void go_up(const ShapEdge& edge, const EdgeNumbers& numbers,
                                            std::size_t k, double leaf_value) {
    const RowDoubles* from = is_leaf ? product(edge.slot) : sum(edge.slot, k);
    RowDoubles* to = sum(edge.slot - 1, k);
    const RowMasks fits = fits_[edge.slot], before = fits_[edge.previous];
    const RowDoubles value = RowDoubles(leaf_value), nothing = RowDoubles(0.0);
    RowDoubles gained = nothing;
    for (std::size_t q = 0, n = n_points_; q < n; ++q) {
      const RowDoubles below = is_leaf ? from[q] * value : from[q];
      RowDoubles out = RowDoubles(numbers.gain_out[q]);
      if (edge.previous != 0) out = select(before, out, nothing);
      gained = gained + below * select(fits, RowDoubles(numbers.gain_in[q]), out);
      to[q] = edge.is_right ? to[q] + below : below;
    }
    RowDoubles& of_player = gained_[k * n_seats_ + edge.seat];
    of_player = of_player + gained;
  }

  const ShapTrees& trees_;
  std::size_t n_points_ = 0, n_seats_ = 0;  // of the current tree
  std::vector<RowMasks> went_left_, fits_;
  std::vector<RowDoubles> product_, sum_, gained_;
};

}  // namespace hedgerow::explain::inline HEDGEROW_LEVEL
