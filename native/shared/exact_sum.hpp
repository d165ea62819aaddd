// Exact sums of doubles: a superaccumulator (Neal, "Fast exact summation using small and large
// superaccumulators", 2015), a fixed-point number that covers the range of all doubles. Sums do not
// depend on the order of their terms, nor on how these are divided among threads or machines.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hedgerow {

// The number is Σ digit[i] · 2^(32 i − 1074), from the smallest double to 2^78 times the largest. A
// digit of 32 bits is in a word of 64, so carries can wait. Sums are merged by adding their words.
class ExactSum {
 public:
  static constexpr std::size_t kDigits = 68;
  // The digits, then how many terms were ∞, −∞ and NaN.
  static constexpr std::size_t kWords = kDigits + 3;
  using Words = std::array<std::int64_t, kWords>;

  ExactSum() = default;
  explicit ExactSum(const Words& words) : words_(words) { carry(); }

  void add(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<std::size_t>(bits >> 52 & 0x7ff);
    const bool is_negative = bits >> 63;
    if (exponent == 0x7ff) {
      ++words_[kDigits + (std::isnan(x) ? 2 : is_negative ? 1 : 0)];
      return;
    }
    // x = mantissa · 2^(place − 1074), with the implicit bit of numbers that are not subnormal.
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t mantissa = exponent ? fraction | std::uint64_t{1} << 52 : fraction;
    const std::size_t place = exponent ? exponent - 1 : 0;
    const std::uint64_t low = (mantissa & kDigitMask) << place % 32;
    const std::uint64_t high = (mantissa >> 32) << place % 32;
    const std::int64_t sign = is_negative ? -1 : 1;
    std::int64_t* digit = words_.data() + place / 32;
    digit[0] += sign * static_cast<std::int64_t>(low & kDigitMask);
    digit[1] += sign * static_cast<std::int64_t>((low >> 32) + (high & kDigitMask));
    digit[2] += sign * static_cast<std::int64_t>(high >> 32);
    if (++terms_ == kTermsToCarry) carry();
  }

  void add(const ExactSum& other) {
    Words words = other.words();
    carry();
    for (std::size_t i = 0; i < kWords; ++i) words_[i] += words[i];
    terms_ = 1;
  }

  // The words with digits from 0 to 2^32 − 1, but for the last, which has the sign: 2^30 sums in
  // this form can be merged by adding their words.
  Words words() const {
    ExactSum carried = *this;
    carried.carry();
    return carried.words_;
  }

  // The nearest double, ties to even; infinite beyond the largest.
  double rounded() const {
    const std::int64_t *infinite = words_.data() + kDigits, *nan = infinite + 2;
    if (*nan || (infinite[0] && infinite[1])) return std::numeric_limits<double>::quiet_NaN();
    if (infinite[0] || infinite[1]) {
      return (infinite[0] ? 1.0 : -1.0) * std::numeric_limits<double>::infinity();
    }
    ExactSum size = *this;
    size.carry();
    const bool is_negative = size.words_[kDigits - 1] < 0;
    if (is_negative) {
      for (std::size_t i = 0; i < kDigits; ++i) size.words_[i] = -size.words_[i];
      size.carry();
    }
    return is_negative ? -size.nearest() : size.nearest();
  }

 private:
  static constexpr std::uint64_t kDigitMask = 0xffff'ffff;
  // A term adds less than 2^33 to a digit.
  static constexpr std::uint32_t kTermsToCarry = std::uint32_t{1} << 29;

  void carry() {
    for (std::size_t i = 0; i + 1 < kDigits; ++i) {
      const std::int64_t above = words_[i] >> 32;  // rounded down, so that the rest is positive
      words_[i] -= above * (std::int64_t{1} << 32);
      words_[i + 1] += above;
    }
    terms_ = 0;
  }

  bool bit(std::size_t place) const { return words_[place / 32] >> place % 32 & 1; }

  // The nearest double of a positive sum that has been carried.
  double nearest() const {
    std::size_t last = kDigits - 1;
    while (last > 0 && words_[last] == 0) --last;
    const auto top = static_cast<std::uint64_t>(words_[last]);
    if (top == 0) return 0.0;
    if (top > kDigitMask) return std::numeric_limits<double>::infinity();
    const std::size_t n_bits = 32 * last + static_cast<std::size_t>(std::bit_width(top));
    const std::size_t dropped = n_bits > 53 ? n_bits - 53 : 0;
    std::uint64_t mantissa = 0;
    for (std::size_t place = n_bits; place-- > dropped;) mantissa = mantissa << 1 | bit(place);
    if (dropped > 0 && bit(dropped - 1)) {
      bool is_above_half = mantissa & 1;
      for (std::size_t i = 0; i < dropped - 1 && !is_above_half; ++i) is_above_half = bit(i);
      mantissa += is_above_half;
    }
    return std::ldexp(static_cast<double>(mantissa), static_cast<int>(dropped) - 1074);
  }

  Words words_ = {};
  std::uint32_t terms_ = 0;  // since the last carry
};

}  // namespace hedgerow
