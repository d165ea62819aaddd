// Quantisation. Wide: one step of g is Σ|g| / 2^62, so no sum can overflow and none loses what a
// float64 sum would keep. Packed: as many bits as leave room to add 4095 rows before spilling.
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

// The mean |g| of a packed row keeps at least 2^14 / 64 = 256 steps.
constexpr double kLargestToMean = 64.0;
constexpr int kCountBits = 12;
constexpr int kRowBitsG = 14;
constexpr int kRowBitsH = 13;
static_assert(kCountBits + (kRowBitsH + kCountBits) + (1 + kRowBitsG + kCountBits) == 64);

typedef std::int32_t Word32 __attribute__((may_alias));
typedef std::uint64_t Word64 __attribute__((may_alias));

double steps(int bits) { return static_cast<double>((std::int64_t{1} << bits) - 1); }

FixedPoint packed_units(const GradientSummary& summary) {
  FixedPoint fixed;
  fixed.packed = true;
  fixed.count_bits = kCountBits;
  // If all h are equal, one step says it all.
  fixed.row_h_bits = summary.min_h == summary.max_h ? 1 : kRowBitsH;
  fixed.h_bits = fixed.row_h_bits + kCountBits;
  fixed.h_unit = unit_for(summary.max_h, steps(fixed.row_h_bits));
  // Single precision holds 24 bits: more would be noise.
  const int row_bits_g = std::min(64 - fixed.h_bits - 2 * kCountBits - 1, 23);
  fixed.g_unit = unit_for(summary.max_g, steps(row_bits_g));
  return fixed;
}

FixedPoint wide_units(const GradientSummary& summary, std::size_t n, int count_shift) {
  FixedPoint fixed;
  // Rounding may add a step a row, and a few parts in 2^53 of the whole.
  const double room = std::ldexp(1.0 - 0x1p-40, count_shift) - 2.0 * static_cast<double>(n);
  fixed.g_unit = unit_for(summary.sum_g, std::ldexp(1.0, 62));
  fixed.h_unit = unit_for(summary.sum_h, room);
  return fixed;
}

// Floats and integers take turns in the memory of g.
void quantise_narrow(const FixedPoint& fixed, float* g, const float* h, std::size_t n) {
  const auto per_g = static_cast<float>(1.0 / fixed.g_unit);
  const auto per_h = static_cast<float>(1.0 / fixed.h_unit);
  const int row_h_bits = fixed.row_h_bits;
  const std::int32_t largest_h = (1 << row_h_bits) - 1;
  auto* rows = reinterpret_cast<Word32*>(g);
  for (std::size_t i = 0; i < n; ++i) {
    const auto gradient = std::bit_cast<float>(rows[i]);
    const auto g_steps = static_cast<std::int32_t>(std::floor(gradient * per_g + 0.5f));
    // A row with weight never vanishes: H stays positive wherever there are rows.
    auto h_steps = static_cast<std::int32_t>(std::floor(h[i] * per_h + 0.5f));
    h_steps = h_steps < 1 ? 1 : h_steps;
    h_steps = h_steps > largest_h ? largest_h : h_steps;
    h_steps = h[i] > 0.0f ? h_steps : 0;
    rows[i] = g_steps << row_h_bits | h_steps;
  }
}

void quantise_wide(const FixedPoint& fixed, WidePair* pairs, std::size_t n) {
  const double per_g = 1.0 / fixed.g_unit, per_h = 1.0 / fixed.h_unit;
  const std::uint64_t one = std::uint64_t{1} << fixed.count_shift;
  auto* words = reinterpret_cast<Word64*>(pairs);
  for (std::size_t i = 0; i < n; ++i) {
    const auto g = std::bit_cast<double>(words[2 * i]), h = std::bit_cast<double>(words[2 * i + 1]);
    const auto g_steps = static_cast<std::int64_t>(std::floor(g * per_g + 0.5));
    const auto h_steps = static_cast<std::int64_t>(std::floor(h * per_h + 0.5));
    const std::int64_t positive = h_steps < 1 ? 1 : h_steps;
    words[2 * i] = static_cast<std::uint64_t>(g_steps);
    words[2 * i + 1] = (h > 0.0 ? static_cast<std::uint64_t>(positive) : 0) + one;
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

void GradientSummary::add(const GradientSummary& other) {
  max_g = std::max(max_g, other.max_g);
  max_h = std::max(max_h, other.max_h);
  min_h = std::min(min_h, other.min_h);
  sum_g += other.sum_g;
  sum_h += other.sum_h;
}

double unit_for(double largest, double steps) {
  return largest > 0.0 ? std::max(largest / steps, std::numeric_limits<double>::min()) : 1.0;
}

bool is_moderate(double largest) { return largest == 0.0 || (largest > 1e-30 && largest < 1e30); }

bool fits_packed(const GradientSummary& summary, std::size_t n) {
  const auto rows = static_cast<double>(n);
  return n >= kPackedFromRows && is_moderate(summary.max_g) && is_moderate(summary.max_h) &&
         summary.max_g * rows <= kLargestToMean * summary.sum_g &&
         summary.max_h * rows <= kLargestToMean * summary.sum_h;
}

FixedPoint choose_units(const GradientSummary& summary, std::size_t n, bool packed) {
  const int count_shift = 64 - static_cast<int>(std::bit_width(n));
  FixedPoint fixed = packed ? packed_units(summary) : wide_units(summary, n, count_shift);
  fixed.count_shift = count_shift;
  // Packed rows pass through single precision, where the smallest numbers vanish.
  fixed.has_zero_h = !(summary.min_h > (packed ? 0x1p-126 : 0.0));
  return fixed;
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
    gradients.wide = reinterpret_cast<const Sum*>(raw.wide);
  }
  return gradients;
}

}  // namespace hedgerow
