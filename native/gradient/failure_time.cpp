#include "gradient/failure_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "shared/math.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kRowsPerTask = 4096;
// Rows of one kind that are processed together: their data stay in the first-level cache.
constexpr std::size_t kStrip = 128;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLogTwoPi = 0.91893853320467274178;
constexpr double kInverseRootTwoPi = 0.39894228040143267794;
// A shorter interval, in z, is treated as the density at its midpoint: that is more precise than
// the difference of two probabilities.
constexpr double kShort = 1e-4;

// No branches here and below: loops over these functions are vectorised.
inline double expm1(double x) {
  constexpr double kNear = 0.34;
  const double small = std::min(std::max(x, -kNear), kNear);
  const double series = small + small * small * math_detail::exp_tail(small);
  return std::fabs(x) <= kNear ? series : exp(x) - 1.0;
}

// P(Z > x) / density(x) of a normal Z, for x ≥ 0. Times 1 + x, it is a smooth function of
// u = (x − 3.75) / (x + 3.75) in [−1, 1], which is approximated to within 2^-53 by its truncated
// Chebyshev series, written as a polynomial. The terms are divided among four sums, every fourth
// term to the same one, which are evaluated side by side.
inline double mills_ratio(double x) {
  constexpr double coefficient[7][4] = {
      {0x1.30ecee529cb25p+0, -0x1.f411b986a6eebp-3, 0x1.42c739e12c746p-6, 0x1.57713add13ed2p-4},
      {-0x1.46a0d552846bdp-4, 0x1.2975f1bf943c8p-5, -0x1.6abb736303be9p-8, -0x1.7694c5489d230p-9},
      {0x1.5678db1b80c16p-10, 0x1.01ad0733ea5fap-12, -0x1.cb39788e11bbfp-13,
       -0x1.39004b5161e0bp-15},
      {0x1.34d45eb9c4c50p-15, 0x1.42d318f3f37acp-17, -0x1.8c28ea6d1be42p-18,
       -0x1.78c0d8c35f6dfp-19},
      {0x1.74a6137d900e6p-21, 0x1.9228f02ceff7fp-21, 0x1.02496ed1c6162p-25, -0x1.5e0e804b1775ep-23},
      {-0x1.c8e24125cbee8p-25, 0x1.990a54e475534p-26, 0x1.46f0dcf01cb2ep-26,
       -0x1.437d349777dafp-31},
      {-0x1.0a984dd8ccb3cp-28, -0x1.56ea1a37f0cfap-31, 0x1.9ef188a7e471fp-32,
       0x1.cf3a9a75abae4p-34}};
  const double u = 1.0 - 7.5 / (x + 3.75), u2 = u * u, u4 = u2 * u2;
  double sum[4] = {};
#pragma GCC unroll 7
  for (int k = 6; k >= 0; --k) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sum[j] = sum[j] * u4 + coefficient[k][j];
  }
  return ((sum[0] + u * sum[1]) + u2 * (sum[2] + u * sum[3])) / (1.0 + x);
}

// The −log likelihood of a row, with its derivatives with respect to z and log σ; `off` is the
// distance of the row from the middle of the distribution.
struct Row {
  double loss = 0.0, slope = 0.0, curve = 0.0, drift = 0.0, off = 0.0;
};

// An interval: −log of its probability, the densities at both ends divided by the probability, and
// the curvature.
struct Interval {
  double loss, of_low, of_high, curve;
};

// Each distribution has functions for observed times, for times later or earlier than z, and for
// intervals. The hazard is density / P(Z > z).
struct Normal {
  static constexpr double kFarthest = kInfinity;
  static double surprise(double z) { return 0.5 * z * z + kHalfLogTwoPi; }
  static double density(double z) { return kInverseRootTwoPi * exp(-0.5 * z * z); }

  static double log_survival(double z) {
    const double mills = mills_ratio(std::fabs(z));
    return z >= 0.0 ? log(mills) - surprise(z) : log1p(-density(z) * mills);
  }
  static Row observed(double z) { return {surprise(z), z, 1.0, 1.0 - z * z, std::fabs(z)}; }
  static Row later(double z) {
    const double mills = mills_ratio(std::fabs(z)), f = density(z);
    const double hazard = z >= 0.0 ? 1.0 / mills : f / (1.0 - f * mills);
    return {-log_survival(z), hazard, hazard * (hazard - z), -z * hazard, std::fabs(z)};
  }

