#include "explain/quadrature.hpp"

#include <algorithm>

namespace hedgerow::explain {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kNewtonSteps = 30;  // at most: four or five are enough from these starts

// Of an angle in [0, π], to six digits: where Newton's method starts.
double rough_cosine(double angle) {
  const double turned = angle - 0.5 * kPi, square = turned * turned;  // cos α = −sin(α − π/2)
  double term = -turned, sum = -turned;
  for (int k = 1; k < 8; ++k) {
    term *= -square / static_cast<double>(2 * k * (2 * k + 1));
    sum += term;
  }
  return sum;
}

// The Legendre polynomial of degree n at x, and its derivative.
struct Legendre {
  double value, slope;

  Legendre(std::size_t n, double x) {
    double before = 1.0;
    value = x;
    for (std::size_t k = 2; k <= n; ++k) {
      const auto degree = static_cast<double>(k);
      const double next = ((2.0 * degree - 1.0) * x * value - (degree - 1.0) * before) / degree;
      before = value;
      value = next;
    }
    slope = static_cast<double>(n) * (before - x * value) / (1.0 - x * x);
  }
};

// The root next to `x`. Newton's method may end in two neighbours in turn: the smaller is taken.
double root_near(std::size_t n, double x) {
  double last = x;
  for (int step = 0; step < kNewtonSteps; ++step) {
    const Legendre at(n, x);
    last = x;
    x -= at.value / at.slope;
    if (x == last) break;
  }
  return std::min(x, last);
}

}  // namespace

QuadratureRule gauss_legendre(std::size_t n_points) {
  QuadratureRule rule{std::vector<double>(n_points), std::vector<double>(n_points)};
  for (std::size_t i = 0; i < (n_points + 1) / 2; ++i) {
    const std::size_t mirrored = n_points - 1 - i;
    const double angle =
        kPi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n_points) + 0.5);
    const double x = i == mirrored ? 0.0 : root_near(n_points, rough_cosine(angle));
    const double slope = Legendre(n_points, x).slope;
    rule.point[i] = 0.5 * (1.0 - x);
    rule.point[mirrored] = 0.5 * (1.0 + x);
    rule.weight[i] = rule.weight[mirrored] = 1.0 / ((1.0 - x * x) * slope * slope);
  }
  return rule;
}

}  // namespace hedgerow::explain
