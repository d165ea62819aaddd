// Bindings of threads, random numbers, sums over rows and what turns a dataset into bins.
#include "bind/binning.hpp"
#include "bind/random.hpp"
#include "bind/sections.hpp"
#include "bind/sums.hpp"
#include "bind/target_statistics.hpp"
#include "bind/threads.hpp"

namespace hedgerow {

void bind_data(nanobind::module_& m) {
  bind_threads::bind(m);
  bind_random::bind(m);
  bind_sums::bind(m);
  bind_binning::bind(m);
  bind_target_statistics::bind(m);
}

}  // namespace hedgerow
