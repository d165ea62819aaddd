// Sums of gradients for scans of histograms, eight at a time: those of bins side by side, and those
// of the first bins up to each. In memory the g and the hc of a bin are neighbours; vectors hold
// eight of either.
#pragma once
#include <cstdint>

#include "core/lanes.hpp"
#include "shared/fixed_point.hpp"

namespace hedgerow::hist::inline HEDGEROW_LEVEL {

// The sums of eight bins, thresholds or features.
struct Sums8 {
  Long8 g;
  ULong8 hc;
};

// Some pairs (g, hc) as they lie in memory. They are added as unsigned numbers: hc uses all 64
// bits, and a signed sum must not overflow.
template <std::size_t n>
struct Pairs {
  static constexpr std::size_t kParts = n * sizeof(GradientSum) / kVectorBytes;
  static constexpr std::size_t kPerPart = kVectorBytes / sizeof(GradientSum);
  using Part = native::Vector<std::uint64_t, kVectorBytes / 8>;

  Part part[kParts] = {};

  static Pairs load(const GradientSum* from) {
    Pairs pairs;
    for (std::size_t p = 0; p < kParts; ++p)
      pairs.part[p] = load_unaligned<Part>(from + p * kPerPart);
    return pairs;
  }
  void store(GradientSum* to) const {
    for (std::size_t p = 0; p < kParts; ++p) store_unaligned(to + p * kPerPart, part[p]);
  }
  Pairs& operator+=(const Pairs& other) {
    for (std::size_t p = 0; p < kParts; ++p) part[p] += other.part[p];
    return *this;
  }
  Pairs& operator-=(const Pairs& other) {
    for (std::size_t p = 0; p < kParts; ++p) part[p] -= other.part[p];
    return *this;
  }
  GradientSum sum() const {
    Part total = part[0];
    for (std::size_t p = 1; p < kParts; ++p) total += part[p];
    GradientSum sum = {0, 0};
    for (std::size_t k = 0; k < kPerPart; ++k)
      sum += {static_cast<std::int64_t>(total[2 * k]), total[2 * k + 1]};
    return sum;
  }
};

using Pairs8 = Pairs<8>;

inline Sums8 unzip(const Pairs8& pairs) {
  Sums8 sums;
#if defined(__AVX512F__)
  sums.g.part[0] = (Long8::Part)shuffle<0, 2, 4, 6, 8, 10, 12, 14>(pairs.part[0], pairs.part[1]);
  sums.hc.part[0] = shuffle<1, 3, 5, 7, 9, 11, 13, 15>(pairs.part[0], pairs.part[1]);
#else
  for (std::size_t p = 0; p < Long8::kParts; ++p) {
    const auto a = pairs.part[2 * p], b = pairs.part[2 * p + 1];
#if defined(__AVX2__)
    sums.g.part[p] = (Long8::Part)shuffle<0, 2, 4, 6>(a, b);
    sums.hc.part[p] = shuffle<1, 3, 5, 7>(a, b);
#else
    sums.g.part[p] = (Long8::Part)shuffle<0, 2>(a, b);
    sums.hc.part[p] = shuffle<1, 3>(a, b);
#endif
  }
#endif
  return sums;
}

inline Pairs8 zip(const Sums8& sums) {
  Pairs8 pairs;
  for (std::size_t p = 0; p < Long8::kParts; ++p) {
    const auto g = (ULong8::Part)sums.g.part[p], hc = sums.hc.part[p];
#if defined(__AVX512F__)
    pairs.part[0] = shuffle<0, 8, 1, 9, 2, 10, 3, 11>(g, hc);
    pairs.part[1] = shuffle<4, 12, 5, 13, 6, 14, 7, 15>(g, hc);
#elif defined(__AVX2__)
    pairs.part[2 * p] = shuffle<0, 4, 1, 5>(g, hc);
    pairs.part[2 * p + 1] = shuffle<2, 6, 3, 7>(g, hc);
#else
    pairs.part[2 * p] = shuffle<0, 2>(g, hc);
    pairs.part[2 * p + 1] = shuffle<1, 3>(g, hc);
#endif
  }
  return pairs;
}

// Running sums of pairs, eight after eight. Where a shuffle across all lanes costs as much as any
// other, four pairs are added to each other in two steps; elsewhere, one is added after another.
class RunningSums {
#if defined(__AVX512F__)
 public:
  explicit RunningSums(const GradientSum& start) {
    const auto g = static_cast<std::uint64_t>(start.g);
    carry_ = Vector{g, start.hc, g, start.hc, g, start.hc, g, start.hc};
  }
  // With the next eight: load<Vector>(k) are those from the k-th on that fill a vector.
  template <class Load>
  Sums8 next(const Load& load) {
    Pairs8 sums;
    sums.part[0] = carry_ + running_sum(load.template operator()<Vector>(0));
    sums.part[1] = last(sums.part[0]) + running_sum(load.template operator()<Vector>(4));
    carry_ = last(sums.part[1]);
    return unzip(sums);
  }

 private:
  using Vector = Pairs8::Part;

  static Vector running_sum(Vector pairs) {
    const Vector zero = {};
    pairs += shuffle<8, 8, 0, 1, 2, 3, 4, 5>(pairs, zero);
    pairs += shuffle<8, 8, 8, 8, 0, 1, 2, 3>(pairs, zero);
    return pairs;
  }
  static Vector last(Vector pairs) { return shuffle<6, 7, 6, 7, 6, 7, 6, 7>(pairs, pairs); }
#else
 public:
  explicit RunningSums(const GradientSum& start)
      : carry_{static_cast<std::uint64_t>(start.g), start.hc} {}
  template <class Load>
  Sums8 next(const Load& load) {
    Vector sum[8];
    for (int k = 0; k < 8; ++k) sum[k] = carry_ += load.template operator()<Vector>(k);
    Sums8 sums;
#if defined(__AVX2__)
    for (std::size_t p = 0; p < 2; ++p) {
      const auto join = [&](std::size_t k) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)sum[4 * p + k]),
                                       (__m128i)sum[4 * p + k + 2], 1);
      };
      const __m256i even = join(0), odd = join(1);
      sums.g.part[p] = (Long8::Part)_mm256_unpacklo_epi64(even, odd);
      sums.hc.part[p] = (ULong8::Part)_mm256_unpackhi_epi64(even, odd);
    }
#else
    for (std::size_t p = 0; p < 4; ++p) {
      sums.g.part[p] = (Long8::Part)shuffle<0, 2>(sum[2 * p], sum[2 * p + 1]);
      sums.hc.part[p] = shuffle<1, 3>(sum[2 * p], sum[2 * p + 1]);
    }
#endif
    return sums;
  }

 private:
  using Vector = native::Vector<std::uint64_t, 2>;
#endif
  Vector carry_;
};

}  // namespace hedgerow::hist::inline HEDGEROW_LEVEL
