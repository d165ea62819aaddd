// Waiting awake, for what another thread is about to do.
#pragma once
#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hedgerow {

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until is_over(); returns false if that takes longer than `limit`. After the first part of
// the wait, the thread offers its core to any other that could run: with more threads than cores,
// that may be the one that it waits for.
template <class IsOver>
bool spin_until(IsOver is_over, std::chrono::nanoseconds limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kFirstPart{30};
  constexpr int kChecks = 16;
  const auto start = Clock::now();
  for (auto waited = start - start; waited < limit; waited = Clock::now() - start) {
    for (int i = 0; i < kChecks; ++i) {
      if (is_over()) return true;
      relax();
    }
    if (waited > kFirstPart) std::this_thread::yield();
  }
  return false;
}

}  // namespace hedgerow
