// Exceptions of files that are compiled for each instruction-set level, thrown by the library that
// all levels share. Where each module brings a C++ library of its own (libc++, linked statically),
// only those that the shared library throws are known to its handlers.
#pragma once
#include <string>

namespace hedgerow {

[[noreturn]] void throw_invalid_argument(const std::string& what);
[[noreturn]] void throw_overflow(const char* what);

}  // namespace hedgerow
