// Options cross from Python by their names, never by position.
#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shared/named.hpp"

namespace hedgerow {

// The value of a name; `what` names the option in the error message.
template <class Value, std::size_t n>
Value value_named(const Named<Value> (&names)[n], std::string_view name, const char* what) {
  for (const Named<Value>& one : names) {
    if (name == one.name) return one.value;
  }
  throw std::invalid_argument("no " + std::string(what) + " is called " + std::string(name));
}

}  // namespace hedgerow
