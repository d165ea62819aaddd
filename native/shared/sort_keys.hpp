// Real numbers as integers of the same order, which sort quickly, and thresholds between numbers.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace hedgerow {

namespace sort_keys_detail {

template <class Key>
constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);

template <class Key>
constexpr Key in_order(Key bits) {
  return bits & kSign<Key> ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign<Key>);
}
template <class Key>
constexpr Key bits_of(Key key) {
  return key & kSign<Key> ? static_cast<Key>(key ^ kSign<Key>) : static_cast<Key>(~key);
}

}  // namespace sort_keys_detail

// A real number as an unsigned integer of the same order; both zeros become one.
inline std::uint32_t key_of(float value) {
  return sort_keys_detail::in_order(std::bit_cast<std::uint32_t>(value + 0.0f));
}
inline std::uint64_t key_of(double value) {
  return sort_keys_detail::in_order(std::bit_cast<std::uint64_t>(value + 0.0));
}

inline double value_of(std::uint32_t key) {
  return std::bit_cast<float>(sort_keys_detail::bits_of(key));
}
inline double value_of(std::uint64_t key) {
  return std::bit_cast<double>(sort_keys_detail::bits_of(key));
}

// The midpoint of two finite numbers, rounded such that lower <= t < upper.
inline double threshold_between(double lower, double upper) {
  const double sum = lower + upper;
  const double middle = std::isfinite(sum) ? sum * 0.5 : lower * 0.5 + upper * 0.5;
  return lower <= middle && middle < upper ? middle : lower;
}

}  // namespace hedgerow
