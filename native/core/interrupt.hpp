// Interrupts: a kernel that may run for long calls check_interrupt() now and then, and Ctrl-C ends
// it. Kernels know no Python: bind.cpp installs the function that asks whether a signal is pending.
#pragma once
#include <pthread.h>

#include <atomic>
#include <exception>

namespace hedgerow {

// A signal handler raised; bind.cpp turns this into the exception that it raised.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// `pending` is called on `main_thread` only, the one thread that Python runs signal handlers on.
void install_interrupt(bool (*pending)(), pthread_t main_thread);

// Throws Interrupted if a signal is pending, or if the region that this thread works in has failed:
// so that workers stop when the main thread is interrupted. Call it where throwing is safe and
// about every millisecond: it costs a look at the clock, and asks at most every 50 ms.
void check_interrupt();

// While it lives, check_interrupt() on this thread throws once `failed` is set. Of nested ones the
// outermost counts.
class GivesUpWith {
 public:
  explicit GivesUpWith(const std::atomic<bool>& failed);
  ~GivesUpWith();
  GivesUpWith(const GivesUpWith&) = delete;
  GivesUpWith& operator=(const GivesUpWith&) = delete;

 private:
  bool is_outermost_;
};

}  // namespace hedgerow
