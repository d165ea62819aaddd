// The losses with native gradients: a functor each, and the table of their names.
//
// A loss is one class in Python (hedgerow/_boosting/losses), whose `name` is a name of the tables
// at the end of this file, and one row there: the name, and the functor that differentiates it.
//
// s is a score, y the target, r = s − y. A functor is made with the loss's parameter, 0 for a loss
// that has none, and returns the gradient and the hessian of one row. The hessian of a loss that is
// linear far from the target vanishes there, and Newton steps would be unbounded; it is replaced by
// that of the parabola that touches the loss at s and lies above it everywhere, so that a step
// never increases the loss.
#pragma once
#include <cmath>

#include "shared/math.hpp"

namespace hedgerow {

struct Derivatives {
  double g, h;
};

namespace loss_formulas {

// A lower bound on hessians, which keeps Newton steps finite.
inline constexpr double kMinHessian = 1e-16;

inline double at_least(double h) { return h > kMinHessian ? h : kMinHessian; }

// ½r².
struct SquaredError {
  explicit SquaredError(double) {}
  Derivatives operator()(double s, double y) const { return {s - y, 1.0}; }
};

// |r|.
struct AbsoluteError {
  explicit AbsoluteError(double) {}
  Derivatives operator()(double s, double y) const {
    return {s > y ? 1.0 : (s < y ? -1.0 : 0.0), 1.0};
  }
};

// level × −r below the target, (1 − level) × r above it.
struct Quantile {
  explicit Quantile(double level) : below(-level), above(1.0 - level) {}
  Derivatives operator()(double s, double y) const {
    return {s > y ? above : (s < y ? below : 0.0), 1.0};
  }
  double below, above;
};

// The same of r².
struct Expectile {
  explicit Expectile(double level) : below(2.0 * level), above(2.0 * (1.0 - level)) {}
  Derivatives operator()(double s, double y) const {
    const double h = s > y ? above : below;
    return {h * (s - y), h};
  }
  double below, above;
};

// ½r² up to |r| = δ, linear beyond.
struct Huber {
  explicit Huber(double threshold) : delta(threshold) {}
  Derivatives operator()(double s, double y) const {
    const double r = s - y, size = r < 0.0 ? -r : r;
    const double h = size > delta ? delta / size : 1.0;
    return {h * r, h};
  }
  double delta;
};

// δ²(√(1 + (r/δ)²) − 1).
struct PseudoHuber {
  explicit PseudoHuber(double delta) : per_delta(1.0 / delta) {}
  Derivatives operator()(double s, double y) const {
    const double r = s - y, z = r * per_delta;
    const double h = 1.0 / std::sqrt(1.0 + z * z);
    return {h * r, h};
  }
  double per_delta;
};

// δ² log cosh(r/δ).
struct LogCosh {
  explicit LogCosh(double delta) : per_delta(1.0 / delta) {}
  Derivatives operator()(double s, double y) const {
    const double r = s - y, z = r * per_delta, size = z < 0.0 ? -z : z;
    const double e = exp(-2.0 * size);
    const double tanh = (1.0 - e) / (1.0 + e);
    // tanh(z)/z, by its series where the difference above has lost its digits.
    const double h = size > 1e-4 ? tanh / size : 1.0 - size * size / 3.0;
    return {h * r, h};
  }
  double per_delta;
};

// e^s − ys.
struct Poisson {
  explicit Poisson(double) {}
  Derivatives operator()(double s, double y) const {
    const double mean = exp(s);
    return {mean - y, at_least(mean)};
  }
};

// ye^−s + s.
struct Gamma {
  explicit Gamma(double) {}
  Derivatives operator()(double s, double y) const {
    const double ratio = y * exp(-s);
    return {1.0 - ratio, at_least(ratio)};
  }
};

// e^((2−p)s)/(2−p) − ye^((1−p)s)/(1−p), p in (1, 2).
struct Tweedie {
  explicit Tweedie(double power) : decay_rate(power - 1.0), growth_rate(2.0 - power) {}
  Derivatives operator()(double s, double y) const {
    const double down = y * exp(-decay_rate * s), up = exp(growth_rate * s);
    return {up - down, at_least(decay_rate * down + growth_rate * up)};
  }
  double decay_rate, growth_rate;
};

// −y log P − (1 − y) log(1 − P) of y in [0, 1]; s is the log-odds.
struct LogLoss {
  explicit LogLoss(double) {}
  Derivatives operator()(double s, double y) const {
    const double p = sigmoid(s);
    return {p - y, at_least(p * (1.0 - p))};
  }
};

// e^−s or e^s: y in {0, 1} is the sign of s.
struct Exponential {
  explicit Exponential(double) {}
  Derivatives operator()(double s, double y) const {
    const double sign = 2.0 * y - 1.0, e = exp(-sign * s);
    return {-sign * e, at_least(e)};
  }
};

// max(0, 1 ∓ s).
struct Hinge {
  explicit Hinge(double) {}
  Derivatives operator()(double s, double y) const {
    const double sign = 2.0 * y - 1.0;
    return {sign * s < 1.0 ? -sign : 0.0, 1.0};
  }
};

// −(1 − P)^γ log P of the row's class. With p = P(class) and q = 1 − p, along z = ±s,
// L' = q^γ (γ p log p − q) and
// L'' = q^γ p (γ (q − γ p) log p + (2γ + 1) q). Where a row is far on the wrong side L'' is
// negative; a log loss of the weight q^γ has the hessian q^γ p q.
struct Focal {
  explicit Focal(double exponent) : gamma(exponent) {}
  Derivatives operator()(double s, double y) const {
    const double sign = 2.0 * y - 1.0, z = sign * s, size = z < 0.0 ? -z : z;
    const double e = exp(-size), tail = log1p(e);
    const double log_p = (z < 0.0 ? z : 0.0) - tail, log_q = (z > 0.0 ? -z : 0.0) - tail;
    const double small = e / (1.0 + e), large = 1.0 / (1.0 + e);
    const double p = z < 0.0 ? small : large, q = z < 0.0 ? large : small;
    const double weight = exp(gamma * log_q);
    const double g = weight * (gamma * p * log_p - q);
    const double true_h = weight * p * (gamma * (q - gamma * p) * log_p + (2.0 * gamma + 1.0) * q);
    const double weighted_h = weight * p * q;
    return {sign * g, at_least(true_h > weighted_h ? true_h : weighted_h)};
  }
  double gamma;
};

// −log P of the row's class y in 0 … K − 1, with P = softmax(s): differentiated by score k, at
// whose softmax p.
struct Multinomial {
  Derivatives operator()(double p, double y, int k) const {
    return {p - (y == k ? 1.0 : 0.0), at_least(p * (1.0 - p))};
  }
};

// −Σ y_k log P_k of probabilities y.
struct CrossEntropy {
  Derivatives operator()(double p, double y, int) const { return {p - y, at_least(p * (1.0 - p))}; }
};

}  // namespace loss_formulas

template <class Functor>
struct LossRow {
  const char* name;
  using Formula = Functor;
};

// The losses of one score: visit(row) for each.
template <class Visit>
void visit_losses(Visit visit) {
  using namespace loss_formulas;
  visit(LossRow<SquaredError>{"squared_error"});
  visit(LossRow<AbsoluteError>{"absolute_error"});
  visit(LossRow<Quantile>{"quantile"});
  visit(LossRow<Expectile>{"expectile"});
  visit(LossRow<Huber>{"huber"});
  visit(LossRow<PseudoHuber>{"pseudo_huber"});
  visit(LossRow<LogCosh>{"log_cosh"});
  visit(LossRow<Poisson>{"poisson"});
  visit(LossRow<Gamma>{"gamma"});
  visit(LossRow<Tweedie>{"tweedie"});
  visit(LossRow<LogLoss>{"log_loss"});
  visit(LossRow<Exponential>{"exponential"});
  visit(LossRow<Hinge>{"hinge"});
  visit(LossRow<Focal>{"focal"});
}

// The losses of the softmax of all scores of a row.
template <class Visit>
void visit_softmax_losses(Visit visit) {
  using namespace loss_formulas;
  visit(LossRow<Multinomial>{"multinomial"});
  visit(LossRow<CrossEntropy>{"cross_entropy"});
}

}  // namespace hedgerow
