// The Python module, compiled once for all instruction-set levels and opened by the entry point of
// each (bind/level.cpp). Its sections are in files that are the only ones to know Python.
// Arrays are taken as they are (no silent conversion); kernels behind this door trust what they are
// given.
#include <nanobind/nanobind.h>

#include <cstdlib>

#include "bind/level.hpp"
#include "bind/sections.hpp"

#if HEDGEROW_MODULES_HAVE_LIBCXX
// Not by `operator new`, which the loader may take from a module, and that one calls this.
void* hedgerow::allocate(std::size_t bytes) {
  if (void* memory = std::malloc(bytes + (bytes == 0))) return memory;
  throw std::bad_alloc();
}

void* hedgerow::allocate(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes / unit + 1) * unit)) return memory;
  throw std::bad_alloc();
}
#endif

NB_MODULE(kernels, m) {
  m.doc() = "Hedgerow's native kernels.";
  // What the interpreter still holds when it ends, such as a notebook's models, is no leak of ours.
  nanobind::set_leak_warnings(false);
  m.attr("level") = hedgerow::level_name();
  hedgerow::bind_data(m);
  hedgerow::bind_growth(m);
  hedgerow::bind_fitted_trees(m);
  hedgerow::bind_neighbors_and_svm(m);
}
