// What the kernels ask of the operating system beyond the standard library.
#pragma once
#include <cstddef>
#include <cstdint>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace hedgerow {

#if defined(_WIN32)
using Thread = std::uintptr_t;
using ThreadResult = unsigned;
#else
using Thread = pthread_t;
using ThreadResult = void*;
#endif

// The number of the calling thread by which Python knows it too (threading.get_ident).
std::uint64_t thread_ident();

// Starts a thread with a stack of a MiB that no signal reaches; returns false if none is to be had.
bool start_thread(Thread& thread, ThreadResult (*main)(void*), void* argument);
void join_thread(Thread thread);

// Calls call(argument). If that would end the thread by pthread_exit(), it hangs for ever instead.
void call_or_hang(void (*call)(void*), void* argument);

// Calls `action` in the child of every fork, where processes fork.
void after_fork_in_child(void (*action)());

// Memory that begins with a cache line, in huge pages if it is large; throws std::bad_alloc.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory);

}  // namespace hedgerow
