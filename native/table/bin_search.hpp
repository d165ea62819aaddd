// Value to bin, many values at once: a perfect binary tree of thresholds in breadth-first order,
// walked without branches. With AVX-512 the whole tree sits in registers and a step down is a
// permutation; elsewhere sixteen independent walks hide each other's latency.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "table/binned_view.hpp"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define HEDGEROW_AVX512 1
#include <immintrin.h>
#endif

#include "core/compiler.hpp"

namespace hedgerow {

// The largest Real that is at most t, so that x <= t and x <= round_down(t) agree for every Real x.
template <class Real>
Real round_down(double t) {
  const Real rounded = static_cast<Real>(t);
  if (static_cast<double>(rounded) <= t) return rounded;
  return std::nextafter(rounded, -std::numeric_limits<Real>::infinity());
}

// Node 1 is the root; the children of node i are 2i (x <= threshold) and 2i + 1. After `depth`
// steps the index, less 2^depth, is the number of thresholds below x.
template <class Real>
struct SearchTree {
  alignas(64) Real node[256];
  int depth;  // 4, 6 or 8: a few depths, each compiled with its loops unrolled

  explicit SearchTree(std::span<const double> thresholds) {
    const int needed = std::bit_width(thresholds.size());
    depth = needed <= 4 ? 4 : needed <= 6 ? 6 : 8;
    std::fill(std::begin(node), std::end(node), std::numeric_limits<Real>::infinity());
    for (int level = 0; level < depth; ++level)
      for (std::size_t j = 0; j < std::size_t{1} << level; ++j) {
        const std::size_t at = ((2 * j + 1) << (depth - 1 - level)) - 1;
        if (at < thresholds.size())
          node[(std::size_t{1} << level) + j] = round_down<Real>(thresholds[at]);
      }
  }
};

inline namespace HEDGEROW_LEVEL {

#if HEDGEROW_AVX512

template <class Real>
struct Lanes;

template <>
struct Lanes<float> {
  static constexpr int count = 16;
  using Values = __m512;
  using Indices = __m512i;
  using Mask = __mmask16;
  static Values load(const float* at) { return _mm512_loadu_ps(at); }
  static Values load_some(Mask some, const float* at) { return _mm512_maskz_loadu_ps(some, at); }
  static Values permute(Indices i, Values a) { return _mm512_permutexvar_ps(i, a); }
  static Values permute(Indices i, Values a, Values b) { return _mm512_permutex2var_ps(a, i, b); }
  static Values blend(Mask m, Values a, Values b) { return _mm512_mask_blend_ps(m, a, b); }
  static Mask below(Values a, Values b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Mask nan(Values a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
  static Mask infinite(Values a) { return _mm512_fpclass_ps_mask(a, 0x18); }
  static Indices fill(int i) { return _mm512_set1_epi32(i); }
  static Indices step(Indices i, Mask right) {
    i = _mm512_add_epi32(i, i);
    return _mm512_mask_sub_epi32(i, right, i, _mm512_set1_epi32(-1));
  }
  static Indices set(Indices i, Mask m, int to) { return _mm512_mask_mov_epi32(i, m, fill(to)); }
  static void store(std::uint8_t* at, Mask some, Indices i) {
    _mm512_mask_cvtepi32_storeu_epi8(at, some, i);
  }
  static void store(std::uint8_t* at, Indices i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi32_epi8(i));
  }
};

template <>
struct Lanes<double> {
  static constexpr int count = 8;
  using Values = __m512d;
  using Indices = __m512i;
  using Mask = __mmask8;
  static Values load(const double* at) { return _mm512_loadu_pd(at); }
  static Values load_some(Mask some, const double* at) { return _mm512_maskz_loadu_pd(some, at); }
  static Values permute(Indices i, Values a) { return _mm512_permutexvar_pd(i, a); }
  static Values permute(Indices i, Values a, Values b) { return _mm512_permutex2var_pd(a, i, b); }
  static Values blend(Mask m, Values a, Values b) { return _mm512_mask_blend_pd(m, a, b); }
  static Mask below(Values a, Values b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
  static Mask nan(Values a) { return _mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q); }
  static Mask infinite(Values a) { return _mm512_fpclass_pd_mask(a, 0x18); }
  static Indices fill(int i) { return _mm512_set1_epi64(i); }
  static Indices step(Indices i, Mask right) {
    i = _mm512_add_epi64(i, i);
    return _mm512_mask_sub_epi64(i, right, i, _mm512_set1_epi64(-1));
  }
  static Indices set(Indices i, Mask m, int to) { return _mm512_mask_mov_epi64(i, m, fill(to)); }
  static void store(std::uint8_t* at, Mask some, Indices i) {
    _mm512_mask_cvtepi64_storeu_epi8(at, some, i);
  }
  static void store(std::uint8_t* at, Indices i) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm512_cvtepi64_epi8(i));
  }
};

// The walk for one vector of values. `table` is the tree, lane by lane; right[k] says which values
// went right at level k, which is bit (level - 1 - k) of their index at `level`.
template <class L, int depth>
struct Walk {
  typename L::Values table[256 / L::count];
  typename L::Mask right[8];

