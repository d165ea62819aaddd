#include "leaf_rule.hpp"

#include <algorithm>
#include <cmath>

#include "math.hpp"

namespace hedgerow {
namespace {

constexpr double kFarthest = 32.0;  // where a weight ends that no penalty holds back
constexpr double kNear = 1e-14;     // a step so small beside the weight is the last
constexpr int kMostSteps = 100;

// The two sums of exponentials that G and H are made of.
struct Parts {
  double rising, falling;

  Parts(const LeafRule& rule, double G, double H)
      : rising(std::max(0.0, (H + rule.falls * G) / (rule.falls + rule.rises))),
        falling(std::max(0.0, (H - rule.rises * G) / (rule.falls + rule.rises))) {}
  Parts(double up, double down) : rising(up), falling(down) {}

  Parts moved(const LeafRule& rule, double step) const {
    return {rising * exp(rule.rises * step), falling * exp(-rule.falls * step)};
  }
};

// The root v of rising e^(rises·v) − falling e^(−falls·v) + λv + constant, which increases and has
// the sign given: Newton's method from 0 on, within an interval that holds the root.
double root(const LeafRule& rule, const Parts& parts, double reg_lambda, double constant,
            double sign) {
  double near = 0.0, far = sign * kFarthest, v = 0.0;
  for (int i = 0; i < kMostSteps; ++i) {
    const auto [rising, falling] = parts.moved(rule, v);
    const double slope = rising - falling + reg_lambda * v + constant;
    const double curvature = rule.rises * rising + rule.falls * falling + reg_lambda;
    (slope * sign < 0.0 ? near : far) = v;
    const double next = v - slope / curvature;
    const bool inside = (next - near) * sign > 0.0 && (far - next) * sign > 0.0;
    const double before = v;
    v = inside ? next : 0.5 * (near + far);
    if (std::fabs(v - before) <= kNear * std::fabs(v)) break;
  }
  return v;
}

}  // namespace

double exponential_step(const LeafRule& rule, double G, double H, double reg_lambda,
                        double reg_alpha) {
  if (std::fabs(G) <= reg_alpha) return 0.0;
  const double sign = G < 0.0 ? 1.0 : -1.0;
  return root(rule, {rule, G, H}, reg_lambda, sign * reg_alpha, sign);
}

void CommonStep::add(double G, double H, double value) {
  const Parts now = Parts(rule_, G, H).moved(rule_, value);
  slope_ += G;
  rising_ += now.rising;
  falling_ += now.falling;
}

double CommonStep::step() const {
  if (!(rising_ > 0.0 && falling_ > 0.0)) return 0.0;  // nothing would hold it back
  const double left_over = std::max(0.0, 1.0 - learning_rate_) * slope_;
  const double slope = rising_ - falling_ - left_over;
  if (slope == 0.0) return 0.0;
  return root(rule_, {rising_, falling_}, 0.0, -left_over, slope < 0.0 ? 1.0 : -1.0);
}

}  // namespace hedgerow
