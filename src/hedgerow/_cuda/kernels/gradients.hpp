// The gradient and hessian of a row, for any loss.
#pragma once
#include "shared/loss_formulas.hpp"
#include "walk.hpp"

namespace hedgerow::cuda {

inline Derivatives weighted(const Fit& fit, size_t row, Derivatives of_row) {
  if (!fit.weight) return of_row;
  return {of_row.g * fit.weight[row], of_row.h * fit.weight[row]};
}

// A loss of one score.
template <class Formula>
struct ScoreLoss {
  Derivatives operator()(const Fit& fit, size_t row, int k) const {
    const Formula formula(fit.loss_parameter[k]);
    const double y = fit.target[k * fit.target_stride + row];
    return weighted(fit, row, formula(fit.scores[k * fit.n_rows + row], y));
  }
};

// A loss of the softmax of all scores.
template <class Formula>
struct SoftmaxLoss {
  Derivatives operator()(const Fit& fit, size_t row, int k) const {
    const double* scores = fit.scores + row;
    double largest = -std::numeric_limits<double>::infinity(), total = 0.0, own = 0.0;
    for (int i = 0; i < fit.n_outputs; ++i) {
      const double score = scores[i * fit.n_rows];
      largest = score > largest ? score : largest;
    }
    for (int i = 0; i < fit.n_outputs; ++i) {
      const double e = exp(scores[i * fit.n_rows] - largest);
      total += e;
      if (i == k) own = e;
    }
    return weighted(fit, row, Formula()(own / total, fit.target[k * fit.target_stride + row], k));
  }
};

// Gradients that are given. Negative hessians become zero.
struct GivenGradients {
  Derivatives operator()(const Fit& fit, size_t row, int k) const {
    const double h = fit.given_h[k * fit.n_rows + row];
    return {fit.given_g[k * fit.n_rows + row], h < 0.0 ? 0.0 : h};
  }
};

// The derivatives of a row's loss by score k, weight multiplied in. `loss` is an index of the table
// of losses (shared/loss_formulas.hpp), or −1 for gradients that are given. Loops that call it must
// not be unrolled: two dozen copies of two dozen formulas would take minutes to compile.
inline Derivatives differentiate(const Fit& fit, int loss, size_t row, int k) {
  if (loss < 0) return GivenGradients{}(fit, row, k);
  Derivatives of_row = {0.0, 0.0};
  int i = 0;
  visit_losses([&]<class Row>(Row) {
    if (i++ == loss) of_row = ScoreLoss<typename Row::Formula>{}(fit, row, k);
  });
  visit_softmax_losses([&]<class Row>(Row) {
    if (i++ == loss) of_row = SoftmaxLoss<typename Row::Formula>{}(fit, row, k);
  });
  return of_row;
}

}  // namespace hedgerow::cuda
