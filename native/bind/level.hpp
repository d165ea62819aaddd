// What a level's entry point and what all levels share ask of each other, beside kernels.
#pragma once
#include <Python.h>

#include <cstddef>
#include <new>

// Whether modules bring a C++ library of their own. They then allocate by the shared library, which
// throws what its own handlers know: see core/errors.hpp.
#if defined(_LIBCPP_VERSION) && defined(__ELF__)
#define HEDGEROW_MODULES_HAVE_LIBCXX 1
#else
#define HEDGEROW_MODULES_HAVE_LIBCXX 0
#endif

namespace hedgerow {

const char* level_name();  // of the module that was loaded

#if HEDGEROW_MODULES_HAVE_LIBCXX
void* allocate(std::size_t bytes);
void* allocate(std::size_t bytes, std::align_val_t alignment);
#endif

}  // namespace hedgerow

PyMODINIT_FUNC PyInit_kernels();
