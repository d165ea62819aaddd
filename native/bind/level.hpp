// What the entry point of a level's module and the rest of it ask of each other.
#pragma once
#include <Python.h>

namespace hedgerow {

const char* level_name();  // of this module

}  // namespace hedgerow

PyMODINIT_FUNC PyInit_kernels();
