// Tasks that have an owner: the thread whose cache is likely to hold their data, because it ran the
// task on the same data before. Moving that data to another core takes longer than many a task.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/threads.hpp"

namespace hedgerow {

// The tasks of a region by owner, in increasing order.
class OwnedTasks {
 public:
  // owner(i), any number from 0 on, is the owner of task i ≥ n_shared: the slot of that number,
  // modulo the number of slots. The tasks before have none.
  template <class Owner>
  OwnedTasks(std::size_t n_slots, std::size_t n_shared, std::size_t count, Owner owner)
      : order_(count), of_slot_(std::make_unique<OwnTasks[]>(n_slots)) {
    shared_.end = n_shared;
    for (std::size_t i = n_shared; i < count; ++i) ++of_slot_[owner(i) % n_slots].end;
    std::size_t begin = n_shared;
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      OwnTasks& own = of_slot_[slot];
      own.next = begin;
      begin += std::exchange(own.end, begin);
    }
    std::iota(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(n_shared),
              std::size_t{0});
    for (std::size_t i = n_shared; i < count; ++i) order_[of_slot_[owner(i) % n_slots].end++] = i;
  }

  // Calls task(i) for the tasks that no thread has begun: those without owner, or those of a slot.
  template <class Task>
  void run_shared(Task& task) {
    run(shared_, task);
  }
  template <class Task>
  void run_own(std::size_t slot, Task& task) {
    run(of_slot_[slot], task);
  }

 private:
  struct alignas(64) OwnTasks {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  template <class Task>
  void run(OwnTasks& own, Task& task) {
    while (own.next.load(std::memory_order_relaxed) < own.end) {
      const std::size_t i = own.next.fetch_add(1, std::memory_order_relaxed);
      if (i < own.end) task(order_[i]);
    }
  }

  std::vector<std::size_t> order_;
  OwnTasks shared_;
  std::unique_ptr<OwnTasks[]> of_slot_;
};

// As parallel_for, but each thread begins with the tasks that it owns, and helps others afterwards:
// a thread that comes late, or not at all, holds up nothing. The first `n_shared` tasks have no
// owner, and are run before all others.
template <class Owner, class Task>
void parallel_for_owned(int threads, std::size_t n_shared, std::size_t count, Owner owner,
                        Task task) {
  if (threads <= 1 || count <= 1) return parallel_for(1, count, task);
  const auto n_slots = static_cast<std::size_t>(threads);
  OwnedTasks tasks(n_slots, n_shared, count, owner);
  parallel_for(threads, n_slots, [&](std::size_t, int slot) {
    const auto run = [&](std::size_t i) { task(i, slot); };
    const auto own = static_cast<std::size_t>(slot);
    tasks.run_shared(run);
    for (std::size_t k = 0; k < n_slots; ++k) tasks.run_own((own + k) % n_slots, run);
  });
}

template <class Owner, class Task>
void parallel_for_owned(int threads, std::size_t count, Owner owner, Task task) {
  parallel_for_owned(threads, 0, count, owner, task);
}

}  // namespace hedgerow
