#include "gradient/quantise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/lanes.hpp"
#include "core/threads.hpp"

namespace hedgerow {
namespace {

typedef std::int32_t Word32 __attribute__((may_alias));
typedef std::uint64_t Word64 __attribute__((may_alias));

// The integers replace the floats of g in the same memory.
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

constexpr std::size_t kLanes = Double8::kCount;

Double8 magnitude(const Double8& x) {
  return as<double>(as<std::int64_t>(x) & std::numeric_limits<std::int64_t>::max());
}

// Eight numbers from the array, with zeros past its end.
Double8 load_up_to_8(const double* from, std::size_t count) {
  Double8 lanes;
  for (std::size_t lane = 0; lane < count; ++lane) lanes.set(lane, from[lane]);
  return lanes;
}

// Adds up the magnitudes of numbers level by level; `largest` is the largest of them.
LevelSum sum_magnitudes(const double* numbers, std::size_t n, double largest) {
  const LevelSum::Splitter splitter(largest);
  std::array<Double8, LevelSum::kKept> sum = {};
  const auto add = [&](const Double8& number) {
    Double8 rest = magnitude(number) * splitter.scale;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const Double8 steps = (rest + splitter.rounder[i]) - splitter.rounder[i];
      sum[i] += steps;
      rest -= steps;
    }
  };
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) add(Double8::load(numbers + i));
  if (whole < n) add(load_up_to_8(numbers + whole, n - whole));
  // Steps are integers, so that the sums are exact in any order.
  std::array<double, LevelSum::kKept> sums = {};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[i] += sum[i][lane];
  }
  return {splitter, sums};
}

}  // namespace

GradientTotals summarise(const double* g, const double* h, std::size_t n) {
  Double8 max_g, max_h, min_h = std::numeric_limits<double>::infinity();
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const Double8 size = magnitude(Double8::load(g + i)), hessian = Double8::load(h + i);
    max_g = select(size > max_g, size, max_g);
    max_h = select(hessian > max_h, hessian, max_h);
    min_h = select(hessian < min_h, hessian, min_h);
  }
  GradientTotals totals;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    totals.add({max_g[lane], max_h[lane], min_h[lane]});
  }
  for (std::size_t i = whole; i < n; ++i) totals.add({std::fabs(g[i]), h[i], h[i]});
  totals.sum_g = sum_magnitudes(g, n, totals.max_g);
  totals.sum_h = sum_magnitudes(h, n, totals.max_h);
  return totals;
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

GradientTotals take_gradients(const double* g, const double* h, std::size_t n,
                              const RawGradients& raw, int threads) {
  const std::size_t blocks = (n + kRowBlock - 1) / kRowBlock;
  std::vector<GradientTotals> parts(blocks);
  parallel_for(threads_for(n, 2 * kRowBlock, threads), blocks, [&](std::size_t block) {
    const std::size_t begin = block * kRowBlock, count = std::min(kRowBlock, n - begin);
    double convex[kRowBlock];
    for (std::size_t i = 0; i < count; ++i) convex[i] = std::max(h[begin + i], 0.0);
    store(g + begin, convex, count, raw, begin);
    parts[block] = summarise(g + begin, convex, count);
  });
  GradientTotals total;
  for (const GradientTotals& part : parts) total.add(part);
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
