#include "hist/joint_histogram.hpp"

#include <algorithm>

namespace hedgerow::hist {
namespace {

template <int kWords>
struct SumVector {
  typedef std::uint64_t Type __attribute__((vector_size(8 * kWords), aligned(8), may_alias));
};

// Adds up the sums of a digit's value, eight words or one sum at a time, and adds them to `rest`.
template <int kWords, bool kFirst>
void sum_value(std::size_t stride, const std::uint64_t* codes, std::uint64_t* rest,
               std::uint64_t* of_value) {
  constexpr int kChunk = std::max(8, kWords);
  using Chunk = typename SumVector<kChunk>::Type;
  using Sum = typename SumVector<kWords>::Type;
  const std::size_t n = stride * kWords;
  Chunk chunks = {};
  std::size_t at = 0;
  for (; at + kChunk <= n; at += kChunk) {
    const Chunk sums = *reinterpret_cast<const Chunk*>(codes + at);
    auto& total = *reinterpret_cast<Chunk*>(rest + at);
    total = kFirst ? sums : total + sums;
    chunks += sums;
  }
  Sum sum = {};
  for (int i = 0; i < kChunk; ++i) sum[i % kWords] += chunks[i];
  for (; at < n; at += kWords) {
    const Sum sums = *reinterpret_cast<const Sum*>(codes + at);
    auto& total = *reinterpret_cast<Sum*>(rest + at);
    total = kFirst ? sums : total + sums;
    sum += sums;
  }
  *reinterpret_cast<Sum*>(of_value) = sum;
}

template <int kWords>
void sum_values(std::size_t stride, std::size_t radix, const std::uint64_t* codes,
                std::uint64_t* rest, std::uint64_t* of_digit) {
  sum_value<kWords, true>(stride, codes, rest, of_digit);
  for (std::size_t value = 1; value < radix; ++value) {
    sum_value<kWords, false>(stride, codes + value * stride * kWords, rest,
                             of_digit + value * kWords);
  }
}

}  // namespace

void sum_digit(std::size_t words, std::size_t stride, std::size_t radix, const std::uint64_t* codes,
               std::uint64_t* rest, std::uint64_t* of_digit) {
  if (stride == 1) {
    std::copy_n(codes, radix * words, of_digit);
  } else if (words == 2) {
    sum_values<2>(stride, radix, codes, rest, of_digit);
  } else if (words == 4) {
    sum_values<4>(stride, radix, codes, rest, of_digit);
  } else if (words == 8) {
    sum_values<8>(stride, radix, codes, rest, of_digit);
  } else {
    sum_values<16>(stride, radix, codes, rest, of_digit);
  }
}

}  // namespace hedgerow::hist
