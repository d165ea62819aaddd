// Coordinate descent in the primal of the L1-penalised linear SVM (Yuan, Chang, Hsieh and Lin,
// 2010):
//
//   Σ_j |w_j| + Σ_i C_i max(0, slack_i)²,   slack_i = 1 − y_i w·x_i.
//
// A step is Newton's for one weight, shortened until the objective has fallen enough. A violation
// is how far a weight's subgradient is from 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "svm/descent.hpp"
#include "svm/linear_rows.hpp"

namespace hedgerow::svm::linear {

class LassoDescent final : public Descent {
 public:
  // `columns` is X transposed: its rows are features. w and slack belong to the caller and
  // must be consistent; y is −1 or 1.
  LassoDescent(AnyRows columns, const double* y, const double* C, double* w, double* slack,
               std::uint64_t seed);

 private:
  struct OneSidedSlopes {
    double gradient, curvature;
  };

  void epoch(bool afresh) override;
  template <class Columns>
  void visit(const Columns& x);
  template <class Columns>
  OneSidedSlopes slopes(const Columns& x, std::size_t j) const;
  template <class Columns>
  void step(const Columns& x, std::size_t j, OneSidedSlopes at);
  template <class Columns>
  double loss_after(const Columns& x, std::size_t j, double change) const;

  AnyRows columns_;
  const double *y_, *C_;
  double *w_, *slack_;
  double settled_;  // how far within its bounds the gradient of an inactive weight must be
};

}  // namespace hedgerow::svm::linear
