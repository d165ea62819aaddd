#include "gradient/row_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/threads.hpp"
#include "shared/random.hpp"

namespace hedgerow {
namespace {

constexpr double kLargestPart = 2.0 / 3.0;  // of a one-sided sample

template <class Task>
void for_each_block(std::size_t n, int threads, Task task) {
  const std::size_t blocks = (n + kRowBlock - 1) / kRowBlock;
  parallel_for(threads_for(n, 2 * kRowBlock, threads), blocks, [&](std::size_t block) {
    task(block, block * kRowBlock, std::min(n, (block + 1) * kRowBlock));
  });
}

struct Pair {
  double g, h;
};

Pair read(const RawGradients& raw, std::size_t i) {
  if (raw.wide) return {raw.wide[i].g, raw.wide[i].h};
  return {raw.narrow_g[i], raw.narrow_h[i]};
}

// The magnitude of each row's gradients.
std::vector<double> sizes(const GradientSampling& sampling,
                          const std::vector<RawGradients>& outputs, std::size_t n, int threads) {
  const bool counts_hessians = sampling.method == SamplingMethod::minimal_variance;
  const double lambda = counts_hessians ? sampling.reg_lambda : 0.0;
  std::vector<double> size(n);
  for_each_block(n, threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double square = 0.0;
      for (const RawGradients& raw : outputs) {
        const Pair pair = read(raw, i);
        square += pair.g * pair.g + lambda * pair.h * pair.h;
      }
      size[i] = std::sqrt(square);
    }
  });
  return size;
}

// p = 1 above `from`, else size × slope + level.
struct Probability {
  double from, slope, level;

  double operator()(double size) const {
    return size > from ? 1.0 : std::min(1.0, size * slope + level);
  }
};

Probability one_sided(const std::vector<double>& size, double sample_size) {
  std::vector<double> ranked(size);
  const auto largest = static_cast<std::size_t>(kLargestPart * sample_size);
  std::nth_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(largest),
                   ranked.end(), std::greater<>());
  const double from = ranked[largest];
  const auto above = static_cast<double>(
      std::count_if(size.begin(), size.end(), [&](double one) { return one > from; }));
  return {from, 0.0, (sample_size - above) / (static_cast<double>(size.size()) - above)};
}

// The slope at which Σ min(1, size × slope) equals the sample size, found from the rows sorted by
// size.
Probability minimal_variance(const std::vector<double>& size, double sample_size) {
  std::vector<double> ranked(size);
  std::sort(ranked.begin(), ranked.end());
  double below = 0.0;  // the sum of the sizes up to a row
  for (const double one : ranked) below += one;
  if (!(below > 0.0)) return {INFINITY, 0.0, sample_size / static_cast<double>(size.size())};
  double certain = 0.0;
  for (std::size_t i = ranked.size(); i-- > 0 && certain < sample_size;) {
    const double slope = (sample_size - certain) / below;
    if (ranked[i] * slope <= 1.0) return {INFINITY, slope, 0.0};
    below -= ranked[i];
    certain += 1.0;
  }
  return {0.0, 0.0, 0.0};
}

Probability choose_probability(SamplingMethod method, const std::vector<double>& size,
                               double sample_size) {
  switch (method) {
    case SamplingMethod::one_sided:
      return one_sided(size, sample_size);
    case SamplingMethod::minimal_variance:
      return minimal_variance(size, sample_size);
  }
  return {0.0, 0.0, 1.0};
}

}  // namespace

SampledRows sample_by_gradient(const GradientSampling& sampling, std::uint64_t round,
                               const std::vector<RawGradients>& outputs, std::size_t n,
                               GradientSummary* summary, int threads) {
  const std::vector<double> size = sizes(sampling, outputs, n, threads);
  const double sample_size = sampling.fraction * static_cast<double>(n);
  const Probability probability = choose_probability(sampling.method, size, sample_size);
  const std::uint64_t key = hash_key(sampling.seed, Purpose::row_sample, round);
  const std::size_t blocks = (n + kRowBlock - 1) / kRowBlock, K = outputs.size();
  std::vector<SampledRows> samples(blocks);
  std::vector<GradientSummary> parts(blocks * K);
  for_each_block(n, threads, [&](std::size_t block, std::size_t begin, std::size_t end) {
    double factor[kRowBlock], g[kRowBlock], h[kRowBlock];
    for (std::size_t i = begin; i < end; ++i) {
      const double p = probability(size[i]);
      const bool is_drawn = p >= 1.0 || unit_interval(hash_at(key, i)) < p;
      factor[i - begin] = is_drawn ? 1.0 / p : 0.0;
      if (!is_drawn) continue;
      samples[block].rows.push_back(static_cast<std::uint32_t>(i));
      samples[block].factor.push_back(1.0 / p);
    }
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t i = begin; i < end; ++i) {
        const Pair pair = read(outputs[k], i);
        g[i - begin] = factor[i - begin] * pair.g;
        h[i - begin] = factor[i - begin] * pair.h;
      }
      store(g, h, end - begin, outputs[k], begin);
      parts[block * K + k] = summarise(g, h, end - begin);
    }
  });
  for (std::size_t k = 0; k < K; ++k) {
    summary[k] = {};
    for (std::size_t block = 0; block < blocks; ++block) summary[k].add(parts[block * K + k]);
  }
  SampledRows all;
  for (const SampledRows& some : samples) {
    all.rows.insert(all.rows.end(), some.rows.begin(), some.rows.end());
    all.factor.insert(all.factor.end(), some.factor.begin(), some.factor.end());
  }
  return all;
}

std::vector<std::uint32_t> sample_rows(std::uint64_t seed, std::uint64_t round, std::size_t n,
                                       std::span<const double> fraction, const std::int32_t* kind,
                                       const std::int32_t* unit) {
  const std::uint64_t key = hash_key(seed, Purpose::row_sample, round);
  std::vector<std::uint32_t> chosen;
  for (std::size_t row = 0; row < n; ++row) {
    const double p = fraction[kind ? static_cast<std::size_t>(kind[row]) : 0];
    const std::uint64_t unit_id = unit ? static_cast<std::uint64_t>(unit[row]) : row;
    if (unit_interval(hash_at(key, unit_id)) < p) chosen.push_back(static_cast<std::uint32_t>(row));
  }
  return chosen;
}

}  // namespace hedgerow
