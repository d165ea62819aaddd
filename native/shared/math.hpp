// exp, log and their kin as fixed sequences of additions, multiplications and divisions, so that
// every instruction-set level and platform gives the same bits. No branches, tables or calls: a
// loop over these functions is vectorised by the compiler. Errors stay below 1.1 units in the last
// place (2.1 for sigmoid); infinities and NaN behave as in the C library.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace hedgerow {

namespace math_detail {

// ln 2 in two parts: the first ends in 21 zero bits, so its product with an exponent is exact.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

// Adding 1.5 · 2^52 leaves a number rounded to an integer in the low bits of the sum.
inline constexpr double kRounder = 0x1.8p52;

// 2^n for an integer n in [-1022, 1023].
inline double power_of_two(double n) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(n + (kRounder + 1023.0)) << 52);
}

// (e^r − 1 − r) / r² for |r| ≤ ½ ln 2: interpolation at Chebyshev nodes, within 2^-55 of e^r.
// Pairs of terms are evaluated side by side to shorten the chain of dependent operations.
inline double exp_tail(double r) {
  const double r2 = r * r, r4 = r2 * r2;
  const double p01 = 0x1.0000000000001p-1 + r * 0x1.5555555555556p-3;
  const double p23 = 0x1.5555555553d4fp-5 + r * 0x1.11111111109adp-7;
  const double p45 = 0x1.6c16c17893833p-10 + r * 0x1.a01a01a7c8d47p-13;
  const double p67 = 0x1.a019b8ef67c6cp-16 + r * 0x1.71de0d9c145d0p-19;
  const double p89 = 0x1.2891a8c1d838dp-22 + r * 0x1.af38d53857513p-26;
  return (p01 + r2 * p23) + r4 * ((p45 + r2 * p67) + r4 * p89);
}

// log(x) = exponent · ln 2 + log(1 + f), with 1 + f within [√½, √2).
struct Decomposed {
  double exponent, f;
};

// x must be positive and normal.
inline Decomposed decompose(double x) {
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (kOne - kSqrtHalf);
  const double biased =
      std::bit_cast<double>((shifted >> 52) | std::bit_cast<std::uint64_t>(0x1p52)) - 0x1p52;
  return {biased - 1023.0, std::bit_cast<double>((shifted & kMantissa) + kSqrtHalf) - 1.0};
}

// log(1 + f) − f. With s = f / (2 + f), log(1 + f) = 2 artanh(s), whose series needs eleven terms
// for |s| ≤ 0.1716; written around f − f²/2 so that the leading terms carry no rounding error.
inline double log_tail(double f) {
  const double s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
  const double p01 = 2.0 / 3 + z * (2.0 / 5), p23 = 2.0 / 7 + z * (2.0 / 9);
  const double p45 = 2.0 / 11 + z * (2.0 / 13), p67 = 2.0 / 15 + z * (2.0 / 17);
  const double p89 = 2.0 / 19 + z * (2.0 / 21);
  const double series = z * ((p01 + z2 * p23) + z4 * ((p45 + z2 * p67) + z4 * p89));
  const double half_square = 0.5 * f * f;
  return s * (half_square + series) - half_square;
}

}  // namespace math_detail

inline double exp(double x) {
  using namespace math_detail;
  // Past these bounds the result is infinite or zero anyway; written so that NaN passes.
  x = 710.0 < x ? 710.0 : x;
  x = -746.0 > x ? -746.0 : x;
  const double n = (x * kInverseLn2 + kRounder) - kRounder;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const double fraction = 1.0 + (r + r * r * exp_tail(r));
  // In two steps, because 2^n alone may be out of range where the product is not.
  const double half = (0.5 * n + kRounder) - kRounder;
  return fraction * power_of_two(half) * power_of_two(n - half);
}

inline double log(double x) {
  using namespace math_detail;
  constexpr double kSmallestNormal = std::numeric_limits<double>::min();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool subnormal = x < kSmallestNormal;
  const Decomposed d = decompose(subnormal ? x * 0x1p54 : x);
  const double k = d.exponent - (subnormal ? 54.0 : 0.0);
  double result = k * kLn2High + (d.f + (log_tail(d.f) + k * kLn2Low));
  result = x < kInfinity ? result : x;  // infinity and NaN are their own logarithms
  result = !(x <= 0.0) ? result : std::numeric_limits<double>::quiet_NaN();
  return x == 0.0 ? -kInfinity : result;
}

// log(1 + x), accurate for small x too.
inline double log1p(double x) {
  using namespace math_detail;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double u = 1.0 + x;
  const double lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);  // what rounding u left out
  const Decomposed d = decompose(u);
  double result =
      d.exponent * kLn2High + (d.f + (log_tail(d.f) + (d.exponent * kLn2Low + lost / u)));
  result = x < kInfinity ? result : x;
  result = !(x <= -1.0) ? result : std::numeric_limits<double>::quiet_NaN();
  return x == -1.0 ? -kInfinity : result;
}

inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

}  // namespace hedgerow
