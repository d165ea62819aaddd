// Adding every number to an ExactSum would take ten times as long as an ordinary sum. Instead, the
// numbers of a block are split at a power of two: the high parts are multiples of a unit so large
// that doubles add them up without an error, in any order, and the low parts are split in the same
// way, until nothing is left (Rump, Ogita and Oishi, "Accurate floating-point summation", 2008).
// Only the few sums of a block are added to the ExactSum.
#include "core/array_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "core/lanes.hpp"
#include "core/threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kLanes = Double8::kCount;
constexpr int kBlockBits = 10;
constexpr std::size_t kBlock = std::size_t{1} << kBlockBits;
constexpr std::size_t kPasses = 2;  // splits of a number while it is in a register
constexpr int kMantissaBits = 52, kLargestExponent = 2046;

// The bits of doubles without the sign are in the order of their magnitudes.
Long8 magnitude_bits(const Double8& numbers) {
  return as<std::int64_t>(numbers) & std::numeric_limits<std::int64_t>::max();
}

std::int64_t largest_lane(const Long8& lanes) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < kLanes; ++i) largest = std::max<std::int64_t>(largest, lanes[i]);
  return largest;
}

int exponent_of(std::int64_t bits) { return static_cast<int>(bits >> kMantissaBits); }

// Very large and very small numbers, for which there is no 2^k as `split` needs it, are added one
// by one, and so are infinities and NaN.
bool can_split(int exponent) {
  constexpr int kSmallest = static_cast<int>(kPasses) * (kMantissaBits - kBlockBits);
  return exponent > kSmallest && exponent + kBlockBits + 1 <= kLargestExponent;
}

// Numbers that are split together, padded with zeros.
struct SummandBlock {
  alignas(64) std::array<double, kBlock> numbers;
  std::size_t n;  // a multiple of kLanes

  SummandBlock(const double* from, std::size_t count, std::size_t stride)
      : n((count + kLanes - 1) / kLanes * kLanes) {
    for (std::size_t i = 0; i < count; ++i) numbers[i] = from[i * stride];
    std::fill(numbers.begin() + count, numbers.begin() + n, 0.0);
  }

  // The bits of the largest magnitude.
  std::int64_t largest() const {
    Long8 largest;
    for (std::size_t i = 0; i < n; i += kLanes) {
      const Long8 bits = magnitude_bits(Double8::load(numbers.data() + i));
      largest = select(bits > largest, bits, largest);
    }
    return largest_lane(largest);
  }

  // Adds the high parts of all numbers, whose exponents are at most the given one, and leaves the
  // low parts in place. Returns the bits of the largest magnitude that is left.
  //
  // Adding and subtracting 1.5 · 2^k rounds numbers below 2^(k − 10) to multiples of 2^(k − 52).
  // 2^10 of them add up to at most 2^52 units, and what is left of a number is at most half a unit.
  std::int64_t split(int exponent, ExactSum& total) {
    std::array<double, kPasses> rounder;
    for (double& one : rounder) {
      one = std::bit_cast<double>(std::int64_t{exponent + kBlockBits + 1} << kMantissaBits |
                                  std::int64_t{1} << (kMantissaBits - 1));
      exponent -= kMantissaBits - kBlockBits;
    }
    Long8 largest;
    std::array<Double8, kPasses> sums;
    for (std::size_t i = 0; i < n; i += kLanes) {
      Double8 rest = Double8::load(numbers.data() + i);
      for (std::size_t pass = 0; pass < kPasses; ++pass) {
        const Double8 high = (rest + rounder[pass]) - rounder[pass];
        sums[pass] += high;
        rest -= high;
      }
      const Long8 bits = magnitude_bits(rest);
      largest = select(bits > largest, bits, largest);
      rest.store(numbers.data() + i);
    }
    for (const Double8& sum : sums) {
      double of_lanes = 0.0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) of_lanes += sum[lane];
      total.add(of_lanes);
    }
    return largest_lane(largest);
  }
};

}  // namespace

ExactSum exact_sum(const double* numbers, std::size_t n, std::size_t stride) {
  ExactSum total;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    SummandBlock block(numbers + begin * stride, std::min(kBlock, n - begin), stride);
    std::int64_t largest = block.largest();
    while (largest != 0 && can_split(exponent_of(largest))) {
      largest = block.split(exponent_of(largest), total);
    }
    if (largest == 0) continue;
    for (std::size_t i = 0; i < block.n; ++i) total.add(block.numbers[i]);
  }
  return total;
}

std::vector<double> sum_columns(const double* values, std::size_t n, std::size_t n_columns,
                                int threads) {
  constexpr std::size_t kFewNumbers = 1 << 14;
  const auto n_parts = static_cast<std::size_t>(threads_for(n * n_columns, kFewNumbers, threads));
  const std::size_t step = n / n_parts + 1;
  std::vector<ExactSum> sums(n_parts * n_columns);
  parallel_for(threads, n_parts, [&](std::size_t part) {
    const std::size_t begin = std::min(part * step, n), end = std::min(begin + step, n);
    for (std::size_t j = 0; j < n_columns; ++j) {
      sums[part * n_columns + j] =
          exact_sum(values + begin * n_columns + j, end - begin, n_columns);
    }
  });
  std::vector<double> rounded(n_columns);
  for (std::size_t j = 0; j < n_columns; ++j) {
    for (std::size_t part = 1; part < n_parts; ++part) sums[j].add(sums[part * n_columns + j]);
    rounded[j] = sums[j].rounded();
  }
  return rounded;
}

}  // namespace hedgerow
