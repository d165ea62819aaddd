// Codes are read once: up to four values of the digit are added up side by side, each in eight
// words, and their sum is added to the rest.
#include "hist/joint_histogram.hpp"

#include <algorithm>

#include "core/lanes.hpp"

namespace hedgerow::hist {
namespace {

// Writes the sum of each value, whose parts are side by side in `parts` (and `remainder`).
template <int kWords, int kValues, class Chunk, class Sum>
inline void write_sums(const Chunk (&parts)[kValues], const Sum (&remainder)[kValues],
                       std::uint64_t* of_values) {
  for (int v = 0; v < kValues; ++v) remainder[v].store(of_values + v * kWords);
  if constexpr (kWords == 2 && kValues == 4) {
    const Chunk four = add_halves(add_pairs(parts[0], parts[1]), add_pairs(parts[2], parts[3]));
    (four + Chunk::load(of_values)).store(of_values);
  } else {
    for (int v = 0; v < kValues; ++v) {
      std::uint64_t numbers[Chunk::kCount];
      parts[v].store(numbers);
      Sum sum = remainder[v];
      for (std::size_t i = 0; i < Chunk::kCount; i += kWords) sum += Sum::load(numbers + i);
      sum.store(of_values + v * kWords);
    }
  }
}

// Sums up kValues values of a digit, and adds their codes to `rest`, or sets it.
template <int kWords, int kValues, bool kFirst>
void sum_values(std::size_t stride, const std::uint64_t* codes, std::uint64_t* rest,
                std::uint64_t* of_values) {
  constexpr int kChunk = std::max(8, kWords);
  using Chunk = Lanes<std::uint64_t, kChunk>;
  using Sum = Lanes<std::uint64_t, kWords>;
  const std::size_t n = stride * kWords;
  const auto add = [&]<class Vector>(std::size_t at, Vector(&sums)[kValues]) {
    Vector total = kFirst ? Vector() : Vector::load(rest + at);
    for (std::size_t v = 0; v < kValues; ++v) {
      const Vector own = Vector::load(codes + v * n + at);
      sums[v] += own;
      total += own;
    }
    total.store(rest + at);
  };
  Chunk parts[kValues];
  Sum remainder[kValues];
  std::size_t at = 0;
  for (; at + kChunk <= n; at += kChunk) add(at, parts);
  for (; at < n; at += kWords) add(at, remainder);
  write_sums<kWords>(parts, remainder, of_values);
}

template <int kWords>
void sum_all_values(std::size_t stride, std::size_t radix, const std::uint64_t* codes,
                    std::uint64_t* rest, std::uint64_t* of_digit) {
  const auto sum = [&]<int kValues>(std::size_t value) {
    std::uint64_t* sums = of_digit + value * kWords;
    const std::uint64_t* own = codes + value * stride * kWords;
    if (value == 0) {
      sum_values<kWords, kValues, true>(stride, own, rest, sums);
    } else {
      sum_values<kWords, kValues, false>(stride, own, rest, sums);
    }
  };
  std::size_t value = 0;
  for (; value + 4 <= radix; value += 4) sum.template operator()<4>(value);
  for (; value + 2 <= radix; value += 2) sum.template operator()<2>(value);
  if (value < radix) sum.template operator()<1>(value);
}

}  // namespace

void sum_digit(std::size_t words, std::size_t stride, std::size_t radix, const std::uint64_t* codes,
               std::uint64_t* rest, std::uint64_t* of_digit) {
  if (stride == 1) {
    std::copy_n(codes, radix * words, of_digit);
  } else if (words == 2) {
    sum_all_values<2>(stride, radix, codes, rest, of_digit);
  } else if (words == 4) {
    sum_all_values<4>(stride, radix, codes, rest, of_digit);
  } else if (words == 8) {
    sum_all_values<8>(stride, radix, codes, rest, of_digit);
  } else {
    sum_all_values<16>(stride, radix, codes, rest, of_digit);
  }
}

}  // namespace hedgerow::hist
