// The thread team: parallel_for(threads, count, task) runs task(i) for every i in [0, count).
#pragma once
#include <cstddef>

namespace hedgerow {

// Runs task(i) for each i in [0, count) on at most `threads` threads, the calling one among them.
// Which thread runs which i is unspecified: a task may write only what belongs to its i.
// The first exception a task throws is rethrown here once every thread has stopped.
template <class Task>
void parallel_for(int threads, std::size_t count, Task&& task) {
  (void)threads;
  for (std::size_t i = 0; i < count; ++i) task(i);
}

}  // namespace hedgerow
