// Partial dependence: scores of rows whose values of one or a few features are replaced by grid
// points.
//
// Predicting every row at every point would walk down each tree rows × points times. But grid
// points are separated only by nodes that test a grid feature, and rows only by the others: so sets
// of rows and sets of points go down a tree together, and every node is visited once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "predict/predictor.hpp"

namespace hedgerow::explain {

// The values that some features take, one after another.
struct GridPoints {
  std::span<const std::int32_t>
      place;             // of each feature among the grid features, −1 for the others
  const double* values;  // (points, grid features)
  std::size_t n_points, n_replaced;

  bool replaces(std::int32_t feature) const {
    return place[static_cast<std::size_t>(feature)] >= 0;
  }
  double at(std::size_t point, std::int32_t feature) const {
    return values[point * n_replaced +
                  static_cast<std::size_t>(place[static_cast<std::size_t>(feature)])];
  }
};

// The mean over rows, by their weights if there are any, of the score at each point: `mean` is
// (points, outputs).
template <class T>
void mean_scores(const predict::EnsembleArrays& ensemble, Strided<const T> rows, std::size_t n_rows,
                 const double* weights, const GridPoints& grid, double* mean, int threads);

// The score of each row at each point: `scores` is (rows, points, outputs).
template <class T>
void scores_at_points(const predict::EnsembleArrays& ensemble, Strided<const T> rows,
                      std::size_t n_rows, const GridPoints& grid, double* scores, int threads);

// As mean_scores, over the training rows, of which the trees know only counts: at a node that tests
// another feature, the fractions `share` go to the two children. Several independent grids, whose
// means are concatenated: each alone is too little work for threads.
void scores_by_share(const predict::EnsembleArrays& ensemble, const double* share,
                     std::span<const GridPoints> grids, double* mean, int threads);

}  // namespace hedgerow::explain
