// Vectors of eight for scans of histograms: the sums of bins, added up from the first to each.
#pragma once
#include <cstdint>

#include "core/compiler.hpp"

namespace hedgerow::hist::inline HEDGEROW_LEVEL {

typedef std::int64_t Long8 __attribute__((vector_size(64)));
typedef std::uint64_t ULong8 __attribute__((vector_size(64)));
typedef double Double8 __attribute__((vector_size(64)));

// Four pairs (g, hc). They are added as unsigned numbers: hc uses all 64 bits, and a signed sum
// must not overflow.
inline ULong8 load8(const void* from) { return load_unaligned<ULong8>(from); }

// Running sums of four pairs (g, hc).
inline ULong8 running_sum(ULong8 pairs) {
  const ULong8 zero = {};
  pairs += shuffle<8, 8, 0, 1, 2, 3, 4, 5>(pairs, zero);
  pairs += shuffle<8, 8, 8, 8, 0, 1, 2, 3>(pairs, zero);
  return pairs;
}

inline ULong8 last_pair(ULong8 pairs) { return shuffle<6, 7, 6, 7, 6, 7, 6, 7>(pairs, pairs); }

// The g and the hc of eight pairs.
inline Long8 even_lanes(ULong8 low, ULong8 high) {
  return (Long8)shuffle<0, 2, 4, 6, 8, 10, 12, 14>(low, high);
}
inline ULong8 odd_lanes(ULong8 low, ULong8 high) {
  return shuffle<1, 3, 5, 7, 9, 11, 13, 15>(low, high);
}

inline Double8 to_double(Long8 v) { return __builtin_convertvector(v, Double8); }

}  // namespace hedgerow::hist::inline HEDGEROW_LEVEL
