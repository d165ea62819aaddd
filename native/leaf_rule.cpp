#include "leaf_rule.hpp"

#include <algorithm>
#include <cmath>

#include "math.hpp"

namespace hedgerow {
namespace {

constexpr double kFarthest = 32.0;  // where a weight ends that no penalty holds back
constexpr double kNear = 1e-14;     // a step so small beside the weight is the last
constexpr int kMostSteps = 100;

}  // namespace

// The root of B e^(rises·v) − A e^(−falls·v) + λv ± α, which increases: Newton's method from 0 on,
// within an interval that holds the root.
double exponential_step(const LeafRule& rule, double G, double H, double reg_lambda,
                        double reg_alpha) {
  if (std::fabs(G) <= reg_alpha) return 0.0;
  const double both = rule.falls + rule.rises;
  const double B = std::max(0.0, (H + rule.falls * G) / both);
  const double A = std::max(0.0, (H - rule.rises * G) / both);
  const double sign = G < 0.0 ? 1.0 : -1.0;  // of the root
  double near = 0.0, far = sign * kFarthest, v = 0.0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double rising = B * exp(rule.rises * v), falling = A * exp(-rule.falls * v);
    const double slope = rising - falling + reg_lambda * v + sign * reg_alpha;
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

}  // namespace hedgerow
