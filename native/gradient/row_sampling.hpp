// Rows that a round grows its trees on.
//
// Drawn by their gradients: those with large ones are kept, of the others some stand for all. A
// row that is drawn with probability p counts 1/p times, so the sums of a node are right on
// average.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradient/quantise.hpp"
#include "shared/named.hpp"

namespace hedgerow {

// One-sided (GOSS; Ke et al., 2017): two thirds of the sample are the rows of the largest
// gradients, one third comes from all others alike. Minimal variance (MVS; Ibragimov and Gusev,
// 2019): p grows with √(g² + λh²) up to 1.
enum class SamplingMethod { one_sided, minimal_variance };
inline constexpr Named<SamplingMethod> kSamplingMethods[] = {
    {"gradient", SamplingMethod::one_sided},
    {"minimal_variance", SamplingMethod::minimal_variance}};

struct GradientSampling {
  SamplingMethod method = SamplingMethod::one_sided;
  double fraction = 1.0;  // of the rows, on average
  double reg_lambda = 1.0;
  std::uint64_t seed = 0;
};

// The rows of a round, in increasing order, and how often each of them counts.
struct SampledRows {
  std::vector<std::uint32_t> rows;
  std::vector<double> factor;
};

// Draws rows by the gradients of all outputs, multiplies theirs by their factors and sets the
// others' to 0. `summary` becomes that of the new gradients.
SampledRows sample_by_gradient(const GradientSampling& sampling, std::uint64_t round,
                               const std::vector<RawGradients>& outputs, std::size_t n,
                               GradientSummary* summary, int threads);

// Rows drawn alike: row i with probability fraction[kind[i]] by the hash of unit[i], so that rows
// of one unit are drawn together. Without kinds all have fraction[0], without units each row is its
// own.
std::vector<std::uint32_t> sample_rows(std::uint64_t seed, std::uint64_t round, std::size_t n,
                                       std::span<const double> fraction, const std::int32_t* kind,
                                       const std::int32_t* unit);

}  // namespace hedgerow
