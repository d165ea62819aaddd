// The weight of a leaf as a function of its gradient sums.
#pragma once
#include <algorithm>
#include <cmath>

#include "shared/math.hpp"

namespace hedgerow {

// How the weight of a leaf follows from G and H. Most losses take a Newton step. Losses of the form
// Σ (B e^(b·s)/b + A e^(−a·s)/a), with growth rate b and decay rate a, are determined for all
// scores by G = B − A and H = b·B + a·A, so that a leaf can take the optimal step, where a Newton
// step may be far too long.
struct LeafRule {
  double decay_rate = 0.0, growth_rate = 0.0;  // both 0: Newton's step

  bool is_newton() const { return decay_rate + growth_rate == 0.0; }
};

namespace leaf_rule {

inline constexpr double kFarthest = 32.0;  // the largest weight if no penalty limits it
inline constexpr double kNear = 1e-14;     // relative step size at which iteration stops
inline constexpr int kMostSteps = 100;

// The two sums of exponentials that G and H consist of.
struct Parts {
  double rising, falling;

  Parts(const LeafRule& rule, double G, double H)
      : rising(std::max(0.0, (H + rule.decay_rate * G) / (rule.decay_rate + rule.growth_rate))),
        falling(std::max(0.0, (H - rule.growth_rate * G) / (rule.decay_rate + rule.growth_rate))) {}
  Parts(double up, double down) : rising(up), falling(down) {}

  Parts moved(const LeafRule& rule, double step) const {
    return {rising * exp(rule.growth_rate * step), falling * exp(-rule.decay_rate * step)};
  }
};

// The root v, with the given sign, of the increasing function rising e^(b·v) − falling e^(−a·v) +
// λv + constant: Newton's method from 0, within an interval that contains the root.
inline double root(const LeafRule& rule, const Parts& parts, double reg_lambda, double constant,
                   double sign) {
  double near = 0.0, far = sign * kFarthest, v = 0.0;
  for (int i = 0; i < kMostSteps; ++i) {
    const auto [rising, falling] = parts.moved(rule, v);
    const double slope = rising - falling + reg_lambda * v + constant;
    const double curvature = rule.growth_rate * rising + rule.decay_rate * falling + reg_lambda;
    (slope * sign < 0.0 ? near : far) = v;
    const double next = v - slope / curvature;
    const bool inside = (next - near) * sign > 0.0 && (far - next) * sign > 0.0;
    const double before = v;
    v = inside ? next : 0.5 * (near + far);
    if (std::fabs(v - before) <= kNear * std::fabs(v)) break;
  }
  return v;
}

}  // namespace leaf_rule

// The weight that minimises the loss with penalties ½λv² + α|v|, for a rule other than
// Newton's.
inline double exponential_step(const LeafRule& rule, double G, double H, double reg_lambda,
                               double reg_alpha) {
  if (std::fabs(G) <= reg_alpha) return 0.0;
  const double sign = G < 0.0 ? 1.0 : -1.0;
  return leaf_rule::root(rule, {rule, G, H}, reg_lambda, sign * reg_alpha, sign);
}

// Optimal steps times a learning rate η < 1, or shrunk by λ, shift the sum of all predictions:
// among rows that should move up and down by the same amount, those that move down lose weight each
// time. Therefore all leaves of a tree take one more common step, after which 1 − η of the slope
// remains, as for a quadratic loss. With the log link of counts, predictions then add up to the
// targets.
class CommonStep {
 public:
  CommonStep(const LeafRule& rule, double learning_rate)
      : rule_(rule), learning_rate_(learning_rate) {}

  // Adds a leaf: its sums and its value.
  void add(double G, double H, double value);
  double step() const;

 private:
  LeafRule rule_;
  double learning_rate_;
  double slope_ = 0.0;                   // before the individual steps
  double rising_ = 0.0, falling_ = 0.0;  // the parts of the slope after them
};

inline void CommonStep::add(double G, double H, double value) {
  const leaf_rule::Parts now = leaf_rule::Parts(rule_, G, H).moved(rule_, value);
  slope_ += G;
  rising_ += now.rising;
  falling_ += now.falling;
}

inline double CommonStep::step() const {
  if (!(rising_ > 0.0 && falling_ > 0.0)) return 0.0;  // unbounded
  const double remaining = std::max(0.0, 1.0 - learning_rate_) * slope_;
  const double slope = rising_ - falling_ - remaining;
  if (slope == 0.0) return 0.0;
  return leaf_rule::root(rule_, {rising_, falling_}, 0.0, -remaining, slope < 0.0 ? 1.0 : -1.0);
}

}  // namespace hedgerow
