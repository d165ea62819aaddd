// Bytes side by side: a comparison of 64 of them gives the bits of a word.
#pragma once
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "core/compiler.hpp"

namespace hedgerow::inline HEDGEROW_LEVEL {

// Bit i: byte i plus the shift, which may wrap round, is at most the limit.
inline std::uint64_t at_most_64(const std::uint8_t* bytes, std::uint8_t shift, std::uint8_t limit) {
#if defined(__AVX512BW__)
  const __m512i sum =
      _mm512_add_epi8(_mm512_loadu_si512(bytes), _mm512_set1_epi8(static_cast<char>(shift)));
  return _mm512_cmple_epu8_mask(sum, _mm512_set1_epi8(static_cast<char>(limit)));
#elif defined(__AVX2__)
  const __m256i shifts = _mm256_set1_epi8(static_cast<char>(shift));
  const __m256i limits = _mm256_set1_epi8(static_cast<char>(limit));
  std::uint64_t bits = 0;
  for (int part = 0; part < 2; ++part) {
    const __m256i sum =
        _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes) + part), shifts);
    const __m256i within = _mm256_cmpeq_epi8(_mm256_max_epu8(sum, limits), limits);
    bits |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(within))} << 32 * part;
  }
  return bits;
#elif defined(__SSE2__)
  const __m128i shifts = _mm_set1_epi8(static_cast<char>(shift));
  const __m128i limits = _mm_set1_epi8(static_cast<char>(limit));
  std::uint64_t bits = 0;
  for (int part = 0; part < 4; ++part) {
    const __m128i sum =
        _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + part), shifts);
    const __m128i within = _mm_cmpeq_epi8(_mm_max_epu8(sum, limits), limits);
    bits |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(within))} << 16 * part;
  }
  return bits;
#elif defined(__ARM_NEON)
  // Each byte keeps the bit of its place among eight; neighbours are added until a byte has eight.
  const uint8x16_t place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t part[4];
  for (int i = 0; i < 4; ++i) {
    const uint8x16_t sum = vaddq_u8(vld1q_u8(bytes + 16 * i), vdupq_n_u8(shift));
    part[i] = vandq_u8(vcleq_u8(sum, vdupq_n_u8(limit)), place);
  }
  const uint8x16_t fours = vpaddq_u8(vpaddq_u8(part[0], part[1]), vpaddq_u8(part[2], part[3]));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)), 0);
#else
  std::uint64_t bits = 0;
  for (int i = 0; i < 64; ++i) {
    bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i] + shift) <= limit) << i;
  }
  return bits;
#endif
}

}  // namespace hedgerow::inline HEDGEROW_LEVEL
