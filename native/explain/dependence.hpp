// What-if scores: rows whose values of one or a few features are replaced by those of grid points.
//
// Predicting every row at every point would follow each tree rows × points times. But points part
// ways only where a replaced feature is tested, and rows only where another is: so rows go down a
// tree together, with the set of points that are still with them, and every node is visited once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "predict/predictor.hpp"

namespace hedgerow::explain {

// The values that some features take, one after another.
struct GridPoints {
  std::span<const std::int32_t>
      place;             // of each feature among the replaced ones, −1 for the others
  const double* values;  // (points, replaced features)
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

// As mean_scores, with the training rows that the trees remember: where another feature is tested,
// as large a part goes either way as `share` says of the two children. Several grids, by
// themselves, whose means follow each other: each is so little work that threads would not pay.
void scores_by_share(const predict::EnsembleArrays& ensemble, const double* share,
                     std::span<const GridPoints> grids, double* mean, int threads);

}  // namespace hedgerow::explain
