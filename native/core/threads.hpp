// The thread team: parallel_for(threads, count, task) runs task(i) for every i in [0, count).
//
// The process has one team. It starts with the first region that can use it, grows when more
// threads are requested, and sleeps between regions. `parallel_teams` divides it for the time of a
// region. It is used instead of OpenMP because it survives fork(), shares nothing with the runtimes
// of other libraries, and starts a region within a microsecond.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>

namespace hedgerow {

namespace detail {

using Call = void (*)(void* task, std::size_t i, int slot);

void run_region(int threads, std::size_t count, Call call, void* task,
                const std::function<void()>* lead);
void run_teams(int teams, int threads_each, std::size_t count, Call call, void* task);

template <class T>
void call_task(void* erased, std::size_t i, [[maybe_unused]] int slot) {
  T& task = *static_cast<T*>(erased);
  if constexpr (std::is_invocable_v<T&, std::size_t, int>) {
    task(i, slot);
  } else {
    task(i);
  }
}

template <class T>
void* address_of(T& task) {
  const void* address = std::addressof(task);
  return const_cast<void*>(address);
}

}  // namespace detail

// Runs task(i) for each i in [0, count) on at most `threads` threads, the calling one among them.
// Which thread runs which i is unspecified: a task may write only what belongs to its i.
// A task that takes a second argument, task(i, slot), may also write what belongs to its slot: a
// number below `threads`, and no two threads of a region have the same. So working memory can be
// allocated before the region, where a failure is an exception; memory that is `thread_local` is
// allocated at first use, where the C library can only abort.
// The first exception that a task throws is rethrown once every thread has stopped; indices not yet
// started are abandoned.
//
// Fewer threads take part when the system refuses to start them. A region that begins while the
// team is busy, with another thread of the program or with an enclosing region, runs on its caller
// alone: regions may be nested and have many callers, and none ever waits for another.
//
// `lead`, if not null, is what the calling thread does before its tasks, while others begin with
// theirs.
template <class Task>
void parallel_for(int threads, std::size_t count, Task&& task,
                  const std::function<void()>* lead = nullptr) {
  using T = std::remove_reference_t<Task>;
  if (threads <= 1 || count <= 1) {
    if (lead) (*lead)();
    for (std::size_t i = 0; i < count; ++i) detail::call_task<T>(detail::address_of(task), i, 0);
    return;
  }
  detail::run_region(threads, count, detail::call_task<T>, detail::address_of(task), lead);
}

// The same for tasks that have regions of their own: each of `teams` teams runs one task after
// another, and the regions that begin in it run on its `threads_each` threads. `slot` is the number
// of the team.
template <class Task>
void parallel_teams(int teams, int threads_each, std::size_t count, Task&& task) {
  using T = std::remove_reference_t<Task>;
  if (teams <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) detail::call_task<T>(detail::address_of(task), i, 0);
    return;
  }
  detail::run_teams(teams, threads_each, count, detail::call_task<T>, detail::address_of(task));
}

// How many of `threads` are worth using for `work_units`, when a thread should have at least
// `units_per_thread` of them: between 1 and `threads`.
inline int threads_for(std::size_t work_units, std::size_t units_per_thread, int threads) {
  const std::size_t worth = work_units / std::max<std::size_t>(units_per_thread, 1);
  if (threads <= 1 || worth <= 1) return 1;
  return static_cast<int>(std::min(worth, static_cast<std::size_t>(threads)));
}

}  // namespace hedgerow
