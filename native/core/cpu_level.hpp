// The highest instruction-set level that this processor and its system run. Baseline instructions
// only, and no header of ours: it also decides what a build for this processor alone is compiled
// for. Compilers have a function for this, but not the library that comes with each of them.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hedgerow {

#if defined(__x86_64__)
// Which registers the system saves when it switches threads: the bits of the XCR0 register.
inline unsigned saved_registers() {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

inline const char* cpu_level() {
  constexpr unsigned kSavedV3 = 0x6, kSavedV4 = 0xe6;  // the registers of AVX, and of AVX-512
  constexpr unsigned kBasicV3 = bit_OSXSAVE | bit_FMA;
  constexpr unsigned kV3 = bit_AVX2 | bit_BMI | bit_BMI2;
  constexpr unsigned kV4 =
      kV3 | bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
  unsigned a, b, basic, d, c;
  if (!__get_cpuid(1, &a, &b, &basic, &d) || (basic & kBasicV3) != kBasicV3) return "v2";
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & kV3) != kV3) return "v2";
  unsigned saved = saved_registers();
  if ((saved & kSavedV3) != kSavedV3) return "v2";
#if defined(__APPLE__)
  saved |= kSavedV4;  // from the first use on
#endif
  return (b & kV4) == kV4 && (saved & kSavedV4) == kSavedV4 ? "v4" : "v3";
}
#else
inline const char* cpu_level() { return "plain"; }
#endif

}  // namespace hedgerow
