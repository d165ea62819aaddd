// Threads that hang instead of ending. glibc carries out pthread_exit() as an exception, unless a
// cleanup handler comes first that knows of none: this file is compiled without exceptions, so that
// its handler is one. No other frame is told, and none has to come from the C++ library that glibc
// expects.
#include "core/platform.hpp"

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace hedgerow {

#if defined(_WIN32)

void call_or_hang(void (*call)(void*), void* argument) { call(argument); }

#else

namespace {

void hang(void*) {
  for (;;) pause();
}

}  // namespace

void call_or_hang(void (*call)(void*), void* argument) {
  pthread_cleanup_push(hang, nullptr);
  call(argument);
  pthread_cleanup_pop(0);
}

#endif

}  // namespace hedgerow
