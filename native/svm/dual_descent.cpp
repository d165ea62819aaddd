// Coordinate descent in the dual of a linear SVM (Hsieh et al., 2008, for classification; Ho and
// Lin, 2012, for regression). With w = Σ β_i x_i kept up to date, a step changes one β_i to the
// minimiser of
//
//   ½‖w‖² + ½ Σ ridge_i β_i² − Σ target_i β_i + ε Σ |β_i|,   lower_i ≤ β_i ≤ upper_i,
//
// which takes one product with x_i, and one addition of x_i to w. A violation is how far the
// gradients of any two β_i point into the interior, one upwards and one downwards, together.
#include <algorithm>
#include <limits>

#include "svm/descent.hpp"

namespace hedgerow::svm::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Rows that are prefetched ahead of their step, and coordinates ahead of those.
constexpr std::size_t kAhead = 4, kFarAhead = 12;

// argmin over [lower, upper] of ½h(b − q)² + ε|b|.
double minimiser(double q, double h, double epsilon, double lower, double upper) {
  const double shrunk = epsilon / h;
  const double b = q > shrunk ? q - shrunk : q < -shrunk ? q + shrunk : 0.0;
  return std::clamp(b, lower, upper);
}

class DualDescent final : public Descent {
 public:
  DualDescent(AnyRows rows, const DualProblem& problem, const double* square, double* beta,
              double* w, std::uint64_t seed)
      : Descent(n_rows(rows), seed),
        rows_(rows),
        epsilon_(problem.epsilon),
        beta_(beta),
        w_(w),
        coordinates_(n_rows(rows)) {
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      // A row of zeros has no curvature: any step that is long enough ends at the correct bound.
      const double curvature =
          std::max(square[i] + problem.ridge[i], std::numeric_limits<double>::min());
      coordinates_[i] = {
          0.0, problem.target[i], problem.lower[i], problem.upper[i], problem.ridge[i], curvature};
    }
  }

 private:
  // All that a step needs of a row except x_i, in one cache line.
  struct alignas(64) Coordinate {
    double beta, target, lower, upper, ridge, curvature;
  };

  void begin() override {
    for (std::size_t i = 0; i < coordinates_.size(); ++i) coordinates_[i].beta = beta_[i];
  }
  void end() override {
    for (std::size_t i = 0; i < coordinates_.size(); ++i) beta_[i] = coordinates_[i].beta;
  }
  void epoch(bool afresh) override {
    if (afresh) rising_ = falling_ = kInfinity;
    std::visit([this](const auto& x) { visit(x); }, rows_);
  }

  template <class Rows>
  void fetch_ahead(const Rows& x, std::size_t k) const {
    if (k + kFarAhead < active_.size()) {
      const std::size_t i = active_[k + kFarAhead];
      __builtin_prefetch(&coordinates_[i]);
      x.prefetch_place(i);
    }
    if (k + kAhead < active_.size()) x.prefetch(active_[k + kAhead]);
  }

  template <class Rows>
  void visit(const Rows& x) {
    const double epsilon = epsilon_;
    double up = 0.0, down = 0.0;
    std::size_t n_active = 0;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      fetch_ahead(x, k);
      const std::size_t i = active_[k];
      look_after(x.stored(i) + 8);
      Coordinate& c = coordinates_[i];
      const double b = c.beta, g = x.dot(i, w_) - c.target + c.ridge * b;
      // Slopes to the right and to the left of b: |b| has a corner at 0.
      const double right = b >= 0.0 ? g + epsilon : g - epsilon;
      const double left = b > 0.0 ? g + epsilon : g - epsilon;
      const bool may_rise = b<c.upper, may_fall = b> c.lower;
      // A bound, or the corner, that no gradient of the last epoch's size would move β off.
      if ((!may_rise || right > falling_) && (!may_fall || left < -rising_)) continue;
      active_[n_active++] = static_cast<std::uint32_t>(i);
      if (may_rise) up = std::max(up, -right);
      if (may_fall) down = std::max(down, left);
      if ((may_rise && right < 0.0) || (may_fall && left > 0.0)) {
        c.beta = minimiser(b - g / c.curvature, c.curvature, epsilon, c.lower, c.upper);
        if (c.beta != b) x.add(i, c.beta - b, w_);
      }
    }
    active_.resize(n_active);
    violation_ = up + down;
    rising_ = up > 0.0 ? up : kInfinity;
    falling_ = down > 0.0 ? down : kInfinity;
  }

  AnyRows rows_;
  double epsilon_;
  double *beta_, *w_;
  std::vector<Coordinate> coordinates_;
  double rising_, falling_;  // the last epoch's largest violations, upwards and downwards
};

}  // namespace

std::unique_ptr<Descent> dual_descent(AnyRows rows, const DualProblem& problem,
                                      const double* square, double* beta, double* w,
                                      std::uint64_t seed) {
  return std::make_unique<DualDescent>(rows, problem, square, beta, w, seed);
}

}  // namespace hedgerow::svm::linear
