// The operating systems: Windows, and those with POSIX's threads (Linux, macOS).
#include "core/platform.hpp"

#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#include <process.h>
#include <windows.h>
#else
#include <signal.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace hedgerow {
namespace {

// Kernels keep small arrays on the stack; the defaults of musl (128 KiB) and macOS would be tight.
constexpr unsigned kStackBytes = 1u << 20;

constexpr std::size_t kCacheLine = 64;

}  // namespace

#if defined(_WIN32)

std::uint64_t thread_ident() { return GetCurrentThreadId(); }

bool start_thread(Thread& thread, ThreadResult (*main)(void*), void* argument) {
  thread = _beginthreadex(nullptr, kStackBytes, main, argument, STACK_SIZE_PARAM_IS_A_RESERVATION,
                          nullptr);
  return thread != 0;
}

void join_thread(Thread thread) {
  const auto handle = reinterpret_cast<HANDLE>(thread);
  WaitForSingleObject(handle, INFINITE);
  CloseHandle(handle);
}

void after_fork_in_child(void (*)()) {}

void* allocate_aligned(std::size_t bytes) {
  void* memory = _aligned_malloc(bytes + 1, kCacheLine);  // of no bytes it would give none
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void free_aligned(void* memory) { _aligned_free(memory); }

#else

std::uint64_t thread_ident() { return (std::uint64_t)pthread_self(); }  // an integer or a pointer

bool start_thread(Thread& thread, ThreadResult (*main)(void*), void* argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // A thread inherits its creator's mask: with all signals blocked, Ctrl-C reaches Python's thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, &attributes, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
#if defined(__linux__)
  if (error == 0) pthread_setname_np(thread, "hedgerow");
#endif
  return error == 0;
}

void join_thread(Thread thread) { pthread_join(thread, nullptr); }

void after_fork_in_child(void (*action)()) { pthread_atfork(nullptr, nullptr, action); }

void* allocate_aligned(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes / alignment + 1) * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__SANITIZE_ADDRESS__)
  // The padding for alignment is not part of the memory, but the sanitizer would accept it.
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(memory) + bytes, rounded - bytes);
#endif
#if defined(__linux__)
  if (alignment == kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_aligned(void* memory) { std::free(memory); }

#endif

}  // namespace hedgerow
