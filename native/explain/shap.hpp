// Shapley values of trees: what each column of a row adds to its score.
//
// A leaf is a product game. Say that a row's player i (a column) "fits" a leaf if it goes the
// leaf's way at all of its nodes that test this player. If the players in S are known and the
// others are not, the leaf adds
//   v ∏ (i ∈ S ? oᵢ : zᵢ),   oᵢ = whether i fits,  zᵢ = the share of rows that go that way,
// where shares are those of the training rows at each node. Shapley's value of player j is then an
// integral of a polynomial (Owen's multilinear extension):
//   φⱼ = v (oⱼ − zⱼ) ∫₀¹ ∏_{i ≠ j} (zᵢ + t (oᵢ − zᵢ)) dt,
// which Gauss–Legendre quadrature gives exactly with half as many points as there are players. All
// that a walk through the tree has to carry is the product at each of these points, for many rows
// side by side.
//
// Against a background, the players that are not known are those of another row b, over which is
// averaged. With x and b given a leaf's game has values in closed form, and rows that fit a leaf
// alike have them in common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "predict/predictor.hpp"

namespace hedgerow::explain {

// An ensemble, and whom its nodes belong to.
struct ShapArrays {
  predict::EnsembleArrays ensemble;
  const double* share;         // of a node's parent's rows, those that come to it
  const std::int32_t* player;  // of each feature
  std::size_t n_players;
};

struct ShapTrees;

class ShapExplainer {
 public:
  explicit ShapExplainer(const ShapArrays& arrays);
  ~ShapExplainer();

  std::size_t n_players() const;
  std::size_t n_outputs() const;

  // The mean score by shares: what a row has of which nothing is known.
  std::span<const double> expected() const;

  // Adds to values (rows, players, outputs).
  template <class T>
  void explain(Strided<const T> rows, std::size_t n_rows, double* values, int threads) const;

  // Fills interactions (rows, players, players, outputs), which are 0: the values of pairs, half
  // with each, and in the diagonal what of `values` is left.
  template <class T>
  void interact(Strided<const T> rows, std::size_t n_rows, const double* values,
                double* interactions, int threads) const;

  // Adds to values the mean of those against each row of the background. Leaves may be linear.
  template <class T>
  void compare(Strided<const T> rows, std::size_t n_rows, Strided<const T> background,
               std::size_t n_background, double* values, int threads) const;

  // Fills interactions (rows, players, players, outputs), which are 0, with means against each row
  // of the background, as `interact` does by shares. Leaves may be linear.
  template <class T>
  void compare_pairs(Strided<const T> rows, std::size_t n_rows, Strided<const T> background,
                     std::size_t n_background, const double* values, double* interactions,
                     int threads) const;

 private:
  std::unique_ptr<const ShapTrees> trees_;
};

}  // namespace hedgerow::explain
