// Coordinate descent in the primal of the L1-penalised linear SVM (Yuan, Chang, Hsieh and Lin,
// 2010):
//
//   Σ_j |w_j| + Σ_i C_i max(0, slack_i)²,   slack_i = 1 − y_i w·x_i.
//
// A step is Newton's for one weight, shortened until the objective has fallen enough. A violation
// is how far a weight's subgradient is from 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "svm/descent.hpp"

namespace hedgerow::svm::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Armijo's rule: the part of the promised fall that a step must deliver, and how often it is
// halved.
constexpr double kPart = 0.01;
constexpr int kHalvings = 30;

// How far the subgradient at w is from 0.
double distance(double gradient, double w) {
  if (w > 0.0) return std::abs(gradient + 1.0);
  if (w < 0.0) return std::abs(gradient - 1.0);
  return std::max({0.0, -(gradient + 1.0), gradient - 1.0});
}

// argmin over d of g d + ½h d² + |w + d|.
double newton_step(double g, double h, double w) {
  if (g + 1.0 <= h * w) return -(g + 1.0) / h;
  if (g - 1.0 >= h * w) return -(g - 1.0) / h;
  return -w;
}

class LassoDescent final : public Descent {
 public:
  LassoDescent(AnyRows columns, const double* y, const double* C, double* w, double* slack,
               std::uint64_t seed)
      : Descent(n_rows(columns), seed), columns_(columns), y_(y), C_(C), w_(w), slack_(slack) {}

 private:
  struct OneSidedSlopes {
    double gradient, curvature;
  };

  void epoch(bool afresh) override {
    if (afresh) settled_ = kInfinity;
    std::visit([this](const auto& x) { visit(x); }, columns_);
  }

  template <class Columns>
  OneSidedSlopes slopes(const Columns& x, std::size_t j) const {
    double gradient = 0.0, curvature = 0.0;
    x.each(j, [&](std::size_t i, double value) {
      const double pull = slack_[i] > 0.0 ? C_[i] * value : 0.0;
      gradient -= pull * y_[i] * slack_[i];
      curvature += pull * value;
    });
    return {2.0 * gradient, std::max(2.0 * curvature, 1e-12)};
  }

  // The change of the losses if w_j changes.
  template <class Columns>
  double loss_after(const Columns& x, std::size_t j, double change) const {
    double sum = 0.0;
    x.each(j, [&](std::size_t i, double value) {
      const double before = std::max(0.0, slack_[i]);
      const double after = std::max(0.0, slack_[i] - change * y_[i] * value);
      sum += C_[i] * (after - before) * (after + before);
    });
    return sum;
  }

  template <class Columns>
  void step(const Columns& x, std::size_t j, OneSidedSlopes at) {
    const double w = w_[j], whole = newton_step(at.gradient, at.curvature, w);
    const double promised = at.gradient * whole + std::abs(w + whole) - std::abs(w);
    double part = 1.0;
    for (int halvings = 0; halvings < kHalvings; ++halvings, part *= 0.5) {
      const double change = part * whole;
      const double fall = loss_after(x, j, change) + std::abs(w + change) - std::abs(w);
      if (fall > kPart * part * promised) continue;
      w_[j] = w + change;
      x.each(j, [&](std::size_t i, double value) { slack_[i] -= change * y_[i] * value; });
      return;
    }
  }

  template <class Columns>
  void visit(const Columns& x) {
    violation_ = 0.0;
    std::size_t n_active = 0;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const std::size_t j = active_[k];
      look_after(4 * x.stored(j) + 8);
      const OneSidedSlopes at = slopes(x, j);
      if (w_[j] == 0.0 && std::abs(at.gradient) < 1.0 - settled_) continue;
      active_[n_active++] = static_cast<std::uint32_t>(j);
      const double away = distance(at.gradient, w_[j]);
      violation_ = std::max(violation_, away);
      if (away > 0.0) step(x, j, at);
    }
    active_.resize(n_active);
    // A fraction of the largest violation: gradients change by far less as other weights move.
    settled_ = violation_ > 0.0 ? violation_ / static_cast<double>(n_rows(columns_)) : kInfinity;
  }

  AnyRows columns_;
  const double *y_, *C_;
  double *w_, *slack_;
  double settled_;  // how far within its bounds the gradient of an inactive weight must be
};

}  // namespace

std::unique_ptr<Descent> lasso_descent(AnyRows columns, const double* y, const double* C, double* w,
                                       double* slack, std::uint64_t seed) {
  return std::make_unique<LassoDescent>(columns, y, C, w, slack, seed);
}

}  // namespace hedgerow::svm::linear
