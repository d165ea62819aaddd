// Row ids side by side, some of which are moved together: AVX-512 has an instruction for it, the
// other levels look up where each id goes in a table.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) || defined(__SSSE3__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "core/compiler.hpp"

namespace hedgerow::inline HEDGEROW_LEVEL {

#if defined(__AVX512F__)

struct RowIds {
  static constexpr std::size_t kCount = 16;
  __m512i ids;

  static RowIds load(const std::uint32_t* from) { return {_mm512_loadu_si512(from)}; }
  static RowIds from(std::uint32_t first) {
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return {_mm512_add_epi32(numbers, _mm512_set1_epi32(static_cast<int>(first)))};
  }
  // Writes kCount numbers, the marked ids first.
  void store_marked(unsigned marks, std::uint32_t* to) const {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(marks), ids));
  }
};

#else

namespace detail {

// For each set of marks, the places of the marked ids, each of `size` bytes counted from its first.
template <std::size_t kCount, std::size_t kBytes>
constexpr auto places_of_marked() {
  std::array<std::array<std::uint8_t, kCount * kBytes>, std::size_t{1} << kCount> places = {};
  for (std::size_t marks = 0; marks < places.size(); ++marks) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (!(marks >> i & 1)) continue;
      for (std::size_t byte = 0; byte < kBytes; ++byte) {
        places[marks][n++] = static_cast<std::uint8_t>(i * kBytes + byte);
      }
    }
  }
  return places;
}

}  // namespace detail

#if defined(__AVX2__)

struct RowIds {
  static constexpr std::size_t kCount = 8;
  __m256i ids;

  static RowIds load(const std::uint32_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  static RowIds from(std::uint32_t first) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_add_epi32(numbers, _mm256_set1_epi32(static_cast<int>(first)))};
  }
  void store_marked(unsigned marks, std::uint32_t* to) const {
    alignas(64) static constexpr auto kPlaces = detail::places_of_marked<kCount, 1>();
    const __m256i places = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces[marks].data())));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(ids, places));
  }
};

#else

struct RowIds {
  static constexpr std::size_t kCount = 4;
  std::uint32_t ids __attribute__((vector_size(16)));

  static RowIds load(const std::uint32_t* from) {
    RowIds rows;
    std::memcpy(&rows.ids, from, sizeof rows.ids);
    return rows;
  }
  static RowIds from(std::uint32_t first) {
    return {decltype(ids){first, first + 1, first + 2, first + 3}};
  }
  void store_marked(unsigned marks, std::uint32_t* to) const {
    alignas(64) static constexpr auto kPlaces = detail::places_of_marked<kCount, 4>();
    const std::uint8_t* places = kPlaces[marks].data();
#if defined(__SSSE3__)
    const auto moved =
        _mm_shuffle_epi8((__m128i)ids, _mm_load_si128(reinterpret_cast<const __m128i*>(places)));
    std::memcpy(to, &moved, sizeof moved);
#elif defined(__ARM_NEON)
    vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vqtbl1q_u8((uint8x16_t)ids, vld1q_u8(places)));
#else
    for (std::size_t i = 0; i < kCount; ++i) to[i] = ids[places[4 * i] / 4];
#endif
  }
};

#endif
#endif

}  // namespace hedgerow::inline HEDGEROW_LEVEL
