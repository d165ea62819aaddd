// Coordinate descent in the dual of a linear SVM (Hsieh et al., 2008, for classification; Ho and
// Lin, 2012, for regression). With w = Σ β_i x_i kept up to date, a step changes one β_i to the
// minimiser of
//
//   ½‖w‖² + ½ Σ ridge_i β_i² − Σ target_i β_i + ε Σ |β_i|,   lower_i ≤ β_i ≤ upper_i,
//
// which takes one product with x_i, and one addition of x_i to w. A violation is how far the
// gradients of any two β_i point into the interior, one upwards and one downwards, together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "svm/descent.hpp"
#include "svm/linear_rows.hpp"

namespace hedgerow::svm::linear {

struct DualProblem {
  const double *target, *lower, *upper, *ridge;  // [n_rows]; 0 is within the bounds
  double epsilon;
};

class DualDescent final : public Descent {
 public:
  // β and w belong to the caller, who has set w = Σ β_i x_i; `square` holds the rows' ‖x_i‖².
  DualDescent(AnyRows rows, DualProblem problem, const double* square, double* beta, double* w,
              std::uint64_t seed);

 private:
  // All that a step needs of a row except x_i, in one cache line.
  struct alignas(64) Coordinate {
    double beta, target, lower, upper, ridge, curvature;
  };

  void begin() override;
  void end() override;
  void epoch(bool afresh) override;
  template <class Rows>
  void visit(const Rows& x);
  template <class Rows>
  void fetch_ahead(const Rows& x, std::size_t k) const;

  AnyRows rows_;
  double epsilon_;
  double *beta_, *w_;
  std::vector<Coordinate> coordinates_;
  double rising_, falling_;  // the last epoch's largest violations, upwards and downwards
};

}  // namespace hedgerow::svm::linear
