// Bindings: the one file that knows Python. Arrays are taken as they are (no silent conversion);
// kernels behind this door trust what they are given.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "threads.hpp"

namespace nb = nanobind;

#define HEDGEROW_NB_MODULE(name, variable) NB_MODULE(name, variable)

HEDGEROW_NB_MODULE(HEDGEROW_MODULE, m) { m.doc() = "Hedgerow's native kernels."; }
