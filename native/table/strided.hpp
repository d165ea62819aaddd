// A matrix of numbers in any layout.
#pragma once
#include <cstddef>

namespace hedgerow {

// A table with any strides, counted in elements.
template <class T>
struct Strided {
  T* data;
  std::ptrdiff_t row_stride, column_stride;

  T& at(std::size_t row, std::size_t column) const {
    return data[std::ptrdiff_t(row) * row_stride + std::ptrdiff_t(column) * column_stride];
  }
  Strided from(std::size_t row, std::size_t column) const {
    return {&at(row, column), row_stride, column_stride};
  }
};

}  // namespace hedgerow
