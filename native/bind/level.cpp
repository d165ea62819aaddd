// The entry point of a level's module, which is named after the level. It is linked with the
// kernels that gain from the level; the rest (bind/module.cpp) is compiled once for all.
#include "bind/level.hpp"

#define HEDGEROW_JOIN(a, b) HEDGEROW_JOINED(a, b)
#define HEDGEROW_JOINED(a, b) a##b
#define HEDGEROW_STRING(name) HEDGEROW_QUOTED(name)
#define HEDGEROW_QUOTED(name) #name

const char* hedgerow::level_name() { return HEDGEROW_STRING(HEDGEROW_LEVEL_NAME); }

PyMODINIT_FUNC HEDGEROW_JOIN(PyInit_, HEDGEROW_LEVEL_NAME)() { return PyInit_kernels(); }

#if HEDGEROW_MODULES_HAVE_LIBCXX
void* operator new(std::size_t bytes) { return hedgerow::allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return hedgerow::allocate(bytes, alignment);
}
#endif
