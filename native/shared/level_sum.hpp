// Sums of non-negative numbers that do not depend on the order of their terms, nor on how these are
// divided among threads or machines, at nearly the speed of ordinary sums.
//
// A number is split at fixed powers of two: level k has the multiple of 2^(30 k) that is nearest to
// what the levels above it leave. Each level adds up integers, and a sum keeps the three levels
// from that of its largest term on; what is below them is less than 2^-59 of that term. A level
// gets the same integer from a number whatever other numbers are added, so the kept levels of a sum
// are the same in any order (Demmel and Nguyen, "Parallel reproducible summation", 2015).
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hedgerow {

class LevelSum {
 public:
  static constexpr int kBits = 30;  // of a level: those of 2^32 numbers add up to less than 2^63
  static constexpr std::size_t kKept = 3;
  static constexpr int kLowest = -36;  // 2^-1080 is less than any double

  // How numbers up to a largest one are split. They are multiplied by `scale` first, a power of two
  // that keeps very large and very small numbers within the range of the arithmetic.
  struct Splitter {
    int level;
    double scale;
    std::array<double, kKept> rounder;  // adding and subtracting it rounds to steps of a level

    explicit Splitter(double largest) : level(level_of(largest)) {
      scale = std::ldexp(1.0, kBits * shift());
      for (std::size_t i = 0; i < kKept; ++i) {
        rounder[i] = std::ldexp(1.5, kBits * (level + shift() - static_cast<int>(i)) + 52);
      }
    }
    int shift() const { return level > 25 ? -20 : level < -25 ? 20 : 0; }
  };

  LevelSum() = default;
  // The sum of numbers that were split so, level by level.
  LevelSum(const Splitter& splitter, const std::array<double, kKept>& sums)
      : level_(splitter.level) {
    for (std::size_t i = 0; i < kKept; ++i) {
      is_finite_ = is_finite_ && std::isfinite(sums[i]);
      const int step = exponent(i) + kBits * splitter.shift();
      if (is_finite_) steps_[i] = static_cast<std::int64_t>(std::ldexp(sums[i], -step));
    }
  }

  void add(const LevelSum& other) {
    if (other.level_ > level_) shift(other.level_);
    const auto lower = static_cast<std::size_t>(level_ - other.level_);
    for (std::size_t i = lower; i < kKept; ++i) steps_[i] += other.steps_[i - lower];
    is_finite_ = is_finite_ && other.is_finite_;
  }

  double rounded() const {
    if (!is_finite_) return std::numeric_limits<double>::infinity();
    double sum = 0.0;
    for (std::size_t i = 0; i < kKept; ++i) {
      sum += std::ldexp(static_cast<double>(steps_[i]), exponent(i));
    }
    return sum;
  }

 private:
  // The highest level to which numbers up to this one contribute: half of a step of the next level
  // is more, so that they are rounded to zero there.
  static int level_of(double largest) {
    if (!(largest > 0.0 && std::isfinite(largest))) return kLowest;
    int exponent = 0;
    std::frexp(largest, &exponent);  // largest < 2^exponent
    return (exponent - kBits * kLowest) / kBits + kLowest;
  }
  int exponent(std::size_t i) const { return kBits * (level_ - static_cast<int>(i)); }
  void shift(int level) {
    const auto by = static_cast<std::size_t>(level - level_);
    for (std::size_t i = kKept; i-- > 0;) steps_[i] = i >= by ? steps_[i - by] : 0;
    level_ = level;
  }

  std::array<std::int64_t, kKept> steps_ = {};
  int level_ = kLowest;
  bool is_finite_ = true;
};

}  // namespace hedgerow
