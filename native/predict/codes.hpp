// Values → codes: the number of split points of a feature below a value, as a byte. Predictors
// encode each row once and compare bytes from then on.
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>
#if defined(__SSSE3__)
#include <immintrin.h>
#endif

#include "core/compiler.hpp"
#include "predict/predictor.hpp"

namespace hedgerow::predict {

inline constexpr int kMissingCode = 255;
inline constexpr std::size_t kMaxSplitPoints = 254;  // codes 0 … 254, and 255 for missing

inline bool has_bit(const std::uint32_t* bits, int code) {
  return bits[code >> 5] >> (code & 31) & 1;
}

// The code of a category is its bin number; any other value counts as missing.
template <class T>
int category_code(T value) {
  const T in_range = ((value >= 0) & (value < kMissingCode)) ? value : T{kMissingCode};
  const int code = static_cast<int>(in_range);
  return static_cast<T>(code) == in_range ? code : kMissingCode;
}

// One of several search trees: where it begins, its depth, and the number of its split points.
struct RankTree {
  std::size_t begin = 0;
  int levels = 0;
  std::size_t n_points = 0;
};

// Up to so many split points are compared with a vector of values each, instead of each value with
// a vector of split points.
inline constexpr std::size_t kFewSplitPoints = 4;

inline namespace HEDGEROW_LEVEL {

// Ranks: how many split points of a feature lie strictly below a value, found in a search tree
// of `kSearchLanes` branches a level: one vector comparison and a count of its bits.
#if defined(__AVX512F__)
template <class T>
constexpr std::size_t kSearchLanes = 64 / sizeof(T);
inline std::size_t count_below(const float* split, float value) {
  return std::popcount(
      _mm512_cmp_ps_mask(_mm512_loadu_ps(split), _mm512_set1_ps(value), _CMP_LT_OQ));
}
inline std::size_t count_below(const double* split, double value) {
  return std::popcount(
      _mm512_cmp_pd_mask(_mm512_loadu_pd(split), _mm512_set1_pd(value), _CMP_LT_OQ));
}
#elif defined(__AVX2__)
template <class T>
constexpr std::size_t kSearchLanes = 32 / sizeof(T);
inline std::size_t count_below(const float* split, float value) {
  const __m256 below = _mm256_cmp_ps(_mm256_loadu_ps(split), _mm256_set1_ps(value), _CMP_LT_OQ);
  return std::popcount(static_cast<unsigned>(_mm256_movemask_ps(below)));
}
inline std::size_t count_below(const double* split, double value) {
  const __m256d below = _mm256_cmp_pd(_mm256_loadu_pd(split), _mm256_set1_pd(value), _CMP_LT_OQ);
  return std::popcount(static_cast<unsigned>(_mm256_movemask_pd(below)));
}
#else
template <class T>
constexpr std::size_t kSearchLanes = 4;
template <class T>
std::size_t count_below(const T* split, T value) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kSearchLanes<T>; ++i) count += split[i] < value;
  return count;
}
#endif

// Appends a rank tree to others, level by level: every entry of an upper level is the last of
// `kSearchLanes` entries below it. Filled up with infinity, which no value exceeds.
template <class T>
RankTree add_rank_tree(const std::vector<T>& split_points, std::vector<T>& trees) {
  RankTree tree{trees.size(), 1, split_points.size()};
  std::size_t size = kSearchLanes<T>;
  for (; size <= split_points.size(); size *= kSearchLanes<T>) ++tree.levels;
  for (std::size_t step = size / kSearchLanes<T>; step >= 1; step /= kSearchLanes<T>)
    for (std::size_t i = step - 1; i < size; i += step)
      trees.push_back(i < split_points.size() ? split_points[i]
                                              : std::numeric_limits<T>::infinity());
  return tree;
}

// The number of split points strictly below the value. The depth is a template argument, because
// the compiler cannot keep it, or the table, in registers across stores of bytes.
template <int levels, class T>
std::size_t rank(const T* table, T value) {
  std::size_t rank = 0, size = 1;
  for (int i = 0; i < levels; ++i) {
    rank = rank * kSearchLanes<T> + count_below(table + rank * kSearchLanes<T>, value);
    size *= kSearchLanes<T>;
    table += size;
  }
  return rank;
}

template <class T>
std::size_t rank(int levels, const T* table, T value) {
  return levels == 1   ? rank<1>(table, value)
         : levels == 2 ? rank<2>(table, value)
         : levels == 3 ? rank<3>(table, value)
                       : rank<4>(table, value);
}

// Codes of a column, biased by 128 so that signed comparison orders them.
template <int levels, class T>
void rank_codes(const T* table, Strided<const T> column, std::size_t n_rows, std::int8_t* code) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    const T x = column.at(i, 0);
    const auto value_code = static_cast<int>(rank<levels>(table, x));
    code[i] = static_cast<std::int8_t>((x != x ? kMissingCode : value_code) - 128);
  }
}

// The same for few split points.
template <class T>
void compare_codes(std::span<const T> points, Strided<const T> column, std::size_t n_rows,
                   std::int8_t* code) {
  using Count = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  constexpr std::size_t kStrip = 64;
  for (std::size_t first = 0; first < n_rows; first += kStrip) {
    const std::size_t n = n_rows - first < kStrip ? n_rows - first : kStrip;
    T value[kStrip] = {};
    for (std::size_t i = 0; i < n; ++i) value[i] = column.at(first + i, 0);
    Count below[kStrip];
    for (std::size_t i = 0; i < kStrip; ++i) below[i] = value[i] != value[i] ? kMissingCode : 0;
    for (const T point : points) {
      for (std::size_t i = 0; i < kStrip; ++i) below[i] += point < value[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      code[first + i] = static_cast<std::int8_t>(below[i] - 128);
    }
  }
}

// Codes of a column of which `tree` has the split points, beginning at `table`.
template <class T>
void rank_codes(const RankTree& tree, const T* table, Strided<const T> column, std::size_t n_rows,
                std::int8_t* code) {
  const int levels = tree.levels;
  if (tree.n_points <= kFewSplitPoints && tree.levels == 1)
    compare_codes(std::span(table, tree.n_points), column, n_rows, code);
  else if (levels == 1)
    rank_codes<1>(table, column, n_rows, code);
  else if (levels == 2)
    rank_codes<2>(table, column, n_rows, code);
  else if (levels == 3)
    rank_codes<3>(table, column, n_rows, code);
  else
    rank_codes<4>(table, column, n_rows, code);
}

}  // namespace HEDGEROW_LEVEL

template <class T>
void category_codes(Strided<const T> column, std::size_t n_rows, std::int8_t* code) {
  for (std::size_t i = 0; i < n_rows; ++i)
    code[i] = static_cast<std::int8_t>(category_code(column.at(i, 0)) - 128);
}

// The greatest float not above x: for float values, "≤ x" and "≤ round_down(x)" are the same.
inline float round_down(double x) {
  const auto nearest = static_cast<float>(x);
  return nearest > x ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

}  // namespace hedgerow::predict
