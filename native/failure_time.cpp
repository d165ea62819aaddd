#include "failure_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kRowsPerTask = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLogTwoPi = 0.91893853320467274178;
constexpr double kInverseRootTwoPi = 0.39894228040143267794;
// An interval as short as this, in z, is a density in its middle: the difference of probabilities
// would have fewer digits left than that is off.
constexpr double kShort = 1e-4;

double expm1(double x) {
  if (std::fabs(x) <= 0.34) return x + x * x * math_detail::exp_tail(x);
  return exp(x) - 1.0;
}

double softplus(double x) { return std::max(x, 0.0) + log1p(exp(-std::fabs(x))); }

// P(Z > x) / density(x) of a normal Z, for x ≥ 0: times 1 + x a smooth function of
// u = (x − 3.75) / (x + 3.75) in [−1, 1], here its Chebyshev series, within 2^-53.
double mills_ratio(double x) {
  constexpr double coefficient[] = {
      0x1.2b6db737787e2p+0,   -0x1.47c7fd6396db2p-3, -0x1.0723e383674c5p-5,  0x1.0193b9f3c02fcp-5,
      -0x1.60b3acd8bc259p-7,  0x1.04666826b0051p-9,  -0x1.c1c541c344881p-14, -0x1.3ac66b1aaee13p-15,
      0x1.ce7c1cd4c39adp-18,  0x1.70056ad879b63p-21, -0x1.1da33b121d596p-22, -0x1.36e5c079b5ed6p-26,
      0x1.623a84e5c1c4bp-27,  0x1.d711ede5ba97dp-31, -0x1.c6052058ee8bbp-32, -0x1.ebb8687d7005cp-35,
      0x1.169b49097f606p-36,  0x1.0ad03cd624ffbp-38, -0x1.094c8aaefb280p-41, -0x1.0c79a203c4214p-42,
      -0x1.e4419b5a4a0dep-53, 0x1.d15f58df81354p-47, 0x1.d5f4865197332p-50,  -0x1.2b1c69399b093p-51,
      -0x1.8818b9525f95fp-53, 0x1.7f7ac0dac05b3p-58, 0x1.9ef188a7e471fp-57,  0x1.cf3a9a75abae4p-60};
  const double u = 1.0 - 7.5 / (x + 3.75);
  double b = 0.0, before = 0.0;
  for (std::size_t k = std::size(coefficient) - 1; k > 0; --k) {
    const double next = 2.0 * u * b - before + coefficient[k];
    before = b;
    b = next;
  }
  return (u * b - before + coefficient[0]) / (1.0 + x);
}

// What is needed of each distribution. `surprise` is −log density, with its derivatives; the hazard
// is density / P(Z > z), and the reverse hazard density / P(Z < z).
struct Normal {
  static constexpr double kFarthest = kInfinity;
  static double surprise(double z) { return 0.5 * z * z + kHalfLogTwoPi; }
  static double slope(double z) { return z; }
  static double curve(double) { return 1.0; }
  static double density(double z) { return kInverseRootTwoPi * exp(-0.5 * z * z); }
  static double log_survival(double z) {
    if (z >= 0.0) return log(mills_ratio(z)) - surprise(z);
    return log1p(-density(z) * mills_ratio(-z));
  }
  static double hazard(double z) {
    if (z >= 0.0) return 1.0 / mills_ratio(z);
    const double f = density(z);
    return f / (1.0 - f * mills_ratio(-z));
  }
  static double hazard_slope(double z) { return hazard(z) * (hazard(z) - z); }
  static double log_probability(double z) { return log_survival(-z); }
  static double reverse_hazard(double z) { return hazard(-z); }
  static double reverse_hazard_slope(double z) { return hazard_slope(-z); }
};

struct Logistic {
  static constexpr double kFarthest = kInfinity;
  static double surprise(double z) { return std::fabs(z) + 2.0 * log1p(exp(-std::fabs(z))); }
  static double slope(double z) { return sigmoid(z) - sigmoid(-z); }
  static double curve(double z) { return 2.0 * hazard_slope(z); }
  static double log_survival(double z) { return -softplus(z); }
  static double hazard(double z) { return sigmoid(z); }
  static double hazard_slope(double z) { return sigmoid(z) * sigmoid(-z); }
  static double log_probability(double z) { return -softplus(-z); }
  static double reverse_hazard(double z) { return sigmoid(-z); }
  static double reverse_hazard_slope(double z) { return hazard_slope(z); }
};

struct Extreme {
  // e^z beyond this would leave nothing of other rows; a row farther off counts as one here.
  static constexpr double kFarthest = 40.0;
  static double exp_z(double z) { return exp(std::min(z, kFarthest)); }
  static double surprise(double z) { return exp_z(z) - z; }
  static double slope(double z) { return exp_z(z) - 1.0; }
  static double curve(double z) { return exp_z(z); }
  static double log_survival(double z) { return -exp_z(z); }
  static double hazard(double z) { return exp_z(z); }
  static double hazard_slope(double z) { return exp_z(z); }
  static double log_probability(double z) {
    const double w = exp_z(z);
    return z < -30.0 ? z - 0.5 * w : log(-expm1(-w));
  }
  static double reverse_hazard(double z) {
    const double w = exp_z(z);
    return z < -30.0 ? 1.0 - 0.5 * w : w / expm1(w);
  }
  static double reverse_hazard_slope(double z) {
    const double b = reverse_hazard(z);
    return std::max(0.0, b * (b + exp_z(z) - 1.0));
  }
};

