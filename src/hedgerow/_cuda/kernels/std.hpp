// The part of the C++ standard library that shared headers use, for NVRTC, which has none. Every
// function gives the bits of the C library: CUDA documents them as exact.
#pragma once

namespace std {

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
static_assert(sizeof(int64_t) == 8 && sizeof(size_t) == 8);

template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000); }
  static constexpr double min() { return 0x1p-1022; }
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
};
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000); }
};
template <>
struct numeric_limits<int64_t> {
  static constexpr int64_t max() { return 0x7fffffffffffffff; }
};

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
constexpr int bit_width(uint64_t x) {
  int width = 0;
  for (; x; x >>= 1) ++width;
  return width;
}

template <class T>
constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T>
constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}

template <class T, size_t n>
struct array {
  T items[n];
  constexpr T& operator[](size_t i) { return items[i]; }
  constexpr const T& operator[](size_t i) const { return items[i]; }
  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }
  static constexpr size_t size() { return n; }
};

using ::ceil;
using ::fabs;
using ::floor;
using ::frexp;
using ::isfinite;
using ::isnan;
using ::ldexp;
using ::sqrt;

}  // namespace std
