// What crosses between Python and kernels: NumPy arrays, sequences, and options by their names.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/named.hpp"
#include "table/strided.hpp"

namespace hedgerow {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, class... Shape>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;

// Arrays that kernels read, and arrays that they write.
template <class T, int kAxes>
using In = nb::ndarray<const T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>;
template <class T, int kAxes>
using Out = nb::ndarray<T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>;
template <class T>
using StridedMatrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Out<T, 1>& array) {
  return {array.data(), array.size()};
}

template <class T>
Strided<T> strided(const StridedMatrix<T>& array) {
  return {array.data(), array.stride(0), array.stride(1)};
}

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

// The arrays of a tree, in the order of NATIVE_FIELDS (src/hedgerow/_tree/structure.py).
template <class Tree>
nb::tuple tree_arrays(const Tree& tree, const std::vector<double>& threshold,
                      const nb::object& split_bin) {
  const std::size_t n_nodes = tree.feature.size();
  return nb::make_tuple(
      to_numpy<std::int32_t>(tree.feature), to_numpy<double>(threshold),
      to_numpy<std::int32_t>(tree.left), to_numpy<std::int32_t>(tree.right),
      to_numpy<bool>(tree.missing_left), to_numpy<std::int32_t>(tree.category_set),
      to_numpy<std::uint32_t>(tree.category_bits, {tree.category_bits.size() / 8, 8}),
      to_numpy<double>(tree.value, {n_nodes, tree.value.size() / n_nodes}),
      to_numpy<double>(tree.gain), to_numpy<double>(tree.cover), to_numpy<std::int64_t>(tree.count),
      split_bin);
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

// The items of a sequence. To be called in a function's body: nanobind's own conversion of an
// argument to a vector must not throw, and one that finds no memory would end the process.
template <class T>
std::vector<T> vector_of(const nb::sequence& items) {
  std::vector<T> values;
  values.reserve(nb::len(items));
  for (const nb::handle item : items) values.push_back(nb::cast<T>(item));
  return values;
}

// The value of an option, which crosses from Python by its name, never by position; `what`
// names the option in the error message.
template <class Value, std::size_t n>
Value value_named(const Named<Value> (&names)[n], std::string_view name, const char* what) {
  for (const Named<Value>& one : names) {
    if (name == one.name) return one.value;
  }
  throw std::invalid_argument("no " + std::string(what) + " is called " + std::string(name));
}

}  // namespace hedgerow
