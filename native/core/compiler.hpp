// What GCC and Clang spell differently. Everything else that the kernels use beyond the standard
// (vector types, prefetching, unrolling) both compilers understand as it is written.
#pragma once
#include <cstring>

namespace hedgerow {

// The lanes of a (0, 1 …) followed by those of b, in the order of the template's arguments.
template <int... lane, class Vector>
inline Vector shuffle(Vector a, Vector b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, lane...);
#else
  using Lanes = decltype(a < b);  // integers of the same size
  return __builtin_shuffle(a, b, Lanes{lane...});
#endif
}

// Vectors at any address. (Clang ignores `aligned` in an alias declaration of a vector type.)
template <class Vector, class T>
inline Vector load_unaligned(const T* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(Vector));
  return vector;
}

template <class Vector, class T>
inline void store_unaligned(T* to, Vector vector) {
  std::memcpy(to, &vector, sizeof(Vector));
}

}  // namespace hedgerow

// Before a loop: no iteration reads what another one writes, so that it can be vectorised.
#if defined(__clang__)
#define HEDGEROW_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define HEDGEROW_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