  // With low + high ≥ 0. If both are positive everything is in parts of the density at `low`, so
  // that nothing underflows; else the tails beyond both ends are taken from 1.
  static Interval between(double low, double high) {
    const bool has_middle = low < 0.0;
    const double unit = has_middle ? kInverseRootTwoPi : 1.0;
    const double square = has_middle ? high * high : (high - low) * (high + low);
    const double f_low = unit * exp(has_middle ? -0.5 * low * low : 0.0);
    const double f_high = unit * exp(-0.5 * square);
    const double beyond_low = f_low * mills_ratio(std::fabs(low));
    const double beyond_high = f_high * mills_ratio(high);
    const double outside = beyond_low + beyond_high;
    const double inside = has_middle ? 1.0 - outside : beyond_low - beyond_high;
    const double loss = has_middle ? -log1p(-outside) : surprise(low) - log(inside);
    const double of_low = f_low / inside, of_high = f_high / inside, slope = of_low - of_high;
    return {loss, of_low, of_high, high * of_high - low * of_low + slope * slope};
  }
};

struct Logistic {
  static constexpr double kFarthest = kInfinity;
  static double log_survival(double z) { return -(std::max(z, 0.0) + log1p(exp(-std::fabs(z)))); }
  static Row observed(double z) {
    const double e = exp(-std::fabs(z)), s = std::copysign((1.0 - e) / (1.0 + e), z);
    const double curve = 2.0 * e / ((1.0 + e) * (1.0 + e));
    return {std::fabs(z) + 2.0 * log1p(e), s, curve, 1.0 - z * s, std::fabs(z)};
  }
  static Row later(double z) {
    const double e = exp(-std::fabs(z)), smaller = e / (1.0 + e), larger = 1.0 / (1.0 + e);
    const double hazard = z >= 0.0 ? larger : smaller;
    return {-log_survival(z), hazard, smaller * larger, -z * hazard, std::fabs(z)};
  }

  // With low + high ≥ 0. The probability is e^−low (1 − e^−width) / ((1 + e^−low)(1 + e^−high)).
  static Interval between(double low, double high) {
    const double e = exp(-std::fabs(low)), below_low = (low >= 0.0 ? 1.0 : e) / (1.0 + e);
    const double e_high = exp(-high), e_width = exp(low - high), part = -expm1(low - high);
    const double of_low = (1.0 + e_high) * below_low / part;
    const double of_high = (e_width + e_high) / ((1.0 + e_high) * part);
    const double slope_low = std::copysign((1.0 - e) / (1.0 + e), low);
    const double slope_high = (1.0 - e_high) / (1.0 + e_high), slope = of_low - of_high;
    return {log1p(e_high) - log_survival(low) - log(part), of_low, of_high,
            slope_high * of_high - slope_low * of_low + slope * slope};
  }
};

struct Extreme {
  // Larger z are clipped to this: sums of e^z over rows would lose all other rows to rounding.
  static constexpr double kFarthest = 40.0;
  // From this d on, e^−d is negligible, even times the squares of other numbers.
  static constexpr double kOutOfSight = 60.0;
  static double exp_z(double z) { return exp(std::min(z, kFarthest)); }
  static double log_survival(double z) { return -exp_z(z); }
  static Row observed(double z) {
    const double w = exp_z(z);
    return {w - z, w - 1.0, w, 1.0 - z * (w - 1.0), std::fabs(z)};
  }
  static Row later(double z) {
    const double w = exp_z(z);
    return {w, w, w, -z * w, std::fabs(z)};
  }
  static Row earlier(double z) {
    const double w = exp_z(z);
    const bool is_far = z < -30.0;  // there e^w is 1 + w + w² / 2
    const double loss = is_far ? 0.5 * w - z : -log(-expm1(-w));
    const double hazard = is_far ? 1.0 - 0.5 * w : w / expm1(w);
    const double curve = std::max(0.0, hazard * (hazard + w - 1.0));
    return {loss, -hazard, curve, z * hazard, std::fabs(z)};
  }

