// The highest instruction-set level that this processor runs. Baseline instructions only, and no
// other header: it also decides what a build for this processor alone is compiled for.
#pragma once

namespace hedgerow {

inline const char* cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "v4" : v3 ? "v3" : "v2";
#else
  return "plain";
#endif
}

}  // namespace hedgerow
