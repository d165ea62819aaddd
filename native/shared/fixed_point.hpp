// Gradients in fixed point: their sums, the choice of units, and how a row becomes integers.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shared/level_sum.hpp"

namespace hedgerow {

// A sum of gradients in fixed point. Integers add up to the same bits in any order, which is what
// makes a model independent of the number of threads. `hc` holds Σh in its low bits and the number
// of rows above them, so one 16-byte addition updates all three, and counts are exact.
struct GradientSum {
  std::int64_t g;
  std::uint64_t hc;

  GradientSum& operator+=(const GradientSum& other) {
    g += other.g;
    hc += other.hc;
    return *this;
  }
  friend GradientSum operator-(const GradientSum& a, const GradientSum& b) {
    return {a.g - b.g, a.hc - b.hc};
  }
  friend GradientSum operator+(const GradientSum& a, const GradientSum& b) {
    return {a.g + b.g, a.hc + b.hc};
  }
};

// How the reals of one tree become integers.
//
// Wide rows (16 bytes) use the full range of GradientSum: the unit of g is Σ|g| / 2^62, finer than
// the rounding of a float64 sum. Packed rows (4 bytes) are used if there are many rows and none
// dominates: widened to one 64-bit word that holds g, h and a count of one, they reduce a histogram
// update to one load, one addition and one store of 8 bytes.
struct FixedPoint {
  double g_unit = 1.0;
  double h_unit = 1.0;
  int count_shift = 32;  // hc = h + (count << count_shift)
  bool packed = false;
  int row_h_bits = 0;  // a packed row is g << row_h_bits | h
  int count_bits = 0;  // a word is g << (h_bits + count_bits) | h << count_bits | count
  int h_bits = 0;
  bool has_zero_h = true;  // whether the h of a row may be 0

  std::uint64_t h_mask() const { return (std::uint64_t{1} << count_shift) - 1; }
  std::uint64_t count(const GradientSum& s) const { return s.hc >> count_shift; }
  std::uint64_t h_steps(const GradientSum& s) const { return s.hc & h_mask(); }
  // The steps of Σh plus one per row, which min_child_weight.hpp compares.
  std::uint64_t most_steps(const GradientSum& s) const { return h_steps(s) + count(s); }
  // Whether the h of every row is one step, so that nothing was rounded.
  bool has_equal_h() const { return packed && row_h_bits == 1; }
  double g(const GradientSum& s) const { return static_cast<double>(s.g) * g_unit; }
  double h(const GradientSum& s) const {
    return static_cast<double>(static_cast<std::int64_t>(h_steps(s))) * h_unit;
  }
  // Words that may be added up before a field could overflow.
  std::size_t words_to_spill() const { return (std::size_t{1} << count_bits) - 1; }
  std::int64_t row_g(std::int32_t row) const { return row >> row_h_bits; }
  std::uint64_t row_h(std::int32_t row) const {
    return static_cast<std::uint32_t>(row) & ((1u << row_h_bits) - 1);
  }
  std::uint64_t word(std::int32_t row) const {
    return static_cast<std::uint64_t>(row_g(row)) << (h_bits + count_bits) |
           row_h(row) << count_bits | 1u;
  }
  GradientSum widen(std::int32_t row) const {
    return {row_g(row), row_h(row) | std::uint64_t{1} << count_shift};
  }
};

// The quantised gradients of one output; FixedPoint says which of the two arrays is in use.
struct Gradients {
  const std::int32_t* packed = nullptr;
  const GradientSum* wide = nullptr;
  FixedPoint fixed;

  GradientSum row(std::size_t i) const { return fixed.packed ? fixed.widen(packed[i]) : wide[i]; }
};

// The statistics of gradients that determine the units.
struct GradientSummary {
  double max_g = 0.0, sum_g = 0.0;  // of |g|
  double max_h = 0.0, sum_h = 0.0;
  double min_h = std::numeric_limits<double>::infinity();
};

// The statistics of any rows: in whichever order they are added, also those of several machines,
// the summary is the same.
struct GradientTotals {
  double max_g = 0.0, max_h = 0.0, min_h = std::numeric_limits<double>::infinity();
  LevelSum sum_g = {}, sum_h = {};

