// Accelerated failure time models: log T = s + σZ, with T observed exactly or censored to an
// interval. Likelihoods and their derivatives stay finite in the tails, where densities and
// probabilities underflow: everything is computed as ratios or logarithms.
#pragma once
#include <cstddef>

#include "shared/named.hpp"

namespace hedgerow {

enum class TimeDistribution {
  normal,
  logistic,
  extreme,  // P(Z > z) = e^−e^z: T is Weibull
};

inline constexpr Named<TimeDistribution> kTimeDistributions[] = {
    {"normal", TimeDistribution::normal},
    {"logistic", TimeDistribution::logistic},
    {"extreme", TimeDistribution::extreme}};

// Logarithms of the bounds of each row's T: equal if it is observed, infinite where there is no
// bound.
struct LogTimes {
  const double *lower, *upper;
  std::size_t n;
};

// Writes the gradient of −log likelihood with respect to the scores, and a hessian: the curvature,
// but never so small that a row's own Newton step crosses the middle of the distribution.
void failure_gradients(TimeDistribution distribution, double scale, const LogTimes& times,
                       const double* score, const double* weight, double* g, double* h,
                       int threads);

// Writes −log likelihood (of σZ = log T − s for observed T) and its derivative with respect to log
// σ.
void failure_losses(TimeDistribution distribution, double scale, const LogTimes& times,
                    const double* score, double* loss, double* drift, int threads);

// log P(Z > z).
double log_survival(TimeDistribution distribution, double z);

}  // namespace hedgerow
