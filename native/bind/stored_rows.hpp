// Binding of the rows of a sparse table, which predictors take in place of a matrix.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/variant.h>

#include <variant>

#include "bind/conversions.hpp"
#include "predict/stored_rows.hpp"

namespace hedgerow::bind_predict {

// The arrays of a CSR matrix whose indices are valid and unique in each row, and usually sorted.
struct BoundStoredRows {
  In<std::int64_t, 1> starts;
  In<std::int32_t, 1> columns;
  std::variant<In<float, 1>, In<double, 1>> values;
  std::size_t n_columns;
  bool are_sorted;

  std::size_t shape(int axis) const { return axis == 0 ? starts.shape(0) - 1 : n_columns; }

  // Calls use(rows) with StoredRows of float or double.
  template <class Use>
  void visit(const Use& use) const {
    std::visit(
        [&](const auto& array) {
          using T = std::remove_const_t<std::remove_pointer_t<decltype(array.data())>>;
          use(predict::StoredRows<T>{starts.data(), columns.data(), array.data(), are_sorted});
        },
        values);
  }
};

// Calls use(rows) with the rows of a matrix, or of a sparse table.
template <class T, class Use>
void visit_rows(const StridedMatrix<const T>& rows, const Use& use) {
  use(strided(rows));
}

template <class Use>
void visit_rows(const BoundStoredRows& rows, const Use& use) {
  rows.visit(use);
}

inline void bind_stored_rows(nb::module_& m) {
  nb::class_<BoundStoredRows>(m, "StoredRows", "Rows of a sparse table, for predictors.")
      .def(nb::init<In<std::int64_t, 1>, In<std::int32_t, 1>,
                    std::variant<In<float, 1>, In<double, 1>>, std::size_t, bool>(),
           "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(), "n_columns"_a,
           "are_sorted"_a = true)
      .def("__len__", [](const BoundStoredRows& rows) { return rows.shape(0); })
      .def_prop_ro("shape", [](const BoundStoredRows& rows) {
        return nb::make_tuple(rows.shape(0), rows.shape(1));
      });
}

}  // namespace hedgerow::bind_predict
