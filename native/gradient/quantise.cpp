#include "gradient/quantise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/threads.hpp"

namespace hedgerow {
namespace {

typedef std::int32_t Word32 __attribute__((may_alias));
typedef std::uint64_t Word64 __attribute__((may_alias));

// Floats and integers take turns in the memory of g.
void quantise_narrow(const FixedPoint& fixed, float* g, const float* h, std::size_t n) {
  const PackedQuantiser quantiser(fixed);
  auto* rows = reinterpret_cast<Word32*>(g);
  for (std::size_t i = 0; i < n; ++i) {
    rows[i] = quantiser(std::bit_cast<float>(rows[i]), h[i]);
  }
}

void quantise_wide(const FixedPoint& fixed, WidePair* pairs, std::size_t n) {
  const WideQuantiser quantiser(fixed);
  auto* words = reinterpret_cast<Word64*>(pairs);
  for (std::size_t i = 0; i < n; ++i) {
    const GradientSum row =
        quantiser(std::bit_cast<double>(words[2 * i]), std::bit_cast<double>(words[2 * i + 1]));
    words[2 * i] = static_cast<std::uint64_t>(row.g);
    words[2 * i + 1] = row.hc;
  }
}

// Eight lanes at every instruction-set level, so that the order of additions is the same.
constexpr std::size_t kLanes = 8;
typedef double Double8 __attribute__((vector_size(64)));
typedef std::int64_t Long8 __attribute__((vector_size(64)));

Double8 load8(const double* from) {
  Double8 lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

Double8 magnitude(Double8 x) {
  return std::bit_cast<Double8>(std::bit_cast<Long8>(x) & std::numeric_limits<std::int64_t>::max());
}

}  // namespace

GradientSummary summarise(const double* g, const double* h, std::size_t n) {
  Double8 max_g = {}, sum_g = {}, max_h = {}, sum_h = {};
  Double8 min_h = Double8{} + std::numeric_limits<double>::infinity();
  const auto add = [&](Double8 gradient, Double8 hessian) {
    const Double8 size = magnitude(gradient);
    max_g = size > max_g ? size : max_g;
    max_h = hessian > max_h ? hessian : max_h;
    min_h = hessian < min_h ? hessian : min_h;
    sum_g += size;
    sum_h += hessian;
  };
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) add(load8(g + i), load8(h + i));
  if (whole < n) {
    // Lanes past the end hold zeros, which would be the smallest hessian.
    Double8 last_g = {}, last_h = {};
    const Double8 smallest = min_h;
    for (std::size_t lane = 0; whole + lane < n; ++lane) {
      last_g[lane] = g[whole + lane];
      last_h[lane] = h[whole + lane];
    }
    add(last_g, last_h);
    min_h = smallest;
    for (std::size_t i = whole; i < n; ++i) min_h[0] = std::min(min_h[0], h[i]);
  }
  GradientSummary summary;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    summary.add({max_g[lane], sum_g[lane], max_h[lane], sum_h[lane], min_h[lane]});
  }
  return summary;
}

void store(const double* g, const double* h, std::size_t n, const RawGradients& raw,
           std::size_t begin) {
  if (raw.narrow_g) {
    for (std::size_t i = 0; i < n; ++i) raw.narrow_g[begin + i] = static_cast<float>(g[i]);
    for (std::size_t i = 0; i < n; ++i) raw.narrow_h[begin + i] = static_cast<float>(h[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) raw.wide[begin + i] = {g[i], h[i]};
  }
}

GradientSummary take_gradients(const double* g, const double* h, std::size_t n,
                               const RawGradients& raw, int threads) {
  const std::size_t blocks = (n + kRowBlock - 1) / kRowBlock;
  std::vector<GradientSummary> summaries(blocks);
  parallel_for(threads_for(n, 2 * kRowBlock, threads), blocks, [&](std::size_t block) {
    const std::size_t begin = block * kRowBlock, count = std::min(kRowBlock, n - begin);
    double convex[kRowBlock];
    for (std::size_t i = 0; i < count; ++i) convex[i] = std::max(h[begin + i], 0.0);
    store(g + begin, convex, count, raw, begin);
    summaries[block] = summarise(g + begin, convex, count);
  });
  GradientSummary total;
  for (const GradientSummary& summary : summaries) total.add(summary);
  return total;
}

Gradients quantise(const RawGradients& raw, const FixedPoint& fixed, std::size_t n, int threads) {
  parallel_for(threads_for(n, 2 * kRowBlock, threads), (n + kRowBlock - 1) / kRowBlock,
               [&](std::size_t block) {
                 const std::size_t begin = block * kRowBlock;
                 const std::size_t count = std::min(kRowBlock, n - begin);
                 if (fixed.packed) {
                   quantise_narrow(fixed, raw.narrow_g + begin, raw.narrow_h + begin, count);
                 } else {
                   quantise_wide(fixed, raw.wide + begin, count);
                 }
               });
  Gradients gradients;
  gradients.fixed = fixed;
  if (fixed.packed) {
    gradients.packed = reinterpret_cast<const std::int32_t*>(raw.narrow_g);
  } else {
    gradients.wide = reinterpret_cast<const GradientSum*>(raw.wide);
  }
  return gradients;
}

}  // namespace hedgerow
