// Codes are read once: up to four values of the digit are added up side by side, each in eight
// words, and their sum is added to the rest.
#include "hist/joint_histogram.hpp"

#include <algorithm>

#include "core/compiler.hpp"

namespace hedgerow::hist {
namespace {

template <int kWords>
struct SumVector {
  typedef std::uint64_t Type __attribute__((vector_size(8 * kWords)));
};

using Words8 = typename SumVector<8>::Type;

// Writes the sum of each value, whose parts are side by side in `parts` (and `remainder`).
template <int kWords, int kValues, class Chunk, class Sum>
inline void write_sums(const Chunk (&parts)[kValues], const Sum (&remainder)[kValues],
                       std::uint64_t* of_values) {
  constexpr int kChunk = sizeof(Chunk) / sizeof(std::uint64_t);
  if constexpr (kWords == 2 && kValues == 4) {
    const auto halves = [](Words8 a, Words8 b) {  // a₀ + a₁, b₀ + b₁, a₂ + a₃, b₂ + b₃
      return Words8(shuffle<0, 1, 8, 9, 4, 5, 12, 13>(a, b) +
                    shuffle<2, 3, 10, 11, 6, 7, 14, 15>(a, b));
    };
    const Words8 low = halves(parts[0], parts[1]), high = halves(parts[2], parts[3]);
    const Words8 four = shuffle<0, 1, 2, 3, 8, 9, 10, 11>(low, high) +
                        shuffle<4, 5, 6, 7, 12, 13, 14, 15>(low, high);
    const Words8 rest = {remainder[0][0], remainder[0][1], remainder[1][0], remainder[1][1],
                         remainder[2][0], remainder[2][1], remainder[3][0], remainder[3][1]};
    store_unaligned(of_values, Words8(four + rest));
  } else {
    for (int v = 0; v < kValues; ++v) {
      Sum sum = remainder[v];
      for (int i = 0; i < kChunk; ++i) sum[i % kWords] += parts[v][i];
      store_unaligned(of_values + v * kWords, sum);
    }
  }
}

// Sums up kValues values of a digit, and adds their codes to `rest`, or sets it.
template <int kWords, int kValues, bool kFirst>
void sum_values(std::size_t stride, const std::uint64_t* codes, std::uint64_t* rest,
                std::uint64_t* of_values) {
  constexpr int kChunk = std::max(8, kWords);
  using Chunk = typename SumVector<kChunk>::Type;
  using Sum = typename SumVector<kWords>::Type;
  const std::size_t n = stride * kWords;
  const auto add = [&]<class Vector>(std::size_t at, Vector(&sums)[kValues]) {
    Vector total = kFirst ? Vector{} : load_unaligned<Vector>(rest + at);
    for (std::size_t v = 0; v < kValues; ++v) {
      const auto own = load_unaligned<Vector>(codes + v * n + at);
      sums[v] += own;
      total += own;
    }
    store_unaligned(rest + at, total);
  };
  Chunk parts[kValues] = {};
  Sum remainder[kValues] = {};
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
