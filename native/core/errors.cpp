// Exceptions of files that are compiled for each instruction-set level.
#include "core/errors.hpp"

#include <stdexcept>

namespace hedgerow {

void throw_invalid_argument(const std::string& what) { throw std::invalid_argument(what); }
void throw_overflow(const char* what) { throw std::overflow_error(what); }

}  // namespace hedgerow
