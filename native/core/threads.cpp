// The thread team behind parallel_for. Each worker has its own state, and every handshake is one
// atomic exchange on it:
//
//     idle → asleep            nothing came while the worker was spinning
//     idle, asleep → invited   the caller begins a region
//     invited → running        the worker joins it
//     invited → idle           the caller withdraws: no work is left, and a worker that the system
//                              has not scheduled yet must not hold up the region's end
//     running → idle           the worker is done
//     idle, asleep → stopped   the process ends
#include "core/threads.hpp"

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/interrupt.hpp"
#include "core/platform.hpp"
#include "core/spin.hpp"

namespace hedgerow {
namespace {

// More workers than this are never started. Their slots are static, so that a forked child can
// forget its parent's workers without freeing anything.
constexpr int kMaxWorkers = 1023;

// How long a thread waits awake before it sleeps. The regions of a small fit follow each other
// within tens of microseconds, and waking a sleeper costs 18 to 70 (measured on two virtual cores):
// 100 trees on 10,000 rows took 0.13 s with a wait of 30 µs and 0.10 s with 200.
constexpr std::chrono::microseconds kPatience{200};
constexpr std::chrono::milliseconds kLongestNap{20};

constexpr std::size_t kCacheLine = 64;

enum State : int { kIdle, kAsleep, kInvited, kRunning, kStopped };

// How floating-point operations round, and whether they flush subnormal numbers to zero. A thread
// starts with its creator's mode, and any library may change it later: each region hands its
// caller's to the workers, so that no result depends on the thread that computes it.
#if defined(__x86_64__)
using FloatMode = unsigned;
FloatMode float_mode() { return _mm_getcsr(); }
void set_float_mode(FloatMode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
using FloatMode = std::uint64_t;
FloatMode float_mode() {
  FloatMode mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void set_float_mode(FloatMode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
using FloatMode = int;
FloatMode float_mode() { return std::fegetround(); }
void set_float_mode(FloatMode mode) { std::fesetround(mode); }
#endif

struct Team;
struct Worker;

struct Region {
  detail::Call call;
  void* task;
  std::size_t count;
  const std::function<void()>* lead = nullptr;  // what the caller does before its tasks
  const Worker* first_worker = nullptr;         // of those that may join
  int stride = 1;                               // between these
  Team* teams = nullptr;                        // by slot, if each thread has a team of its own
  FloatMode mode = float_mode();
  std::exception_ptr error{};
  std::atomic<bool> failed{false};
  alignas(kCacheLine) std::atomic<std::size_t> next{0};
};

struct alignas(kCacheLine) Worker {
  std::atomic<int> state{kIdle};
  Region* region = nullptr;
  Thread thread{};
};

// Consecutive workers, at the disposal of one caller.
struct Team {
  Worker* workers = nullptr;
  int size = 0;
  std::atomic<bool> is_busy{false};  // its region's caller owns the rest
};

constinit Worker all_workers[kMaxWorkers];
constinit Team whole{all_workers};
// The team that regions of this thread use: a part of the whole inside a task of parallel_teams.
// Allocated with every thread at its start, as in interrupt.cpp.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
thread_local Team* own_team = &whole;

// Waits until `state` is no longer `from`; returns false if that takes too long.
bool spin_while(const std::atomic<int>& state, int from) {
  return spin_until([&] { return state.load(std::memory_order_acquire) != from; }, kPatience);
}

// To be called while an exception is handled: the region will rethrow the first.
void fail(Region& region) {
  if (!region.failed.exchange(true)) region.error = std::current_exception();
  region.next.store(region.count, std::memory_order_relaxed);
}

// While it exists, regions of this thread use another team.
class OnTeam {
 public:
  explicit OnTeam(Team* team) : before_(own_team) {
    if (team != nullptr) own_team = team;
  }
  ~OnTeam() { own_team = before_; }
  OnTeam(const OnTeam&) = delete;
  OnTeam& operator=(const OnTeam&) = delete;

 private:
  Team* before_;
};

void work_through(Region& region, int slot) noexcept {
  const GivesUpWith gives_up(region.failed);
  const OnTeam on_team(region.teams == nullptr ? nullptr : region.teams + slot);
  try {
    std::size_t i;
    while ((i = region.next.fetch_add(1, std::memory_order_relaxed)) < region.count) {
      region.call(region.task, i, slot);
    }
  } catch (...) {
    fail(region);
  }
}

// The C++ library keeps what it knows of exceptions for each thread, and allocates that when the
// thread first throws; if it cannot, as is likely when the exception says that memory is out, the
// process aborts. So a thread allocates it before it takes any work, once a larger piece of memory
// was to be had. False if none is.
bool can_throw() {
  constexpr std::size_t kEnough = 4096;
  void* probe = std::malloc(kEnough);
  asm volatile("" : "+r"(probe));  // or a compiler may leave the pair out
  if (probe == nullptr) return false;
  std::free(probe);
  return std::uncaught_exceptions() == 0;
}

ThreadResult worker_main(void* slot) {
  Worker& self = *static_cast<Worker*>(slot);
  // Regions do without a worker that does not join them.
  while (!can_throw()) {
    if (self.state.load() == kStopped) return {};
    std::this_thread::sleep_for(kLongestNap);
  }
  for (;;) {
    // The thread that changes the state from `asleep` knows that the worker must be woken.
    int observed = kIdle;
    if (!spin_while(self.state, kIdle) && self.state.compare_exchange_strong(observed, kAsleep)) {
      self.state.wait(kAsleep);
    }
    observed = kInvited;
    if (self.state.compare_exchange_strong(observed, kRunning)) {
      Region& region = *self.region;
      set_float_mode(region.mode);
      work_through(region, static_cast<int>(&self - region.first_worker) / region.stride + 1);
      self.state.store(kIdle);
    } else if (observed == kStopped) {
      return {};
    }
  }
}

void tell(Worker& worker, State state) {
  if (worker.state.exchange(state) == kAsleep) worker.state.notify_one();
}

bool start(Worker& worker) {
  worker.state.store(kIdle);
  return start_thread(worker.thread, worker_main, &worker);
}

// Grows the whole team to `n_workers` workers if the system allows; returns how many a team has,
// but no more than that.
int enlist(Team& team, std::size_t n_workers) {
  const int limit = static_cast<int>(std::min<std::size_t>(n_workers, kMaxWorkers));
  while (&team == &whole && team.size < limit && start(team.workers[team.size])) ++team.size;
  return std::min(team.size, limit);
}

void invite(Worker& worker, Region& region) {
  worker.region = &region;
  tell(worker, kInvited);
}

// Waits until the worker is done. The caller alone hears of interrupts, so it does not sleep until
// it is woken but naps: a sixteenth of what it has waited already, so that little is lost.
void await_end(const Worker& worker, Region& region) {
  const auto start = std::chrono::steady_clock::now();
  if (spin_while(worker.state, kRunning)) return;
  while (worker.state.load(std::memory_order_acquire) == kRunning) {
    try {
      if (!region.failed.load(std::memory_order_relaxed)) check_interrupt();
    } catch (...) {
      fail(region);
    }
    const auto waited = std::chrono::steady_clock::now() - start;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(waited / 16, kLongestNap));
  }
}

// Makes sure that the worker is out of the region, or will never enter it.
void dismiss(Worker& worker, Region& region) {
  int observed = kInvited;
  if (!worker.state.compare_exchange_strong(observed, kIdle)) await_end(worker, region);
}

// Does what the caller has to do before its tasks.
void run_lead(Region& region) noexcept {
  if (region.lead == nullptr) return;
  try {
    (*region.lead)();
  } catch (...) {
    fail(region);
  }
}

// Runs a region on its caller and on `n_workers` workers, from `first` on.
void run_with(Region& region, Worker* first, int n_workers) {
  region.first_worker = first;
  int invited = 0;
  // Waking a sleeper takes microseconds, in which those already awake may finish the work.
  while (invited < n_workers && region.next.load(std::memory_order_relaxed) < region.count) {
    invite(first[invited++ * region.stride], region);
  }
  run_lead(region);
  work_through(region, 0);
  for (int k = 0; k < invited; ++k) dismiss(first[k * region.stride], region);
}

// Runs a region on a team that is divided: its caller leads the first part, a worker each other.
void run_divided(Region& region, Team& team, int n_teams, int threads_each) {
  const auto n_threads = static_cast<std::size_t>(n_teams) * static_cast<std::size_t>(threads_each);
  n_teams = (enlist(team, n_threads - 1) + 1) / threads_each;
  if (n_teams == 0) return work_through(region, 0);
  const auto teams = std::make_unique<Team[]>(static_cast<std::size_t>(n_teams));
  for (int k = 0; k < n_teams; ++k) {
    teams[static_cast<std::size_t>(k)].workers = team.workers + k * threads_each;
    teams[static_cast<std::size_t>(k)].size = threads_each - 1;
  }
  region.teams = teams.get();
  region.stride = threads_each;
  run_with(region, team.workers + threads_each - 1, n_teams - 1);
}

// Only the forking thread lives on in the child: the workers' slots are free again, whatever a
// region of another thread was doing with them.
void forget_workers() {
  whole.size = 0;
  whole.is_busy.store(false);
}

// Ends the workers with the process (or when the module is unloaded), unless a daemon thread is
// still inside a region: then they end with the process.
struct Lifetime {
  Lifetime() {
    after_fork_in_child(forget_workers);
    can_throw();  // for the thread that loads the library
  }
  ~Lifetime() {
    if (whole.is_busy.exchange(true)) return;
    for (int k = 0; k < whole.size; ++k) tell(whole.workers[k], kStopped);
    for (int k = 0; k < whole.size; ++k) join_thread(whole.workers[k].thread);
  }
};

const Lifetime lifetime;

// Runs a region by run(region, team), or on the caller alone if the team is busy.
template <class Run>
void run_unless_busy(Region& region, Run run) {
  Team& team = *own_team;
  if (team.is_busy.load(std::memory_order_relaxed) || team.is_busy.exchange(true)) {
    if (region.lead != nullptr) (*region.lead)();
    for (std::size_t i = 0; i < region.count; ++i) region.call(region.task, i, 0);
    return;
  }
  try {
    run(region, team);
  } catch (...) {
    team.is_busy.store(false, std::memory_order_release);
    throw;
  }
  team.is_busy.store(false, std::memory_order_release);
  if (region.error) std::rethrow_exception(region.error);
}

}  // namespace

namespace detail {

void run_region(int threads, std::size_t count, Call call, void* task,
                const std::function<void()>* lead) {
  Region region{call, task, count, lead};
  run_unless_busy(region, [=](Region& all, Team& team) {
    const std::size_t n_workers = std::min(static_cast<std::size_t>(threads), count) - 1;
    run_with(all, team.workers, enlist(team, n_workers));
  });
}

void run_teams(int teams, int threads_each, std::size_t count, Call call, void* task) {
  Region region{call, task, count};
  run_unless_busy(region, [=](Region& all, Team& team) {
    const auto most = static_cast<std::size_t>(teams);
    run_divided(all, team, static_cast<int>(std::min(most, count)), threads_each);
  });
}

}  // namespace detail
}  // namespace hedgerow
