// What GCC and Clang spell differently, and the namespace of an instruction-set level. Everything
// else that the kernels use beyond the standard (vector types, prefetching, unrolling) both
// compilers understand as it is written.
#pragma once
#include <cstring>

// A process runs files compiled for an instruction-set level together with files compiled for the
// lowest one. What a header defines differently for each level (the width of a vector, the layout
// of a search tree, a function that takes or returns vectors, which travel in registers only where
// there are such registers) lies in the namespace of the level, so that no file uses another
// level's.
#if defined(__AVX512F__)
#define HEDGEROW_LEVEL avx512
#elif defined(__AVX2__)
#define HEDGEROW_LEVEL avx2
#else
#define HEDGEROW_LEVEL baseline
#endif

namespace hedgerow::inline HEDGEROW_LEVEL {

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

}  // namespace hedgerow::inline HEDGEROW_LEVEL

// Before a loop: no iteration reads what another one writes, so that it can be vectorised.
#if defined(__clang__)
#define HEDGEROW_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define HEDGEROW_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
