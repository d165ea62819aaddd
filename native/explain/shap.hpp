// SHAP values of trees: the contribution of each column to the score of a row.
//
// A leaf is a product game. Player i (a column) of a row "fits" a leaf if the row goes towards the
// leaf at all nodes that test this player. If the players in S are known and the others are not,
// the leaf adds
//   v ∏ (i ∈ S ? oᵢ : zᵢ),   oᵢ = whether i fits,  zᵢ = the fraction of rows that go that way,
// with the fractions of the training rows at each node. The Shapley value of player j is then an
// integral of a polynomial (Owen's multilinear extension):
//   φⱼ = v (oⱼ − zⱼ) ∫₀¹ ∏_{i ≠ j} (zᵢ + t (oᵢ − zᵢ)) dt,
// which Gauss–Legendre quadrature computes exactly with half as many points as there are players. A
// walk through the tree carries the product at each of these points, for many rows side by side
// (shap_walk.hpp). Of a tree with few different tests, all values are computed in advance if there
// are many rows (shap_tables.hpp).
//
// With a background dataset, unknown players take the values of another row b, and values are
// averaged over b. For fixed x and b the values of a leaf's game have a closed form, which is the
// same for all rows with the same pattern of fitting players.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "predict/predictor.hpp"

namespace hedgerow::explain {

// An ensemble, and the players of its features.
struct ShapArrays {
  predict::EnsembleArrays ensemble;
  const double* share;         // of each node: the fraction of its parent's rows
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

  // The expected score: that of a row of which nothing is known.
  std::span<const double> expected() const;

  // Adds to values (rows, players, outputs).
  template <class T>
  void explain(Strided<const T> rows, std::size_t n_rows, double* values, int threads) const;

  // Fills interactions (rows, players, players, outputs), which are 0: the values of pairs, half on
  // each side of the diagonal, and on the diagonal the rest of `values`.
  template <class T>
  void interact(Strided<const T> rows, std::size_t n_rows, const double* values,
                double* interactions, int threads) const;

  // Adds to values their mean over the rows of a background dataset. Leaves may be linear.
  template <class T>
  void compare(Strided<const T> rows, std::size_t n_rows, Strided<const T> background,
               std::size_t n_background, double* values, int threads) const;

  // Fills interactions (rows, players, players, outputs), which are 0, with means over the rows of
  // a background dataset. Leaves may be linear.
  template <class T>
  void compare_pairs(Strided<const T> rows, std::size_t n_rows, Strided<const T> background,
                     std::size_t n_background, const double* values, double* interactions,
                     int threads) const;

 private:
  std::unique_ptr<const ShapTrees> trees_;
};

}  // namespace hedgerow::explain
