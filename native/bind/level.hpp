// What the module of an instruction-set level and the library that all levels share ask of each
// other, beside kernels.
#pragma once
#include <Python.h>

namespace hedgerow {

const char* level_name();  // of the module that opened the library

}  // namespace hedgerow

extern "C" PyObject* PyInit_kernels();
