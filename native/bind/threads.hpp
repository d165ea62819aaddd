// Bindings of the thread team: interrupts, and functions for tests.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bind/gil.hpp"
#include "core/interrupt.hpp"
#include "core/owned_tasks.hpp"
#include "core/spin.hpp"
#include "core/stages.hpp"
#include "core/threads.hpp"

namespace hedgerow::bind_threads {

namespace nb = nanobind;
using namespace nb::literals;

// Runs Python's signal handlers. What they raise stays set in this thread until the translator in
// bind_interrupt hands it on.
bool signal_pending() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void bind_interrupt() {
  const nb::object main_thread = nb::module_::import_("threading").attr("main_thread")();
  const auto ident = nb::cast<std::uint64_t>(main_thread.attr("ident"));
  hedgerow::install_interrupt(signal_pending, ident);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const hedgerow::Interrupted&) {  // NOLINT(bugprone-empty-catch)
      // Python has its exception already: that of the signal handler.
    }
  });
}

// What the tests need to see of the team; see tests/test_threads.py. A machine may be so busy that
// threads come late: only one that never comes is missing.
constexpr std::chrono::minutes kNever{10};
using Visits = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void count_visits(int threads, Visits visits) {
  hedgerow::parallel_for(threads, visits.size(), [&](std::size_t i) { visits(i) += 1; });
}

// Returns how many tasks ran in the slot that owns them: task i is that of slot i / each.
std::size_t count_owned_visits(int threads, std::size_t each, Visits visits) {
  std::atomic<std::size_t> at_home{0};
  const auto owner = [&](std::size_t i) { return i / each; };
  hedgerow::parallel_for_owned(threads, visits.size(), owner, [&](std::size_t i, int slot) {
    visits(i) += 1;
    at_home += owner(i) == static_cast<std::size_t>(slot);
  });
  return at_home;
}

// Runs stages of `each` tasks, one visit each. Stages 2k and 2k + 1 wait for stage 2k − 1; the last
// `n_owned` stages have owners, and wait for none of each other. Returns how many tasks began
// before the stage that they wait for had ended. Task `failing` throws instead.
std::size_t count_early_tasks(int threads, std::size_t each, std::size_t n_owned,
                              std::size_t failing, Visits visits) {
  const std::size_t n_stages = visits.size() / each, n_shared = n_stages - n_owned;
  std::vector<std::size_t> finished(n_stages, 0);
  std::atomic<std::size_t> n_early{0};
  std::vector<hedgerow::Stage> stages(n_stages);
  for (std::size_t s = 0; s < n_stages; ++s) {
    const std::size_t before = std::min(s / 2 * 2, n_shared);  // it waits for the last of these
    if (before > 0) stages[s].after = static_cast<int>(before) - 1;
    stages[s].n_tasks = each;
    stages[s].run = [=, &finished, &n_early](std::size_t i, int) {
      if (s * each + i == failing) throw std::runtime_error("a task failed");
      n_early += before > 0 && finished[before - 1] == 0;
      visits(s * each + i) += 1;
    };
    stages[s].finish = [=, &finished] {
      for (std::size_t i = 0; i < each; ++i) {
        finished[s] += static_cast<std::size_t>(visits(s * each + i));
      }
    };
    if (s >= n_shared) stages[s].owner = [](std::size_t i) { return i; };
  }
  hedgerow::run_stages(threads, stages);
  const auto is_complete = [&](std::size_t n_visits) { return n_visits == each; };
  return n_early + (std::all_of(finished.begin(), finished.end(), is_complete) ? 0 : 1);
}

void count_nested_visits(int threads, std::size_t inner, Visits visits) {
  const auto row = [&](std::size_t i) {
    hedgerow::parallel_for(threads, inner, [&](std::size_t j) { visits(i * inner + j) += 1; });
  };
  hedgerow::parallel_for(threads, visits.size() / inner, row);
}

void fail_at(int threads, std::size_t index, bool out_of_memory, Visits visits) {
  hedgerow::parallel_for(threads, visits.size(), [&](std::size_t i) {
    visits(i) += 1;
    if (i != index) return;
    if (out_of_memory) throw std::bad_alloc();
    throw std::runtime_error("task " + std::to_string(i) + " failed");
  });
}

