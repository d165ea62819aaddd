// Sequences of numbers, or of bound objects, that a function takes from Python.
#pragma once
#include <nanobind/nanobind.h>

#include <vector>

namespace hedgerow {

// To be called in a function's body: nanobind's own conversion of an argument to a vector must not
// throw, and one that finds no memory would end the process.
template <class T>
std::vector<T> vector_of(const nanobind::sequence& items) {
  std::vector<T> values;
  values.reserve(nanobind::len(items));
  for (const nanobind::handle item : items) values.push_back(nanobind::cast<T>(item));
  return values;
}

}  // namespace hedgerow
