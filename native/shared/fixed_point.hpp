// Gradients in fixed point, and their sums.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hedgerow {

// A sum of gradients in fixed point. Integers add up to the same bits in any order, which is what
// makes a model independent of the number of threads. `hc` holds Σh in its low bits and the number
// of rows above them, so one 16-byte addition updates all three, and counts are exact.
struct Sum {
  std::int64_t g;
  std::uint64_t hc;

  Sum& operator+=(const Sum& other) {
    g += other.g;
    hc += other.hc;
    return *this;
  }
  friend Sum operator-(const Sum& a, const Sum& b) { return {a.g - b.g, a.hc - b.hc}; }
  friend Sum operator+(const Sum& a, const Sum& b) { return {a.g + b.g, a.hc + b.hc}; }
};

// How the reals of one tree become integers.
//
// Wide rows (16 bytes) use all of Sum's range: the unit of g is Σ|g| / 2^62, finer than the
// rounding of a float64 sum. Packed rows (4 bytes) serve when there are many rows and none towers
// over the rest: widened to one 64-bit word that holds g, h and a count of one, they make a
// histogram update one load, one addition and one store of 8 bytes.
struct FixedPoint {
  double g_unit = 1.0;
  double h_unit = 1.0;
  int count_shift = 32;  // hc = h + (count << count_shift)
  bool packed = false;
  int row_h_bits = 0;  // a packed row is g << row_h_bits | h
  int count_bits = 0;  // a word is g << (h_bits + count_bits) | h << count_bits | count
  int h_bits = 0;
  bool has_zero_h = true;  // whether a row may have no h at all, and not a step

  std::uint64_t h_mask() const { return (std::uint64_t{1} << count_shift) - 1; }
  std::uint64_t count(const Sum& s) const { return s.hc >> count_shift; }
  std::uint64_t h_steps(const Sum& s) const { return s.hc & h_mask(); }
  // The steps of Σh, and one for each row: what least_weight.hpp compares.
  std::uint64_t most_steps(const Sum& s) const { return h_steps(s) + count(s); }
  // Whether every row's h is one step, so that no step was rounded.
  bool has_equal_h() const { return packed && row_h_bits == 1; }
  double g(const Sum& s) const { return static_cast<double>(s.g) * g_unit; }
  double h(const Sum& s) const {
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
  Sum widen(std::int32_t row) const {
    return {row_g(row), row_h(row) | std::uint64_t{1} << count_shift};
  }
};

// The gradients of one output, quantised: one of the two arrays is in use, as FixedPoint says.
struct Gradients {
  const std::int32_t* packed = nullptr;
  const Sum* wide = nullptr;
  FixedPoint fixed;

  Sum row(std::size_t i) const { return fixed.packed ? fixed.widen(packed[i]) : wide[i]; }
};

}  // namespace hedgerow
