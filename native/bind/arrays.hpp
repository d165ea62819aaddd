// NumPy arrays as arguments and as results.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace hedgerow {

namespace nb = nanobind;

template <class T, class... Shape>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;

// A NumPy array with a copy of the values.
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

// A NumPy array that takes over the memory of a vector.
template <class... Shape, class T>
nb::ndarray<nb::numpy, T, Shape...> moved_to_numpy(std::vector<T>&& values,
                                                   std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, Shape...>(owned->data(), shape.size(), shape.begin(), owner);
}

inline void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

}  // namespace hedgerow