// A region of one task a thread, each of which waits for all the others: whether they all came, and
// `condition()` was true on each.
template <class Condition>
bool meet_where(int threads, Condition&& condition) {
  std::atomic<int> here{0};
  std::atomic<bool> good{true};
  hedgerow::parallel_for(threads, static_cast<std::size_t>(threads), [&](std::size_t) {
    here.fetch_add(1);
    const bool all_came = hedgerow::spin_until([&] { return here.load() == threads; }, kNever);
    if (!all_came || !condition()) good.store(false);
  });
  return good.load();
}

bool meet(int threads) {
  return meet_where(threads, [] { return true; });
}

// Teams visit rows, each rows of its own. Returns how many teams had all of their
// threads in a region at once; the tasks wait for each other, so that every team has one.
int count_team_visits(int teams, int threads_each, std::size_t inner, Visits visits) {
  std::atomic<int> here{0}, complete{0};
  hedgerow::parallel_teams(teams, threads_each, visits.size() / inner, [&](std::size_t i) {
    here.fetch_add(1);
    hedgerow::spin_until([&] { return here.load() >= teams; }, kNever);
    complete.fetch_add(meet(threads_each));
    hedgerow::parallel_for(threads_each, inner, [&](std::size_t j) { visits(i * inner + j) += 1; });
  });
  return complete.load();
}

void fail_in_team(int teams, int threads_each, std::size_t index, Visits visits) {
  const auto count = static_cast<std::size_t>(teams);
  hedgerow::parallel_teams(teams, threads_each, count, [&](std::size_t i) {
    fail_at(threads_each, i == 1 ? index : visits.size(), false, visits);
  });
}

// Whether every thread of a region rounds upwards when its caller does.
bool meet_rounding_upwards(int threads) {
  volatile double one = 1.0, tiny = 1e-30;
  std::fesetround(FE_UPWARD);
  const bool good = meet_where(threads, [&] { return one + tiny > one; });
  std::fesetround(FE_TONEAREST);
  return good;
}

// A kernel without an end, as a test sees it: counts milliseconds in `ticks(0)`, and returns once
// `ticks(1)` is set.
void tick(int threads, Visits ticks) {
  std::atomic_ref<std::int32_t> done{ticks(0)}, is_over{ticks(1)};
  while (is_over.load() == 0) {
    hedgerow::parallel_for(threads, 64, [&](std::size_t) {
      hedgerow::spin_until([&] { return is_over.load() != 0; }, std::chrono::milliseconds{1});
      done.fetch_add(1);
      hedgerow::check_interrupt();
    });
  }
}

// The same on another thread than the caller's, which only waits.
void tick_elsewhere(Visits ticks) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> here{0};
  hedgerow::parallel_for(2, 2, [&](std::size_t) {
    here.fetch_add(1);
    hedgerow::spin_until([&] { return here.load() == 2; }, kNever);
    if (std::this_thread::get_id() != caller) tick(1, ticks);
  });
}

inline void bind(nb::module_& m) {
  bind_interrupt();
  nb::module_ testing = m.def_submodule("testing", "What the tests need to see of the kernels.");
  testing.attr("__name__") = "testing";  // without the module's own prefix: not for the stubs
  const auto release = nb::call_guard<GilReleased>();
  testing.def("count_visits", count_visits, "threads"_a, "visits"_a.noconvert(), release);
  testing.def("count_owned_visits", count_owned_visits, "threads"_a, "each"_a,
              "visits"_a.noconvert(), release);
  testing.def("count_early_tasks", count_early_tasks, "threads"_a, "each"_a, "n_owned"_a,
              "failing"_a, "visits"_a.noconvert(), release);
  testing.def("count_nested_visits", count_nested_visits, "threads"_a, "inner"_a,
              "visits"_a.noconvert(), release);
  testing.def("count_team_visits", count_team_visits, "teams"_a, "threads_each"_a, "inner"_a,
              "visits"_a.noconvert(), release);
  testing.def("fail_in_team", fail_in_team, "teams"_a, "threads_each"_a, "index"_a,
              "visits"_a.noconvert(), release);
  testing.def("fail_at", fail_at, "threads"_a, "index"_a, "out_of_memory"_a, "visits"_a.noconvert(),
              release);
  testing.def("meet", meet, "threads"_a, release);
  testing.def("meet_rounding_upwards", meet_rounding_upwards, "threads"_a, release);
  testing.def("tick", tick, "threads"_a, "ticks"_a.noconvert(), release);
  testing.def("tick_elsewhere", tick_elsewhere, "ticks"_a.noconvert(), release);
  testing.def("threads_for", hedgerow::threads_for, "work_units"_a, "units_per_thread"_a,
              "threads"_a);
}

}  // namespace hedgerow::bind_threads