  // The probability is e^−e^low − e^−e^high = e^−e^low (1 − e^−d), with d = e^high (1 − e^−width).
  // d may underflow, so everything is computed relative to d.
  static Interval between(double low, double high) {
    const double end = std::min(high, kFarthest), w_high = exp(end);
    const double e_width = exp(low - end), part = -expm1(low - end);
    const double d = w_high * part, inside = -expm1(-d), per_d = d > 0.0 ? d / inside : 1.0;
    const double w_low = w_high * e_width;
    const double loss = d >= 1.0 ? w_low - log(inside) : w_low - end - log(part / per_d);
    const double of_low = per_d * e_width / part, of_high = per_d * exp(-d) / part;
    const double slope = of_low - of_high;
    const double curve = (w_high - 1.0) * of_high - (w_low - 1.0) * of_low + slope * slope;
    // If the upper end is negligible, the formula would subtract w_low² from itself.
    return {loss, of_low, of_high, d > kOutOfSight ? slope : curve};
  }
};

template <class Z>
concept Symmetric = !requires { Z::earlier(0.0); };

template <class Z>
Row earlier(double z) {
  if constexpr (Symmetric<Z>) {
    Row row = Z::later(-z);
    row.slope = -row.slope;
    return row;
  } else {
    return Z::earlier(z);
  }
}

// An interval so short that its density is that of its midpoint throughout.
template <class Z>
Row nearly_known(double middle, double width) {
  Row row = Z::observed(middle);
  row.loss -= log(width);
  return row;
}

template <class Z>
Row between(double low, double high) {
  const bool mirrors = Symmetric<Z> && low + high < 0.0;
  const Interval interval = Z::between(mirrors ? -high : low, mirrors ? -low : high);
  const double of_low = mirrors ? interval.of_high : interval.of_low;
  const double of_high = mirrors ? interval.of_low : interval.of_high;
  const double drift = high * of_high - low * of_low;
  const double off = std::max(std::max(low, -high), 0.0);
  return {interval.loss, of_low - of_high, std::max(0.0, interval.curve), drift, off};
}

// The kinds of observations.
enum Kind { kObserved, kNearlyObserved, kLater, kEarlier, kBetween, kKinds };

// Rows of one kind, with the arguments and the results of its function.
struct KindStrip {
  std::size_t count = 0;
  std::uint32_t row[kStrip];
  alignas(64) double z[kStrip], other[kStrip];
  alignas(64) double first[kStrip], second[kStrip];

  // Flattened, because a loop with a call is not vectorised.
  template <class RowOf, class Quantities>
  [[gnu::flatten]] void evaluate(const RowOf& row_of, const Quantities& quantities) {
    const std::size_t n = count;
    for (std::size_t k = 0; k < n; ++k) {
      const Row row = row_of(z[k], other[k]);
      first[k] = quantities.first(row);
      second[k] = quantities.second(row);
    }
  }
};

// Where two numbers per row are written, times its weight.
struct Output {
  double *first, *second;
  const double* weight = nullptr;  // null: all are 1

  void write(std::size_t i, double a, double b) const {
    const double w = weight ? weight[i] : 1.0;
    first[i] = w * a;
    second[i] = w * b;
  }
};

// Sorts rows by kind, so that those of a kind are processed together.
template <class Z, class Quantities>
class Sorter {
 public:
  Sorter(double scale, const Quantities& quantities, const Output& output)
      : scale_(scale), quantities_(quantities), output_(output) {}

  void take(std::size_t i, double lower, double upper, double score);
  void finish() {
    for (int kind = 0; kind < kKinds; ++kind) work_off(static_cast<Kind>(kind));
  }

 private:
  void put(std::size_t i, Kind kind, double z, double other = 0.0);
  void work_off(Kind kind);
  void evaluate(Kind kind, KindStrip& strip) const;

  double scale_;
  Quantities quantities_;
  Output output_;
  KindStrip strips_[kKinds];
};

