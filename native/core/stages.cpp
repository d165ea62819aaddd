#include "core/stages.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "core/owned_tasks.hpp"
#include "core/spin.hpp"
#include "core/threads.hpp"

namespace hedgerow {
namespace {

// The tasks of all stages, in their order.
class StagedTasks {
 public:
  explicit StagedTasks(std::span<const Stage> stages)
      : stages_(stages), progress_(std::make_unique<Progress[]>(stages.size())) {
    std::size_t count = 0;
    for (const Stage& stage : stages) count += stage.n_tasks;
    tasks_.reserve(count);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      progress_[s].n_left.store(stages[s].n_tasks, std::memory_order_relaxed);
      for (std::size_t i = 0; i < stages[s].n_tasks; ++i) tasks_.push_back({s, i});
      if (!stages[s].owner) n_shared_ = tasks_.size();
    }
  }

  std::size_t count() const { return tasks_.size(); }
  // Those without an owner come first.
  std::size_t n_shared() const { return n_shared_; }
  std::size_t owner(std::size_t i) const { return stages_[tasks_[i].stage].owner(tasks_[i].index); }

  void run(std::size_t i, int slot) {
    const auto [s, index] = tasks_[i];
    const Stage& stage = stages_[s];
    if (stage.after >= 0 && !await_end(static_cast<std::size_t>(stage.after))) return;
    try {
      stage.run(index, slot);
      if (progress_[s].n_left.fetch_sub(1, std::memory_order_acq_rel) == 1) end(s);
    } catch (...) {
      has_failed_.store(true, std::memory_order_relaxed);
      throw;
    }
  }

 private:
  struct alignas(64) Progress {
    std::atomic<std::size_t> n_left{0};
    std::atomic<bool> has_ended{false};
  };
  struct Task {
    std::size_t stage, index;
  };

  void end(std::size_t stage) {
    if (stages_[stage].finish) stages_[stage].finish();
    progress_[stage].has_ended.store(true, std::memory_order_release);
  }

  // False if a task has failed, so that the stage may never end.
  bool await_end(std::size_t stage) const {
    const std::atomic<bool>& has_ended = progress_[stage].has_ended;
    const auto is_over = [&] {
      return has_ended.load(std::memory_order_acquire) ||
             has_failed_.load(std::memory_order_relaxed);
    };
    spin_until(is_over, std::chrono::nanoseconds::max());
    return has_ended.load(std::memory_order_acquire);
  }

  std::span<const Stage> stages_;
  std::vector<Task> tasks_;
  std::unique_ptr<Progress[]> progress_;
  std::size_t n_shared_ = 0;
  std::atomic<bool> has_failed_{false};
};

void run_one_by_one(std::span<const Stage> stages) {
  for (const Stage& stage : stages) {
    for (std::size_t i = 0; i < stage.n_tasks; ++i) stage.run(i, 0);
    if (stage.finish) stage.finish();
  }
}

}  // namespace

void run_stages(int threads, std::span<const Stage> stages) {
  if (threads <= 1) return run_one_by_one(stages);
  StagedTasks tasks(stages);
  const std::size_t n_shared = tasks.n_shared(), n_owned = tasks.count() - n_shared;
  if (n_owned == 0) {
    return parallel_for(threads, n_shared, [&](std::size_t i, int slot) { tasks.run(i, slot); });
  }
  const std::function<void()> run_shared = [&] {
    for (std::size_t i = 0; i < n_shared; ++i) tasks.run(i, 0);
  };
  parallel_for_owned(
      threads, n_owned, [&](std::size_t i) { return tasks.owner(n_shared + i); },
      [&](std::size_t i, int slot) { tasks.run(n_shared + i, slot); }, &run_shared);
}

}  // namespace hedgerow
