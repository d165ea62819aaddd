// Python's global lock while a kernel works.
//
// A daemon thread may want the lock back when the interpreter is on its way out. Up to Python 3.13
// it does not get it but is ended by pthread_exit(), and the kernel that it is in would not let go
// of what others may be using. So the thread hangs where it is, as it does in Python 3.14, until
// the process is gone. It holds no lock.
#pragma once
#include <nanobind/nanobind.h>

#include "core/platform.hpp"

namespace hedgerow {

// Lets other Python threads run for as long as it lives.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() { call_or_hang(restore, state_); }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  static void restore(void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }

  PyThreadState* state_;
};

// Takes the lock for a call of Python by a kernel that has released it.
class GilTaken {
 public:
  GilTaken() { call_or_hang(ensure, &state_); }
  ~GilTaken() { PyGILState_Release(state_); }
  GilTaken(const GilTaken&) = delete;
  GilTaken& operator=(const GilTaken&) = delete;

 private:
  static void ensure(void* state) { *static_cast<PyGILState_STATE*>(state) = PyGILState_Ensure(); }

  PyGILState_STATE state_;
};

}  // namespace hedgerow
