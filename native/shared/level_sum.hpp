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
#include <bit>
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
      scale = power_of_two(kBits * shift());
      for (std::size_t i = 0; i < kKept; ++i) {
        rounder[i] = 1.5 * power_of_two(kBits * (level + shift() - static_cast<int>(i)) + 52);
      }
    }
    int shift() const { return level > 25 ? -20 : level < -25 ? 20 : 0; }
    // Numbers that are not below it, multiplied by `scale`, contribute to a higher level.
    double limit() const { return power_of_two(kBits * (level + shift()) + kBits - 1); }
  };

  LevelSum() = default;
  // The sum of numbers that were split so, level by level.
  LevelSum(const Splitter& splitter, const std::array<double, kKept>& sums)
      : level_(splitter.level) {
    for (std::size_t i = 0; i < kKept; ++i) {
      is_finite_ = is_finite_ && std::isfinite(sums[i]);
      const int step = exponent(i) + kBits * splitter.shift();
      if (is_finite_) steps_[i] = static_cast<std::int64_t>(sums[i] * power_of_two(-step));
    }
  }

  void add(const LevelSum& other) {
    raise(other.level_);
    LevelSum same = other;
    same.raise(level_);
    for (std::size_t i = 0; i < kKept; ++i) steps_[i] += same.steps_[i];
    is_finite_ = is_finite_ && same.is_finite_;
  }
  // Adds up the sums of several threads: `largest` and `sum` give each of them the largest of their
  // integers, and the sum.
  template <class Largest, class Sum>
  void add_threads(Largest largest, Sum sum) {
    raise(largest(level_));
    for (std::size_t i = 0; i < kKept; ++i) steps_[i] = sum(steps_[i]);
    is_finite_ = largest(is_finite_ ? 0 : 1) == 0;
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
  // Forgets the lowest levels, if it is below this one. Indices are constants where loops are
  // unrolled: compilers for GPUs keep the integers in registers then.
  void raise(int level) {
    for (std::size_t i = 0; i < kKept && level_ < level; ++i) {
      for (std::size_t k = kKept - 1; k > 0; --k) steps_[k] = steps_[k - 1];
      steps_[0] = 0;
      ++level_;
    }
    level_ = level_ < level ? level : level_;
  }
  static double power_of_two(int exponent) {  // that is a normal number
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  std::array<std::int64_t, kKept> steps_ = {};
  int level_ = kLowest;
  bool is_finite_ = true;
};

}  // namespace hedgerow
