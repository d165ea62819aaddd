// A fixed number of lanes side by side: eight thresholds, sixteen rows. How many there are is part
// of an algorithm, and so of a model's bits; they are stored as vectors of the width of the
// instruction set, and every operation is elementwise, so that all levels compute the same. What
// the width decides is written once, here and where a kernel says why.
//
// Compilers understand vectors of any width, but lower those wider than the machine's badly:
// comparisons and selections one lane at a time (GCC), shuffles through memory. Libraries of
// vectors have no lanes of a fixed number (Highway, whose lanes are those of the machine) or not on
// every platform (std::experimental::simd is libstdc++'s alone).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__AVX2__) || defined(__SSE4_1__)
#include <immintrin.h>
#endif

#include "core/compiler.hpp"

namespace hedgerow::inline HEDGEROW_LEVEL {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

namespace native {

// A vector of the machine.
template <class T, std::size_t n>
struct VectorOf {
  typedef T Type __attribute__((vector_size(n * sizeof(T))));
};
template <class T, std::size_t n>
using Vector = typename VectorOf<T, n>::Type;

// The nearest double of 64-bit integers, as a conversion instruction rounds it. Without one, both
// halves become doubles without rounding (the bits of an integer below 2³² behind the exponent of
// 2⁵² or 2⁸⁴), and their sum rounds once.
template <std::size_t n>
inline Vector<double, n> to_double(Vector<std::int64_t, n> x) {
#if defined(__AVX512DQ__) || defined(__aarch64__)
  return __builtin_convertvector(x, Vector<double, n>);
#else
  using Bits = Vector<std::uint64_t, n>;
  const auto bits = (Bits)x;
  const Bits low = (bits & 0xffff'ffffu) | 0x4330'0000'0000'0000u;
  const Bits high = (bits >> 32) ^ 0x4530'0000'8000'0000u;
  return ((Vector<double, n>)high - (0x1p84 + 0x1p63 + 0x1p52)) + (Vector<double, n>)low;
#endif
}

// Before AVX-512 there is no shift of 64 bits that keeps the sign.
template <class T, std::size_t n>
inline Vector<T, n> shift_right(Vector<T, n> x, int by) {
#if defined(__SSE2__) && !defined(__AVX512F__)
  if constexpr (std::is_signed_v<T>) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    const auto shifted = ((Vector<std::uint64_t, n>)x ^ kSign) >> by;
    return (Vector<T, n>)(shifted - (kSign >> by));
  }
#endif
  return x >> by;
}

// The sign of each lane as a bit.
template <std::size_t n>
inline unsigned sign_bits(Vector<std::int64_t, n> x) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask((__m512i)x);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd((__m256d)x));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_pd((__m128d)x));
#else
  unsigned bits = 0;
  for (std::size_t i = 0; i < n; ++i) bits |= static_cast<unsigned>(x[i] < 0) << i;
  return bits;
#endif
}

// Lanes of a where all bits of the mask are set, otherwise of b.
template <class T, std::size_t n, class Mask>
inline Vector<T, n> select(Mask mask, Vector<T, n> a, Vector<T, n> b) {
#if defined(__AVX512F__)
  return mask ? a : b;
#elif defined(__AVX2__)
  static_assert(n * sizeof(T) == 32);
  return (Vector<T, n>)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
#elif defined(__SSE4_1__)
  return (Vector<T, n>)_mm_blendv_pd((__m128d)b, (__m128d)a, (__m128d)mask);
#else
  return mask ? a : b;
#endif
}

}  // namespace native

// `n` numbers of 64 bits.
template <class T, std::size_t n>
struct Lanes {
  static_assert(sizeof(T) == 8 && n * sizeof(T) >= 16);
  static constexpr std::size_t kCount = n;
  static constexpr std::size_t kPerPart = (n * 8 < kVectorBytes ? n * 8 : kVectorBytes) / 8;
  static constexpr std::size_t kParts = n / kPerPart;
  using Part = native::Vector<T, kPerPart>;
  using Mask = Lanes<std::int64_t, n>;

  Part part[kParts] = {};

  Lanes() = default;
  Lanes(T x) {  // NOLINT(google-explicit-constructor): so that formulas may mix them with numbers
    for (Part& p : part) p = Part{} + x;
  }

  static Lanes load(const T* from) {
    Lanes lanes;
    for (std::size_t p = 0; p < kParts; ++p)
      lanes.part[p] = load_unaligned<Part>(from + p * kPerPart);
    return lanes;
  }
  void store(T* to) const {
    for (std::size_t p = 0; p < kParts; ++p) store_unaligned(to + p * kPerPart, part[p]);
  }
  // 0, 1, 2 …
  static Lanes numbers() {
    Lanes lanes;
    for (std::size_t i = 0; i < n; ++i) lanes.set(i, static_cast<T>(i));
    return lanes;
  }

  T operator[](std::size_t i) const { return part[i / kPerPart][i % kPerPart]; }
  void set(std::size_t i, T x) { part[i / kPerPart][i % kPerPart] = x; }

  // Every vector of one or two operands through a function; its bits become the result's.
  template <class Result, class Function>
  static Result map(const Lanes& a, const Function& function) {
    Result result;
    for (std::size_t p = 0; p < kParts; ++p) {
      result.part[p] = (typename Result::Part)function(a.part[p]);
    }
    return result;
  }
  template <class Result, class Function>
  static Result map(const Lanes& a, const Lanes& b, const Function& function) {
    Result result;
    for (std::size_t p = 0; p < kParts; ++p) {
      result.part[p] = (typename Result::Part)function(a.part[p], b.part[p]);
    }
    return result;
  }

  friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x + y; });
  }
  friend Lanes operator-(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x - y; });
  }
  friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x * y; });
  }
  friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x / y; });
  }
  friend Lanes operator&(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x & y; });
  }
  friend Lanes operator^(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x ^ y; });
  }
  friend Lanes operator|(const Lanes& a, const Lanes& b) {
    return map<Lanes>(a, b, [](Part x, Part y) { return x | y; });
  }
  friend Mask operator<(const Lanes& a, const Lanes& b) {
    return map<Mask>(a, b, [](Part x, Part y) { return x < y; });
  }
  friend Mask operator<=(const Lanes& a, const Lanes& b) {
    return map<Mask>(a, b, [](Part x, Part y) { return x <= y; });
  }
  friend Mask operator==(const Lanes& a, const Lanes& b) {
    return map<Mask>(a, b, [](Part x, Part y) { return x == y; });
  }
  friend Mask operator>(const Lanes& a, const Lanes& b) { return b < a; }
  friend Mask operator>=(const Lanes& a, const Lanes& b) { return b <= a; }
  Lanes operator-() const {
    return map<Lanes>(*this, [](Part x) { return -x; });
  }
  Lanes operator~() const {
    return map<Lanes>(*this, [](Part x) { return ~x; });
  }
  Lanes operator>>(int by) const {
    return map<Lanes>(*this, [by](Part x) { return native::shift_right<T, kPerPart>(x, by); });
  }
  Lanes operator<<(int by) const {
    return map<Lanes>(*this, [by](Part x) { return x << by; });
  }
  Lanes& operator+=(const Lanes& other) { return *this = *this + other; }
  Lanes& operator-=(const Lanes& other) { return *this = *this - other; }
  Lanes& operator&=(const Lanes& other) { return *this = *this & other; }
  Lanes& operator|=(const Lanes& other) { return *this = *this | other; }
};

// The same bits as numbers of another type.
template <class To, class T, std::size_t n>
inline Lanes<To, n> as(const Lanes<T, n>& x) {
  return Lanes<T, n>::template map<Lanes<To, n>>(x, [](auto part) { return part; });
}

template <std::size_t n>
inline Lanes<double, n> to_double(const Lanes<std::int64_t, n>& x) {
  return Lanes<std::int64_t, n>::template map<Lanes<double, n>>(
      x, [](auto p) { return native::to_double<Lanes<double, n>::kPerPart>(p); });
}

// Lanes of a where the mask's are −1, of b where they are 0.
template <class T, std::size_t n>
inline Lanes<T, n> select(const Lanes<std::int64_t, n>& mask, const Lanes<T, n>& a,
                          const Lanes<T, n>& b) {
  Lanes<T, n> result;
  for (std::size_t p = 0; p < result.kParts; ++p) {
    result.part[p] = native::select<T, Lanes<T, n>::kPerPart>(mask.part[p], a.part[p], b.part[p]);
  }
  return result;
}

// The lanes of a mask as bits.
template <std::size_t n>
inline unsigned bits(const Lanes<std::int64_t, n>& mask) {
  using Mask = Lanes<std::int64_t, n>;
  unsigned bits = 0;
  for (std::size_t p = 0; p < Mask::kParts; ++p) {
    bits |= native::sign_bits<Mask::kPerPart>(mask.part[p]) << p * Mask::kPerPart;
  }
  return bits;
}

// The sums of two pairs of lanes: the first two of a, of b, the next two of a, of b.
template <class T, std::size_t n>
inline Lanes<T, n> add_pairs(const Lanes<T, n>& a, const Lanes<T, n>& b) {
  Lanes<T, n> sums;
  for (std::size_t p = 0; p < sums.kParts; ++p) {
    if constexpr (sums.kPerPart == 2) {
      const Lanes<T, n>& of = p % 2 == 0 ? a : b;
      sums.part[p] = of.part[p / 2 * 2] + of.part[p / 2 * 2 + 1];
    } else if constexpr (sums.kPerPart == 4) {
      sums.part[p] =
          shuffle<0, 1, 4, 5>(a.part[p], b.part[p]) + shuffle<2, 3, 6, 7>(a.part[p], b.part[p]);
    } else {
      sums.part[p] = shuffle<0, 1, 8, 9, 4, 5, 12, 13>(a.part[p], b.part[p]) +
                     shuffle<2, 3, 10, 11, 6, 7, 14, 15>(a.part[p], b.part[p]);
    }
  }
  return sums;
}

// The sum of both halves of a, followed by that of b.
template <class T>
inline Lanes<T, 8> add_halves(const Lanes<T, 8>& a, const Lanes<T, 8>& b) {
  Lanes<T, 8> sums;
  constexpr std::size_t kHalf = Lanes<T, 8>::kParts / 2;
  if constexpr (kHalf == 0) {
    sums.part[0] = shuffle<0, 1, 2, 3, 8, 9, 10, 11>(a.part[0], b.part[0]) +
                   shuffle<4, 5, 6, 7, 12, 13, 14, 15>(a.part[0], b.part[0]);
  }
  for (std::size_t p = 0; p < kHalf; ++p) {
    sums.part[p] = a.part[p] + a.part[p + kHalf];
    sums.part[p + kHalf] = b.part[p] + b.part[p + kHalf];
  }
  return sums;
}

using Double8 = Lanes<double, 8>;
using Long8 = Lanes<std::int64_t, 8>;
using ULong8 = Lanes<std::uint64_t, 8>;

}  // namespace hedgerow::inline HEDGEROW_LEVEL
