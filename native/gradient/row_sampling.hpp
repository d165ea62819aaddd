// Row sampling: the rows that a round grows its trees on.
//
// Gradient-based sampling keeps rows with large gradients and a random part of the others. A row
// that is sampled with probability p gets the factor 1/p, so that the sums of a node are unbiased.
// A new method is an enumerator, a name in kSamplingMethods and a case of choose_probability
// (row_sampling.cpp).
//
// Whether a row is sampled depends only on its number in the whole table and on sums of integers
// over all rows, so that workers that each have some rows, [first, first + n), agree.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/reduction.hpp"
#include "gradient/quantise.hpp"
#include "shared/named.hpp"

namespace hedgerow {

// One-sided (GOSS; Ke et al., 2017): two thirds of the sample are the rows with the largest
// gradients, one third is sampled uniformly from the others. Minimal variance (MVS; Ibragimov and
// Gusev, 2019): p is proportional to √(g² + λh²), at most 1.
enum class SamplingMethod { one_sided, minimal_variance };
inline constexpr Named<SamplingMethod> kSamplingMethods[] = {
    {"gradient", SamplingMethod::one_sided},
    {"minimal_variance", SamplingMethod::minimal_variance}};

struct GradientSampling {
  SamplingMethod method = SamplingMethod::one_sided;
  double fraction = 1.0;  // of the rows, on average
  double reg_lambda = 1.0;
  std::uint64_t seed = 0;
  std::uint64_t first_row = 0;                      // the number of the first row
  std::uint64_t n_total = 0;                        // rows of all workers
  std::shared_ptr<const Reduction> reduction = {};  // null for a worker that has all rows
};

// The rows of a round, in increasing order, and their factors 1/p.
struct SampledRows {
  std::vector<std::uint32_t> rows;
  std::vector<double> factor;
};

// Samples rows by the gradients of all outputs, multiplies their gradients by their factors and
// sets those of the others to 0. `summary` is updated from the old gradients to the new ones.
SampledRows sample_by_gradient(const GradientSampling& sampling, std::uint64_t round,
                               const std::vector<RawGradients>& outputs, std::size_t n,
                               GradientTotals* summary, int threads);

// Uniform sampling: row i with probability fraction[kind[i]] by the hash of unit[i], so that rows
// of one unit are sampled together. Without kinds all rows have fraction[0]; without units each row
// is its own unit, by its number first_row + i.
std::vector<std::uint32_t> sample_rows(std::uint64_t seed, std::uint64_t round,
                                       std::uint64_t first_row, std::size_t n,
                                       std::span<const double> fraction, const std::int32_t* kind,
                                       const std::int32_t* unit);

}  // namespace hedgerow
