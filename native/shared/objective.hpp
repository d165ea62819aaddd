// The objective that every boosting engine minimises, in one place: the weight of a leaf, its
// score, and the gain of a split.
//
// A leaf whose rows have the gradient sums G and H adds the weight w that minimises
//     G w + ½ H w² + ½ λ w² + α |w|,     |w| ≤ cap,
// with λ = reg_lambda, α = reg_alpha and cap = max_delta_step. With d = H + λ and the soft
// threshold T(G) = sign(G) max(|G| − α, 0) the free minimum is w = −T(G)/d. The score of a leaf is
// −2 × the objective at its weight, T(G)²/d if no limit binds, and a split gains
//     ½ [score(left) + score(right) − score(parent)] − γ,     γ = min_split_gain.
//
// `Real` is a double, a vector of doubles, or where a template says so a DoubleDouble. Formulas
// that are equal on paper round differently, and a model's bits depend on the one that is used:
// where there are two forms, both are needed.
#pragma once
#include <cmath>

#include "shared/double_double.hpp"
#include "shared/leaf_rule.hpp"

namespace hedgerow {

struct Penalties {
  double lambda = 0.0;
  double alpha = 0.0;
  double cap = 0.0;  // 0: none
};

// a where the condition holds, otherwise b: for vectors, which have conditions of their own, lane
// by lane.
template <class Condition, class Real>
inline Real select(const Condition& condition, const Real& a, const Real& b) {
  return condition ? a : b;
}

// The part of a number that decides its sign and size.
template <class Real>
inline const Real& leading(const Real& x) {
  return x;
}
inline double leading(const DoubleDouble& x) { return x.high; }

// T(G); any Real.
template <class Real>
inline Real soft_threshold(const Real& G, double alpha) {
  const Real zero = {};
  const Real down = G - alpha, up = G + alpha;
  return select(leading(G) > alpha, down, select(leading(G) < -alpha, up, zero));
}

// −T/d, and 0 where d is not positive; any Real.
template <class Real>
inline Real free_weight(const Real& T, const Real& d) {
  const Real zero = {}, one = zero + 1.0;
  const Real divisor = select(leading(d) > 0.0, d, one);
  const Real weight = -T / divisor;
  return select(leading(d) > 0.0, weight, zero);
}

// A weight within ±cap; any Real.
template <class Real>
inline Real capped_weight(const Real& w, double cap) {
  if (!(cap > 0.0)) return w;
  const Real zero = {}, high = zero + cap, low = zero - cap;
  return select(leading(w) > cap, high, select(leading(w) < -cap, low, w));
}

// The best weight between two limits.
template <class Real>
inline Real limited_weight(const Real& G, const Real& d, double alpha, const Real& low,
                           const Real& high) {
  const Real w = free_weight(soft_threshold(G, alpha), d);
  return select(w < low, low, select(w > high, high, w));
}

// The weight of a leaf by Newton's step; any Real.
template <class Real>
inline Real newton_weight(const Penalties& penalties, const Real& G, const Real& H) {
  const Real d = H + penalties.lambda;
  return capped_weight(free_weight(soft_threshold(G, penalties.alpha), d), penalties.cap);
}

// The weight of a leaf by the loss's own rule.
inline double leaf_weight(const Penalties& penalties, const LeafRule& rule, double G, double H) {
  if (rule.is_newton()) return newton_weight(penalties, G, H);
  const double w = exponential_step(rule, G, H, penalties.lambda, penalties.alpha);
  return capped_weight(w, penalties.cap);
}

// The score at any weight.
template <class Real>
inline Real score_at(const Real& G, const Real& d, double alpha, const Real& w) {
  const Real negative = -w, size = select(w < 0.0, negative, w);
  return -(2.0 * G * w + d * w * w + 2.0 * alpha * size);
}
inline DoubleDouble score_at(const DoubleDouble& G, const DoubleDouble& d, double alpha,
                             const DoubleDouble& w) {
  const DoubleDouble size = w.high < 0.0 ? -w : w;
  return -(w * (G * 2.0 + d * w) + size * (2.0 * alpha));
}

// The score at the best weight within the cap as a quotient: the form of the histogram engines.
inline double leaf_score(const Penalties& penalties, double G, double H) {
  const double d = H + penalties.lambda;
  if (!(d > 0.0)) return 0.0;
  const double T = soft_threshold(G, penalties.alpha);
  const double cap = penalties.cap;
  const double w = -T / d;
  if (cap <= 0.0 || std::fabs(w) <= cap) return T * T / d;
  const double capped = w < 0 ? -cap : cap;
  return -(2.0 * T * capped + d * capped * capped);
}

// The same computed from the weight, which needs no case for the cap: the form of the exact engine;
// any Real. T(G) instead of G includes the L1 penalty, as w has the opposite sign.
template <class Real>
inline Real score_by_weight(const Penalties& penalties, const Real& G, const Real& H) {
  const Real T = soft_threshold(G, penalties.alpha), d = H + penalties.lambda;
  const Real w = capped_weight(free_weight(T, d), penalties.cap);
  return -w * (T * 2.0 + d * w);
}

// Scores as fractions, which a scan compares or adds up before it divides.
template <class Real>
struct Fraction {
  Real numerator, denominator;
};

// The score of one side.
template <class Real>
inline Fraction<Real> score_fraction(const Penalties& penalties, const Real& G, const Real& d) {
  const Real zero = {}, one = zero + 1.0;
  const double cap = penalties.cap;
  const Real negative = -G, size = select(G < zero, negative, G) - penalties.alpha;
  const Real T = select(d > zero, select(size > zero, size, zero), zero);
  Fraction<Real> score = {T * T, select(d > zero, d, one)};
  if (!(cap > 0.0)) return score;
  const Real capped = 2.0 * T * cap - d * (cap * cap);
  score.numerator = select(T > cap * d, capped, score.numerator);
  score.denominator = select(T > cap * d, one, score.denominator);
  return score;
}

// T_left²/a + T_right²/b, with a and b the positive denominators of the two sides.
template <class Real>
inline Fraction<Real> two_sided_fraction(const Real& T_left, const Real& T_right, const Real& a,
                                         const Real& b) {
  return {T_left * T_left * b + T_right * T_right * a, a * b};
}

// The variable part of the same if α = 0, so that the gradients of the two sides add up to G. With
// S = a + b, which is constant within a node,
//     G_L²/a + G_R²/b = G²/S + S · t²/(a b),   t = G_L − (G/S) a,
// and the best split has the largest t²/(a b). `mean` is G/S.
template <class Real, class Constant>
inline Fraction<Real> split_fraction(const Real& G_left, const Real& H_left, const Constant& lambda,
                                     const Constant& both_sides, const Constant& mean) {
  const Real a = H_left + lambda, b = both_sides - a, t = G_left - mean * a;
  return {t * t, a * b};
}

// The gain of a split from the sum of its children's scores; `scale` converts the units of scores
// to those of the loss.
inline double split_gain(double children, double parent, double min_split_gain,
                         double scale = 1.0) {
  return 0.5 * (children - parent) * scale - min_split_gain;
}

// The same of scores in double-double.
inline DoubleDouble split_gain(const DoubleDouble& children, const DoubleDouble& parent,
                               double min_split_gain, double scale) {
  const DoubleDouble difference = children - parent;
  const double unit = 0.5 * scale;
  return DoubleDouble(unit * difference.high, unit * difference.low) - min_split_gain;
}

// The inverse: what the children's scores exceed the parent's by if a split has this gain. Scans
// compare scores, so they convert the gain to beat.
inline double score_difference(double gain, double min_split_gain) {
  return 2.0 * (gain + min_split_gain);
}

}  // namespace hedgerow
