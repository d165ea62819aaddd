// One-variable steps in the dual, epoch by epoch.
#include "dual_descent.hpp"

#include <algorithm>
#include <limits>

namespace hedgerow::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Rows that are fetched ahead of their step: a row of text is about a kilobyte, somewhere.
constexpr std::size_t kAhead = 4;

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
      problem_(problem),
      square_(square),
      beta_(beta),
      w_(w) {}

void DualDescent::epoch(bool afresh) {
  if (afresh) rising_ = falling_ = kInfinity;
  std::visit([this](const auto& x) { visit(x); }, rows_);
}

template <class Rows>
void DualDescent::visit(const Rows& x) {
  const auto [target, lower, upper, ridge, epsilon] = problem_;
  double up = 0.0, down = 0.0;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < active_.size(); ++k) {
    if (k + kAhead < active_.size()) x.prefetch(active_[k + kAhead]);
    const std::size_t i = active_[k];
    look_after(x.stored(i) + 8);
    const double b = beta_[i], g = x.dot(i, w_) - target[i] + ridge[i] * b;
    // Slopes to the right and to the left of b: |b| has a corner at 0.
    const double right = b >= 0.0 ? g + epsilon : g - epsilon;
    const double left = b > 0.0 ? g + epsilon : g - epsilon;
    const bool may_rise = b<upper[i], may_fall = b> lower[i];
    // A bound, or the corner, that no gradient of the last epoch's size would move β off.
    if ((!may_rise || right > falling_) && (!may_fall || left < -rising_)) continue;
    active_[kept++] = static_cast<std::uint32_t>(i);
    if (may_rise) up = std::max(up, -right);
    if (may_fall) down = std::max(down, left);
    if ((may_rise && right < 0.0) || (may_fall && left > 0.0)) {
      // A row of zeros has no curvature: any step that is long enough ends at the right bound.
      const double h = std::max(square_[i] + ridge[i], std::numeric_limits<double>::min());
      const double next = minimiser(b - g / h, h, epsilon, lower[i], upper[i]);
      beta_[i] = next;
      if (next != b) x.add(i, next - b, w_);
    }
  }
  active_.resize(kept);
  violation_ = up + down;
  rising_ = up > 0.0 ? up : kInfinity;
  falling_ = down > 0.0 ? down : kInfinity;
}

}  // namespace hedgerow::linear
