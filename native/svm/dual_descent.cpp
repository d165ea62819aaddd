// One-variable steps in the dual, epoch by epoch.
#include "svm/dual_descent.hpp"

#include <algorithm>
#include <limits>

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

}  // namespace

DualDescent::DualDescent(AnyRows rows, DualProblem problem, const double* square, double* beta,
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

void DualDescent::begin() {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) coordinates_[i].beta = beta_[i];
}

void DualDescent::end() {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) beta_[i] = coordinates_[i].beta;
}

void DualDescent::epoch(bool afresh) {
  if (afresh) rising_ = falling_ = kInfinity;
  std::visit([this](const auto& x) { visit(x); }, rows_);
}

template <class Rows>
void DualDescent::fetch_ahead(const Rows& x, std::size_t k) const {
  if (k + kFarAhead < active_.size()) {
    const std::size_t i = active_[k + kFarAhead];
    __builtin_prefetch(&coordinates_[i]);
    x.prefetch_place(i);
  }
  if (k + kAhead < active_.size()) x.prefetch(active_[k + kAhead]);
}

template <class Rows>
void DualDescent::visit(const Rows& x) {
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

}  // namespace hedgerow::svm::linear
