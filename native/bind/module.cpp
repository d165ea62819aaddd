// The module of an instruction-set level. Its sections are compiled once for all levels, in files
// that are the only ones to know Python. Arrays are taken as they are (no silent conversion);
// kernels behind this door trust what they are given.
#include <nanobind/nanobind.h>

#include "bind/sections.hpp"

// The module is named after its instruction-set level, which the build defines.
#define HEDGEROW_NB_MODULE(name, variable) NB_MODULE(name, variable)
#define HEDGEROW_STRING(name) HEDGEROW_QUOTED(name)
#define HEDGEROW_QUOTED(name) #name

HEDGEROW_NB_MODULE(HEDGEROW_MODULE, m) {
  m.doc() = "Hedgerow's native kernels.";
  // What the interpreter still holds when it ends, such as a notebook's models, is no leak of ours.
  nanobind::set_leak_warnings(false);
  m.attr("level") = HEDGEROW_STRING(HEDGEROW_MODULE);
  hedgerow::bind_data(m);
  hedgerow::bind_growth(m);
  hedgerow::bind_fitted_trees(m);
  hedgerow::bind_neighbors_and_svm(m);
}
