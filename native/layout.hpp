// The arrays that the training kernels share: bins of a table, fixed-point gradients, their sums.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hedgerow {

inline constexpr int kBins = 256;        // histogram entries of a feature
inline constexpr int kMissingBin = 255;  // the last of them holds the missing values
inline constexpr int kGroupWidth = 16;   // features whose accumulators share the first-level cache

// A view of Python's BinnedMatrix; docs/architecture.md says what each array holds.
struct BinnedView {
  const std::uint8_t* by_column;
  const std::uint8_t* by_row;
  const std::int32_t* n_bins;
  const bool* is_categorical;
  std::size_t n_rows;
  int n_features;
  int width;   // features in a block of by_row
  int stride;  // bytes of a row in a block

  const std::uint8_t* column(int feature) const {
    return by_column + static_cast<std::size_t>(feature) * n_rows;
  }
  const std::uint8_t* block(int index) const {
    return by_row + static_cast<std::size_t>(index) * n_rows * stride;
  }
};

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
// rounding of a float64 sum. Packed rows (8 bytes) hold g, h and a count of one in a single word,
// so that a histogram update is one load, one addition and one store of 8 bytes; they serve when
// there are many rows and none towers over the rest.
struct FixedPoint {
  double g_unit = 1.0;
  double h_unit = 1.0;
  int count_shift = 32;  // hc = h + (count << count_shift)
  bool packed = false;
  int count_bits = 0;  // a packed word is g << (h_bits + count_bits) | h << count_bits | 1
  int h_bits = 0;

  std::uint64_t h_mask() const { return (std::uint64_t{1} << count_shift) - 1; }
  std::uint64_t count(const Sum& s) const { return s.hc >> count_shift; }
  double g(const Sum& s) const { return static_cast<double>(s.g) * g_unit; }
  double h(const Sum& s) const {
    return static_cast<double>(static_cast<std::int64_t>(s.hc & h_mask())) * h_unit;
  }
  // Rows that may be added in packed form before a field could overflow.
  std::size_t packed_rows() const { return (std::size_t{1} << count_bits) - 1; }
  Sum unpack(std::uint64_t word) const {
    const std::uint64_t count = word & packed_rows();
    const std::uint64_t h = (word >> count_bits) & ((std::uint64_t{1} << h_bits) - 1);
    return {static_cast<std::int64_t>(word) >> (h_bits + count_bits), h | count << count_shift};
  }
};

// The gradients of one output, quantised: one of the two arrays is in use, as FixedPoint says.
struct Gradients {
  const std::uint64_t* packed = nullptr;
  const Sum* wide = nullptr;
  FixedPoint fixed;

  Sum row(std::size_t i) const { return fixed.packed ? fixed.unpack(packed[i]) : wide[i]; }
};

}  // namespace hedgerow
