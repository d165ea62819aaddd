// What a level's entry point and what all levels share ask of each other, beside kernels.
#pragma once
#include <Python.h>

#include <cstddef>
#include <new>

namespace hedgerow {

const char* level_name();  // of the module that was loaded

// Memory of the C++ library that handles exceptions: see core/errors.hpp.
void* allocate(std::size_t bytes);
void* allocate(std::size_t bytes, std::align_val_t alignment);

}  // namespace hedgerow

PyMODINIT_FUNC PyInit_kernels();
