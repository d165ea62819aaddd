// Tasks that build on each other, in one parallel region: threads that would meet at the end of
// each step, if every step were a region of its own, meet once.
//
// A stage is a number of tasks, and may wait for an earlier stage. Threads take tasks in the order
// of stages, so whatever a task waits for has ended or is being run by another thread: nothing
// waits forever, and a thread that has nothing to wait for goes on.
#pragma once
#include <cstddef>
#include <functional>
#include <span>

namespace hedgerow {

struct Stage {
  std::size_t n_tasks = 1;  // at least one
  // Runs a task on the thread of a slot, as in parallel_for.
  std::function<void(std::size_t task, int slot)> run;
  // The index of the stage that has to end before its tasks begin; −1 for none.
  int after = -1;
  // Runs once, on the thread whose task ends last, before the stages that wait for this one begin.
  std::function<void()> finish = {};
  // The owner of a task, as in parallel_for_owned. If some stages have owners, these are the last
  // ones, none of them waits for another, and the calling thread runs all stages before them: their
  // results stay in its cache.
  std::function<std::size_t(std::size_t task)> owner = {};
};

// Runs all stages. The first exception of a task is rethrown once every thread has stopped.
void run_stages(int threads, std::span<const Stage> stages);

}  // namespace hedgerow