template <class Z, class Quantities>
void Sorter<Z, Quantities>::take(std::size_t i, double lower, double upper, double score) {
  const double low = (lower - score) / scale_, high = (upper - score) / scale_;
  // From the bounds themselves: high − low would lose digits if the score is large.
  const double width = (upper - lower) / scale_;
  if (lower == upper) return put(i, kObserved, low);
  if (lower == -kInfinity && upper == kInfinity) return output_.write(i, 0.0, 0.0);
  if (lower == -kInfinity) return put(i, kEarlier, high);
  if (width < kShort) return put(i, kNearlyObserved, low + 0.5 * width, width);
  if (upper == kInfinity || low >= Z::kFarthest) return put(i, kLater, low);
  put(i, kBetween, low, high);
}

template <class Z, class Quantities>
void Sorter<Z, Quantities>::put(std::size_t i, Kind kind, double z, double other) {
  KindStrip& strip = strips_[kind];
  strip.row[strip.count] = static_cast<std::uint32_t>(i);
  strip.z[strip.count] = z;
  strip.other[strip.count] = other;
  if (++strip.count == kStrip) work_off(kind);
}

template <class Z, class Quantities>
void Sorter<Z, Quantities>::work_off(Kind kind) {
  KindStrip& strip = strips_[kind];
  evaluate(kind, strip);
  for (std::size_t k = 0; k < strip.count; ++k) {
    output_.write(strip.row[k], strip.first[k], strip.second[k]);
  }
  strip.count = 0;
}

template <class Z, class Quantities>
void Sorter<Z, Quantities>::evaluate(Kind kind, KindStrip& strip) const {
  switch (kind) {
    case kObserved:
      return strip.evaluate([](double z, double) { return Z::observed(z); }, quantities_);
    case kNearlyObserved:
      return strip.evaluate([](double z, double width) { return nearly_known<Z>(z, width); },
                            quantities_);
    case kLater:
      return strip.evaluate([](double z, double) { return Z::later(z); }, quantities_);
    case kEarlier:
      return strip.evaluate([](double z, double) { return earlier<Z>(z); }, quantities_);
    case kBetween:
      return strip.evaluate([](double z, double end) { return between<Z>(z, end); }, quantities_);
    case kKinds:
      break;
  }
}

template <class Quantities>
void for_each(TimeDistribution distribution, double scale, const LogTimes& times,
              const double* score, int threads, const Quantities& quantities,
              const Output& output) {
  const std::size_t n_tasks = (times.n + kRowsPerTask - 1) / kRowsPerTask;
  const auto with = [&]<class Z>() {
    parallel_for(threads, n_tasks, [&](std::size_t task) {
      check_interrupt();
      Sorter<Z, Quantities> rows(scale, quantities, output);
      const std::size_t end = std::min(times.n, (task + 1) * kRowsPerTask);
      for (std::size_t i = task * kRowsPerTask; i < end; ++i) {
        rows.take(i, times.lower[i], times.upper[i], score[i]);
      }
      rows.finish();
    });
  };
  switch (distribution) {
    case TimeDistribution::normal:
      return with.template operator()<Normal>();
    case TimeDistribution::logistic:
      return with.template operator()<Logistic>();
    case TimeDistribution::extreme:
      return with.template operator()<Extreme>();
  }
}

struct GradientAndHessian {
  double scale;

  double first(const Row& row) const { return -row.slope / scale; }
  double second(const Row& row) const {
    const double curve = std::max(row.curve, std::fabs(row.slope) / std::max(1.0, row.off));
    return curve / (scale * scale);
  }
};

struct LossAndDrift {
  static double first(const Row& row) { return row.loss; }
  static double second(const Row& row) { return row.drift; }
};

}  // namespace

void failure_gradients(TimeDistribution distribution, double scale, const LogTimes& times,
                       const double* score, const double* weight, double* g, double* h,
                       int threads) {
  for_each(distribution, scale, times, score, threads, GradientAndHessian{scale}, {g, h, weight});
}

void failure_losses(TimeDistribution distribution, double scale, const LogTimes& times,
                    const double* score, double* loss, double* drift, int threads) {
  for_each(distribution, scale, times, score, threads, LossAndDrift{}, {loss, drift});
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
