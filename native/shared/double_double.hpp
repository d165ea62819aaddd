// Numbers as unevaluated sums of two doubles, about 106 bits: for the few places where a difference
// of nearly equal sums must keep its digits (the gain of a chosen split, the weight of a leaf).
// Error-free sums and products after Knuth and Dekker; no fused operations, so every
// instruction-set level gives the same bits.
#pragma once

namespace hedgerow {

struct DoubleDouble {
  double high = 0.0;
  double low = 0.0;

  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double value) : high(value) {}
  constexpr DoubleDouble(double high, double low) : high(high), low(low) {}
  explicit operator double() const { return high + low; }
};

// a + b exactly.
inline DoubleDouble exact_sum(double a, double b) {
  const double sum = a + b;
  const double b_rounded = sum - a;
  return {sum, (a - (sum - b_rounded)) + (b - b_rounded)};
}

// a · b exactly, for magnitudes between about 1e-140 and 1e140.
inline DoubleDouble exact_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1.0;
  const double a_scaled = kSplit * a, b_scaled = kSplit * b;
  const double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double product = a * b;
  const double error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high);
  return {product, error + a_low * b_low};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  const DoubleDouble sum = exact_sum(high.high, high.low + low.high);
  return exact_sum(sum.high, sum.low + low.low);
}

inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = exact_product(a.high, b.high);
  return exact_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * DoubleDouble(first);
  const double second = rest.high / b.high;
  const DoubleDouble last = rest - b * DoubleDouble(second);
  return exact_sum(first, second) + DoubleDouble(last.high / b.high);
}

// A running sum whose rounding errors are kept and added at the end.
class CompensatedSum {
 public:
  void add(double value) {
    const DoubleDouble sum = exact_sum(sum_, value);
    sum_ = sum.high;
    errors_ += sum.low;
  }
  DoubleDouble total() const { return exact_sum(sum_, errors_); }

 private:
  double sum_ = 0.0;
  double errors_ = 0.0;
};

}  // namespace hedgerow