// −log likelihood of a row, with its derivatives when z moves and by log σ; `off` is how far from
// the middle of the distribution the row lies.
struct Row {
  double loss = 0.0, slope = 0.0, curve = 0.0, drift = 0.0, off = 0.0;
};

template <class Z>
Row known(double z) {
  return {Z::surprise(z), Z::slope(z), Z::curve(z), 1.0 - z * Z::slope(z), std::fabs(z)};
}

template <class Z>
Row later_than(double z) {
  const double hazard = Z::hazard(z);
  return {-Z::log_survival(z), hazard, Z::hazard_slope(z), -z * hazard, std::fabs(z)};
}

template <class Z>
Row earlier_than(double z) {
  const double hazard = Z::reverse_hazard(z);
  return {-Z::log_probability(z), -hazard, Z::reverse_hazard_slope(z), z * hazard, std::fabs(z)};
}

template <class Z>
Row between(double low, double high) {
  const double width = high - low;
  if (width < kShort) {
    Row row = known<Z>(low + 0.5 * width);
    row.loss -= log(width);
    return row;
  }
  if (low >= Z::kFarthest) return later_than<Z>(low);
  // Densities at both ends, as parts of the probability between them: seen from the tail that the
  // interval lies in, where the nearer end has nearly all of the probability beyond.
  double of_low, of_high, loss;
  if (low + high > 0.0) {
    const double tail = Z::log_survival(low), part = Z::log_survival(high) - tail;
    const double inside = -expm1(part);
    of_low = Z::hazard(low) / inside;
    of_high = Z::hazard(high) * exp(part) / inside;
    loss = -tail - log(inside);
  } else {
    const double tail = Z::log_probability(high), part = Z::log_probability(low) - tail;
    const double inside = -expm1(part);
    of_low = Z::reverse_hazard(low) * exp(part) / inside;
    of_high = Z::reverse_hazard(high) / inside;
    loss = -tail - log(inside);
  }
  const double slope = of_low - of_high;
  const double curve = Z::slope(high) * of_high - Z::slope(low) * of_low + slope * slope;
  const double off = std::max({low, -high, 0.0});
  return {loss, slope, std::max(0.0, curve), high * of_high - low * of_low, off};
}

template <class Z>
Row row_of(double lower, double upper, double score, double scale) {
  const double low = (lower - score) / scale, high = (upper - score) / scale;
  if (lower == upper) return known<Z>(low);
  if (lower == -kInfinity) return upper == kInfinity ? Row{} : earlier_than<Z>(high);
  return upper == kInfinity ? later_than<Z>(low) : between<Z>(low, high);
}

template <class Visit>
void for_each(TimeDistribution distribution, double scale, const LogTimes& times,
              const double* score, int threads, Visit visit) {
  const std::size_t n_tasks = (times.n + kRowsPerTask - 1) / kRowsPerTask;
  const auto with = [&](auto row_of) {
    parallel_for(threads, n_tasks, [&](std::size_t task) {
      const std::size_t end = std::min(times.n, (task + 1) * kRowsPerTask);
      for (std::size_t i = task * kRowsPerTask; i < end; ++i) {
        visit(i, row_of(times.lower[i], times.upper[i], score[i], scale));
      }
    });
  };
  switch (distribution) {
    case TimeDistribution::normal:
      return with(row_of<Normal>);
    case TimeDistribution::logistic:
      return with(row_of<Logistic>);
    case TimeDistribution::extreme:
      return with(row_of<Extreme>);
  }
}

}  // namespace

void failure_gradients(TimeDistribution distribution, double scale, const LogTimes& times,
                       const double* score, const double* weight, double* g, double* h,
                       int threads) {
  for_each(distribution, scale, times, score, threads, [&](std::size_t i, const Row& row) {
    const double w = weight ? weight[i] : 1.0;
    const double curve = std::max(row.curve, std::fabs(row.slope) / std::max(1.0, row.off));
    g[i] = -w * row.slope / scale;
    h[i] = w * curve / (scale * scale);
  });
}

void failure_losses(TimeDistribution distribution, double scale, const LogTimes& times,
                    const double* score, double* loss, double* drift, int threads) {
  for_each(distribution, scale, times, score, threads, [&](std::size_t i, const Row& row) {
    loss[i] = row.loss;
    drift[i] = row.drift;
  });
}

double log_survival(TimeDistribution distribution, double z) {
  switch (distribution) {
    case TimeDistribution::normal:
      return Normal::log_survival(z);
    case TimeDistribution::logistic:
      return Logistic::log_survival(z);
    case TimeDistribution::extreme:
      break;
  }
  return Extreme::log_survival(z);
}

}  // namespace hedgerow
