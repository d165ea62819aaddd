// The entry point of a level's module, which is named after the level. The rest of the module
// (bind/module.cpp) is compiled once for all levels.
#include "bind/level.hpp"

#define HEDGEROW_JOIN(a, b) HEDGEROW_JOINED(a, b)
#define HEDGEROW_JOINED(a, b) a##b
#define HEDGEROW_STRING(name) HEDGEROW_QUOTED(name)
#define HEDGEROW_QUOTED(name) #name

const char* hedgerow::level_name() { return HEDGEROW_STRING(HEDGEROW_LEVEL_NAME); }

PyMODINIT_FUNC HEDGEROW_JOIN(PyInit_, HEDGEROW_LEVEL_NAME)() { return PyInit_kernels(); }
