// Python's global lock while a kernel works.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace hedgerow {

[[noreturn]] inline void stay() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Lets other Python threads run for as long as it lives.
//
// A daemon thread may want the lock back when the interpreter is on its way out. Up to Python 3.13
// it does not get it but is ended by pthread_exit(), which glibc carries out as an exception: a
// destructor, or nanobind above it, must not let it through, and the process would abort. So the
// thread stays here, as Python 3.14 has it stay, until the process is gone. It holds no lock.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      stay();
    }
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// Takes the lock for a call of Python by a kernel that has released it. A daemon thread that does
// not get it stays here, for the same reason.
class GilTaken {
 public:
  GilTaken() {
    try {
      state_ = PyGILState_Ensure();
    } catch (...) {
      stay();
    }
  }
  ~GilTaken() { PyGILState_Release(state_); }
  GilTaken(const GilTaken&) = delete;
  GilTaken& operator=(const GilTaken&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace hedgerow
