// Bindings of threads and of what turns a dataset into bins.
#include "bind/binning.hpp"
#include "bind/sections.hpp"
#include "bind/target_statistics.hpp"
#include "bind/threads.hpp"

namespace hedgerow {

void bind_data(nanobind::module_& m) {
  bind_threads::bind(m);
  bind_binning::bind(m);
  bind_target_statistics::bind(m);
}

}  // namespace hedgerow
