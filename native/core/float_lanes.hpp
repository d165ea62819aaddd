// Vectors of floats of the width of the instruction set, for approximate sums: products are fused
// with additions where that is faster, so levels differ in their last bits. Users must bound the
// error, and no such sum may become part of a result.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/compiler.hpp"

namespace hedgerow::inline HEDGEROW_LEVEL {

#if defined(__AVX512F__)
struct FloatLanes {
  static constexpr std::size_t kCount = 16;
  __m512 v;

  static FloatLanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static FloatLanes all(float x) { return {_mm512_set1_ps(x)}; }
  void store(float* to) const { _mm512_storeu_ps(to, v); }
  FloatLanes less_product(FloatLanes a, FloatLanes b) const {
    return {_mm512_fnmadd_ps(a.v, b.v, v)};
  }
  FloatLanes smaller(FloatLanes other) const { return {_mm512_maskz_min_ps(0xffff, v, other.v)}; }
  std::uint32_t at_most(FloatLanes limit) const {
    return _mm512_cmp_ps_mask(v, limit.v, _CMP_LE_OQ);
  }
};
#elif defined(__AVX2__) && defined(__FMA__)
struct FloatLanes {
  static constexpr std::size_t kCount = 8;
  __m256 v;

  static FloatLanes load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static FloatLanes all(float x) { return {_mm256_set1_ps(x)}; }
  void store(float* to) const { _mm256_storeu_ps(to, v); }
  FloatLanes less_product(FloatLanes a, FloatLanes b) const {
    return {_mm256_fnmadd_ps(a.v, b.v, v)};
  }
  FloatLanes smaller(FloatLanes other) const { return {_mm256_min_ps(v, other.v)}; }
  std::uint32_t at_most(FloatLanes limit) const {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(v, limit.v, _CMP_LE_OQ)));
  }
};
#else
struct FloatLanes {
  static constexpr std::size_t kCount = 4;
  using Vector = float __attribute__((vector_size(16)));
  Vector v;

  static FloatLanes load(const float* from) { return {load_unaligned<Vector>(from)}; }
  static FloatLanes all(float x) { return {Vector{} + x}; }
  void store(float* to) const { store_unaligned(to, v); }
  FloatLanes less_product(FloatLanes a, FloatLanes b) const { return {v - a.v * b.v}; }
  FloatLanes smaller(FloatLanes other) const { return {v < other.v ? v : other.v}; }
  std::uint32_t at_most(FloatLanes limit) const {
    const auto within = v <= limit.v;
    return (within[0] & 1u) | (within[1] & 2u) | (within[2] & 4u) | (within[3] & 8u);
  }
};
#endif

}  // namespace hedgerow::inline HEDGEROW_LEVEL
