// When to check for pending signals, and on which thread.
#include "core/interrupt.hpp"

#include <chrono>

#include "core/platform.hpp"

namespace hedgerow {
namespace {

using Clock = std::chrono::steady_clock;

// A check acquires Python's global lock, for which a busy Python thread makes us wait 5 ms.
constexpr std::chrono::milliseconds kInterval{50};

bool (*signal_pending)() = nullptr;
std::uint64_t main_thread;
Clock::time_point next_check;  // read and written by the main thread only
// Allocated with every thread at its start: a thread that allocated its copy at first use would
// abort the process if there is no memory left.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
thread_local const std::atomic<bool>* region_failed = nullptr;

// The thread that forks is the child's main one, for Python too.
void adopt_forking_thread() { main_thread = thread_ident(); }

const bool registered = (after_fork_in_child(adopt_forking_thread), true);

}  // namespace

void install_interrupt(bool (*pending)(), std::uint64_t thread) {
  main_thread = thread;
  signal_pending = pending;
}

GivesUpWith::GivesUpWith(const std::atomic<bool>& failed)
    : is_outermost_(region_failed == nullptr) {
  if (is_outermost_) region_failed = &failed;
}

GivesUpWith::~GivesUpWith() {
  if (is_outermost_) region_failed = nullptr;
}

void check_interrupt() {
  if (region_failed != nullptr && region_failed->load(std::memory_order_relaxed)) {
    throw Interrupted();
  }
  if (signal_pending == nullptr || thread_ident() != main_thread) return;
  const auto now = Clock::now();
  if (now < next_check) return;
  next_check = now + kInterval;
  if (signal_pending()) throw Interrupted();
}

}  // namespace hedgerow
