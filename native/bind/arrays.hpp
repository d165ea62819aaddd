// NumPy arrays that functions take, and those that they return.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace hedgerow {

namespace nb = nanobind;

template <class T, class... Shape>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;

// A NumPy array that owns a copy of the values.
template <class T, class Source>
nb::ndarray<nb::numpy, T> to_numpy(const std::vector<Source>& values,
                                   std::initializer_list<std::size_t> shape) {
  auto* copy = new T[values.size() + 1];
  for (std::size_t i = 0; i < values.size(); ++i) copy[i] = static_cast<T>(values[i]);
  nb::capsule owner(copy, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  return nb::ndarray<nb::numpy, T>(copy, shape.size(), shape.begin(), owner);
}

template <class T, class Source>
nb::ndarray<nb::numpy, T> to_numpy(const std::vector<Source>& values) {
  return to_numpy<T>(values, {values.size()});
}

}  // namespace hedgerow