  explicit Walk(const auto* node) {
    for (int i = 0; i < (1 << depth) / L::count; ++i) table[i] = L::load(node + i * L::count);
  }

  // Entry `index` of the 2^bits entries from register `first` on; `split` is the level whose
  // direction is the index's highest bit. A permutation reads only the bits it needs.
  template <int first, int bits, int split>
  typename L::Values lookup(typename L::Indices index) {
    if constexpr ((1 << bits) <= L::count) {
      return L::permute(index, table[first]);
    } else if constexpr ((1 << bits) == 2 * L::count) {
      return L::permute(index, table[first], table[first + 1]);
    } else {
      const auto low = lookup<first, bits - 1, split + 1>(index);
      const auto high = lookup<first + (1 << (bits - 1)) / L::count, bits - 1, split + 1>(index);
      return L::blend(right[split], low, high);
    }
  }

  template <int level>
  void descend(typename L::Values x, typename L::Indices& index) {
    right[level] = L::below(lookup<(1 << level) / L::count, level, 0>(index), x);
    index = L::step(index, right[level]);
  }

  // The bin of each x, in the low byte of its lane.
  typename L::Indices operator()(typename L::Values x) {
    auto index = L::fill(1);
    [&]<int... level>(std::integer_sequence<int, level...>) {
      (descend<level>(x, index), ...);
    }(std::make_integer_sequence<int, depth>{});
    if constexpr (depth < 8) index = _mm512_xor_si512(index, L::fill(1 << depth));
    return L::set(index, L::nan(x), kMissingBin);
  }
};

template <int depth, class Real>
bool search_at_depth(const Real* node, const Real* x, std::size_t count, std::uint8_t* bins) {
  using L = Lanes<Real>;
  Walk<L, depth> walk(node);
  unsigned infinite = 0;
  std::size_t i = 0;
  for (; i + L::count <= count; i += L::count) {
    const auto values = L::load(x + i);
    infinite |= L::infinite(values);
    L::store(bins + i, walk(values));
  }
  if (i < count) {
    const auto some = static_cast<typename L::Mask>((1u << (count - i)) - 1);
    const auto values = L::load_some(some, x + i);
    infinite |= L::infinite(values);
    L::store(bins + i, some, walk(values));
  }
  return infinite == 0;
}

#else

template <int depth, class Real>
bool search_at_depth(const Real* node, const Real* x, std::size_t count, std::uint8_t* bins) {
  constexpr std::size_t kWalks = 16;
  bool finite = true;
  for (std::size_t i = 0; i < count; i += kWalks) {
    const std::size_t n = std::min(kWalks, count - i);
    Real value[kWalks] = {};
    std::uint32_t index[kWalks];
    std::copy_n(x + i, n, value);
    std::fill_n(index, kWalks, 1u);
    for (int level = 0; level < depth; ++level)
      for (std::size_t j = 0; j < kWalks; ++j)
        index[j] = 2 * index[j] + (node[index[j]] < value[j] ? 1 : 0);
    for (std::size_t j = 0; j < kWalks; ++j) {
      finite &= !(std::fabs(value[j]) == std::numeric_limits<Real>::infinity());
      index[j] = value[j] != value[j] ? kMissingBin : index[j] - (1u << depth);
    }
    for (std::size_t j = 0; j < n; ++j) bins[i + j] = static_cast<std::uint8_t>(index[j]);
  }
  return finite;
}

#endif

// bins[i] = number of thresholds below x[i], or kMissingBin for NaN; false if some x is infinite.
template <class Real>
bool search(const SearchTree<Real>& tree, const Real* x, std::size_t count, std::uint8_t* bins) {
  switch (tree.depth) {
    case 4:
      return search_at_depth<4>(tree.node, x, count, bins);
    case 6:
      return search_at_depth<6>(tree.node, x, count, bins);
    default:
      return search_at_depth<8>(tree.node, x, count, bins);
  }
}

}  // namespace HEDGEROW_LEVEL
}  // namespace hedgerow
