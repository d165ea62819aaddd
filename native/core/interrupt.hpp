// Interrupts: long-running kernels call check_interrupt() regularly, so that Ctrl-C ends them.
// Kernels do not depend on Python: bind/threads.hpp installs the function that checks for pending
// signals.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>

namespace hedgerow {

// A signal handler raised an exception; bind/threads.hpp passes that on.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// `pending` is called only on the thread of this number, the one that Python runs signal handlers
// on.
void install_interrupt(bool (*pending)(), std::uint64_t main_thread);

// Throws Interrupted if a signal is pending, or if the region that this thread works in has failed,
// so that workers stop when the main thread is interrupted. Call it about every millisecond where
// throwing is safe: it reads the clock, and checks for signals at most every 50 ms.
void check_interrupt();

// While it exists, check_interrupt() on this thread throws once `failed` is set. If nested, the
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