  void add(const GradientTotals& other) {
    max_g = std::max(max_g, other.max_g);
    max_h = std::max(max_h, other.max_h);
    min_h = std::min(min_h, other.min_h);
    sum_g.add(other.sum_g);
    sum_h.add(other.sum_h);
  }
  GradientSummary summary() const {
    return {max_g, sum_g.rounded(), max_h, sum_h.rounded(), min_h};
  }
};

// The largest training set. In both formats Σh shares 64 bits with the count of rows, so that the
// mean h of n rows has about 2^64 / n² steps: at least 254 below 2^28 rows, 62 below 2^29, 14 below
// 2^30, and none at 2^32. Wide rows do not help, because the limit is that of the sums. Sums of
// three words would, but they cost every histogram half as much memory and time again for tables of
// more than a billion rows; until such tables are asked for, they are refused. (14 steps are enough
// to learn from: Shi et al., "Quantized Training of Gradient Boosting Decision Trees", 2022, give
// gradients 2 to 5 bits.)
inline constexpr std::size_t kMostRows = (std::size_t{1} << 30) - 1;

// Fewer rows are stored in wide form: time is spent elsewhere, and precision is free.
inline constexpr std::size_t kPackedFromRows = 32768;

// Whether numbers of this magnitude have reciprocals in single precision, which packed rows pass
// through.
inline bool is_moderate(double largest) {
  return largest == 0.0 || (largest > 1e-30 && largest < 1e30);
}

// The unit that divides the largest number into `steps`; at least the smallest normal number.
inline double unit_for(double largest, double steps) {
  return largest > 0.0 ? std::max(largest / steps, std::numeric_limits<double>::min()) : 1.0;
}

namespace fixed_point {

// The mean |g| of a packed row keeps at least 2^14 / 64 = 256 steps.
inline constexpr double kLargestToMean = 64.0;
inline constexpr int kCountBits = 12;
inline constexpr int kRowBitsG = 14;
inline constexpr int kRowBitsH = 13;
static_assert(kCountBits + (kRowBitsH + kCountBits) + (1 + kRowBitsG + kCountBits) == 64);

inline double steps(int bits) { return static_cast<double>((std::int64_t{1} << bits) - 1); }

// The steps that Σh may have in `hc`, below the count of n rows. A positive h is at least one step,
// so rounding may add a step to each row; float arithmetic may add a share of the total.
inline double room_for_h(std::size_t n, int count_shift, double share) {
  return std::ldexp(1.0 - share, count_shift) - 2.0 * static_cast<double>(n);
}

// Packed: as many bits as leave room to add 4095 rows before spilling.
inline FixedPoint packed_units(const GradientSummary& summary, std::size_t n, int count_shift) {
  FixedPoint fixed;
  fixed.packed = true;
  fixed.count_bits = kCountBits;
  // If all h are equal, one step is enough.
  fixed.row_h_bits = summary.min_h == summary.max_h ? 1 : kRowBitsH;
  fixed.h_bits = fixed.row_h_bits + kCountBits;
  fixed.h_unit = unit_for(summary.max_h, steps(fixed.row_h_bits));
  // From 2^25 rows on, 13 bits in every row could add up to more than `hc` has below its count. A
  // coarser unit is needed only as far as the rows have so much h.
  if (fixed.row_h_bits > 1) {
    fixed.h_unit =
        std::max(fixed.h_unit, unit_for(summary.sum_h, room_for_h(n, count_shift, 0x1p-20)));
  }
  // Single precision holds 24 bits: more would be noise.
  const int row_bits_g = std::min(64 - fixed.h_bits - 2 * kCountBits - 1, 23);
  fixed.g_unit = unit_for(summary.max_g, steps(row_bits_g));
  return fixed;
}

// Wide: one step of g is Σ|g| / 2^62, so that no sum overflows, and none is less precise than in
// float64.
inline FixedPoint wide_units(const GradientSummary& summary, std::size_t n, int count_shift) {
  FixedPoint fixed;
  fixed.g_unit = unit_for(summary.sum_g, std::ldexp(1.0, 62));
  fixed.h_unit = unit_for(summary.sum_h, room_for_h(n, count_shift, 0x1p-40));
  return fixed;
}

}  // namespace fixed_point

// Whether packed rows are precise enough: many rows, none of which dominates.
inline bool fits_packed(const GradientSummary& summary, std::size_t n) {
  const auto rows = static_cast<double>(n);
  return n >= kPackedFromRows && is_moderate(summary.max_g) && is_moderate(summary.max_h) &&
         summary.max_g * rows <= fixed_point::kLargestToMean * summary.sum_g &&
         summary.max_h * rows <= fixed_point::kLargestToMean * summary.sum_h;
}

// Units for `n` rows with this summary; `packed` says which form the raw gradients are in.
inline FixedPoint choose_units(const GradientSummary& summary, std::size_t n, bool packed) {
  const int count_shift = 64 - static_cast<int>(std::bit_width(n));
  FixedPoint fixed = packed ? fixed_point::packed_units(summary, n, count_shift)
                            : fixed_point::wide_units(summary, n, count_shift);
  fixed.count_shift = count_shift;
  // Packed rows pass through single precision, where the smallest numbers become 0.
  fixed.has_zero_h = !(summary.min_h > (packed ? 0x1p-126 : 0.0));
  return fixed;
}

// Quantises a row to a packed integer. A positive h becomes at least one step, so that H is
// positive wherever there are rows with weight.
struct PackedQuantiser {
  float per_g, per_h;
  int row_h_bits;
  std::int32_t largest_h;

  explicit PackedQuantiser(const FixedPoint& fixed)
      : per_g(static_cast<float>(1.0 / fixed.g_unit)),
        per_h(static_cast<float>(1.0 / fixed.h_unit)),
        row_h_bits(fixed.row_h_bits),
        largest_h((1 << fixed.row_h_bits) - 1) {}

  std::int32_t operator()(float g, float h) const {
    const auto g_steps = static_cast<std::int32_t>(std::floor(g * per_g + 0.5f));
    auto h_steps = static_cast<std::int32_t>(std::floor(h * per_h + 0.5f));
    h_steps = h_steps < 1 ? 1 : h_steps;
    h_steps = h_steps > largest_h ? largest_h : h_steps;
    h_steps = h > 0.0f ? h_steps : 0;
    return g_steps << row_h_bits | h_steps;
  }
};

// Quantises a row to a wide sum.
struct WideQuantiser {
  double per_g, per_h;
  std::uint64_t one;

  explicit WideQuantiser(const FixedPoint& fixed)
      : per_g(1.0 / fixed.g_unit),
        per_h(1.0 / fixed.h_unit),
        one(std::uint64_t{1} << fixed.count_shift) {}

  GradientSum operator()(double g, double h) const {
    const auto g_steps = static_cast<std::int64_t>(std::floor(g * per_g + 0.5));
    const auto h_steps = static_cast<std::int64_t>(std::floor(h * per_h + 0.5));
    const std::int64_t positive = h_steps < 1 ? 1 : h_steps;
    return {g_steps, (h > 0.0 ? static_cast<std::uint64_t>(positive) : 0) + one};
  }
};

}  // namespace hedgerow
