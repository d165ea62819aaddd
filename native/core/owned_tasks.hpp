// Tasks that have an owner: the thread whose cache is likely to hold their data, because it ran the
// task on the same data before. Moving that data to another core takes longer than many tasks do.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/threads.hpp"

namespace hedgerow {

// The tasks of a region by owner, in increasing order.
class OwnedTasks {
 public:
  // owner(i), any number from 0 on, is the owner of task i: the slot of that number, modulo the
  // number of slots.
  template <class Owner>
  OwnedTasks(std::size_t n_slots, std::size_t count, Owner owner)
      : order_(count), of_slot_(std::make_unique<OwnTasks[]>(n_slots)) {
    for (std::size_t i = 0; i < count; ++i) ++of_slot_[owner(i) % n_slots].end;
    std::size_t begin = 0;
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      OwnTasks& own = of_slot_[slot];
      own.next = begin;
      begin += std::exchange(own.end, begin);
    }
    for (std::size_t i = 0; i < count; ++i) order_[of_slot_[owner(i) % n_slots].end++] = i;
  }

  // Calls task(i) for the tasks of a slot that no thread has begun.
  template <class Task>
  void run(std::size_t slot, Task& task) {
    OwnTasks& own = of_slot_[slot];
    while (own.next.load(std::memory_order_relaxed) < own.end) {
      const std::size_t i = own.next.fetch_add(1, std::memory_order_relaxed);
      if (i < own.end) task(order_[i]);
    }
  }

 private:
  struct alignas(64) OwnTasks {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  std::vector<std::size_t> order_;
  std::unique_ptr<OwnTasks[]> of_slot_;
};

// As parallel_for, but each thread begins with the tasks that it owns, and helps others afterwards:
// a thread that starts late, or never, delays nothing.
template <class Owner, class Task>
void parallel_for_owned(int threads, std::size_t count, Owner owner, Task task,
                        const std::function<void()>* lead = nullptr) {
  if (threads <= 1 || count <= 1) return parallel_for(1, count, task, lead);
  const auto n_slots = static_cast<std::size_t>(threads);
  OwnedTasks tasks(n_slots, count, owner);
  const auto visit = [&](std::size_t, int slot) {
    const auto run = [&](std::size_t i) { task(i, slot); };
    const auto own = static_cast<std::size_t>(slot);
    for (std::size_t k = 0; k < n_slots; ++k) tasks.run((own + k) % n_slots, run);
  };
  parallel_for(threads, n_slots, visit, lead);
}

}  // namespace hedgerow
