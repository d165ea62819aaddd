// How a leaf's weight follows from its sums of gradients.
#pragma once
#include <algorithm>
#include <cmath>

#include "shared/math.hpp"

namespace hedgerow {

// How a leaf's weight follows from G and H. Most losses take Newton's step. Those of the form
// Σ (B e^(b·s)/b + A e^(−a·s)/a), with b the growth rate and a the decay rate, are known from
// G = B − A and H = b·B + a·A wherever s goes, so a leaf can take the step that is best: Newton's
// may be far too long there.
struct LeafRule {
  double decay_rate = 0.0, growth_rate = 0.0;  // both 0: Newton's step

  bool is_newton() const { return decay_rate + growth_rate == 0.0; }
};

namespace leaf_rule {

inline constexpr double kFarthest = 32.0;  // where a weight ends that no penalty holds back
inline constexpr double kNear = 1e-14;     // a step so small beside the weight is the last
inline constexpr int kMostSteps = 100;

// The two sums of exponentials that G and H are made of.
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

// The root v of rising e^(b·v) − falling e^(−a·v) + λv + constant, which increases and has
// the sign given: Newton's method from 0 on, within an interval that holds the root.
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

// The weight that minimises the loss with the penalties ½λv² + α|v|, by a rule that is not
// Newton's.
inline double exponential_step(const LeafRule& rule, double G, double H, double reg_lambda,
                               double reg_alpha) {
  if (std::fabs(G) <= reg_alpha) return 0.0;
  const double sign = G < 0.0 ? 1.0 : -1.0;
  return leaf_rule::root(rule, {rule, G, H}, reg_lambda, sign * reg_alpha, sign);
}

// A part η of the best steps, or steps that λ holds back, move the sum of all predictions: of rows
// that are to rise and to fall by the same, those that fall weigh less each time. So all leaves of
// a tree move on together by one more step, after which 1 − η of the tree's slope is left, as if
// the loss were a parabola. With the log link of counts, predictions then add up to the targets.
class CommonStep {
 public:
  CommonStep(const LeafRule& rule, double learning_rate)
      : rule_(rule), learning_rate_(learning_rate) {}

  // A leaf's sums, and the value that it adds.
  void add(double G, double H, double value);
  double step() const;

 private:
  LeafRule rule_;
  double learning_rate_;
  double slope_ = 0.0;                   // where the leaves were
  double rising_ = 0.0, falling_ = 0.0;  // the slope's parts where they are now
};

inline void CommonStep::add(double G, double H, double value) {
  const leaf_rule::Parts now = leaf_rule::Parts(rule_, G, H).moved(rule_, value);
  slope_ += G;
  rising_ += now.rising;
  falling_ += now.falling;
}

inline double CommonStep::step() const {
  if (!(rising_ > 0.0 && falling_ > 0.0)) return 0.0;  // nothing would hold it back
  const double left_over = std::max(0.0, 1.0 - learning_rate_) * slope_;
  const double slope = rising_ - falling_ - left_over;
  if (slope == 0.0) return 0.0;
  return leaf_rule::root(rule_, {rising_, falling_}, 0.0, -left_over, slope < 0.0 ? 1.0 : -1.0);
}

}  // namespace hedgerow
