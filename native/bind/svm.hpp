// Bindings of the solver of kernel SVMs.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "svm/kernel_table.hpp"
#include "svm/pair_steps.hpp"

namespace hedgerow::bind_svm {

using namespace svm;

template <class T>
void bind_for(nb::module_& m) {
  m.def(
      "pair_steps",
      [](In<T, 2> kernel, In<std::int64_t, 1> slot, In<std::int64_t, 1> column,
         std::size_t first_of_second, In<double, 1> low, In<double, 1> high, Out<double, 1> beta,
         Out<double, 1> pull, double tolerance, std::size_t most_steps, Out<T, 1> room,
         int threads) {
        require(room.size() >= pair_room(slot.size()), "room is too small for the working set");
        WorkingSet set{span_of(slot), span_of(column), first_of_second, span_of(low),
                       span_of(high), span_of(beta),   span_of(pull)};
        GilReleased release;
        return pair_steps(KernelRows<T>{kernel.data(), kernel.shape(1)}, set, tolerance, most_steps,
                          room.data(), threads);
      },
      "kernel"_a, "slot"_a, "column"_a, "first_of_second"_a, "low"_a, "high"_a, "beta"_a, "pull"_a,
      "tolerance"_a, "most_steps"_a, "room"_a, "threads"_a);
  m.def(
      "add_products",
      [](In<T, 2> kernel, In<std::int64_t, 1> slot, In<double, 1> change, Out<double, 1> products,
         int threads) {
        GilReleased release;
        add_products(KernelRows<T>{kernel.data(), kernel.shape(1)}, span_of(slot), span_of(change),
                     products.data(), threads);
      },
      "kernel"_a, "slot"_a, "change"_a, "products"_a, "threads"_a);
  m.def(
      "take_kernels",
      [](In<T, 2> kernel, In<std::int64_t, 1> slot, In<std::int64_t, 1> column, Out<T, 2> out,
         int threads) {
        GilReleased release;
        take_kernels(KernelRows<T>{kernel.data(), kernel.shape(1)}, span_of(slot), span_of(column),
                     out.data(), threads);
      },
      "kernel"_a, "slot"_a, "column"_a, "out"_a, "threads"_a);
}

using RowNumbers = std::optional<In<std::int64_t, 1>>;  // all rows if None

inline RowMatrix rows_of(const In<double, 2>& matrix, const RowNumbers& numbers) {
  if (!numbers) return {matrix.data(), matrix.shape(0), matrix.shape(1)};
  return {matrix.data(), numbers->size(), matrix.shape(1), numbers->data()};
}

template <class T>
void bind_table(nb::module_& m, const char* name) {
  using Table = KernelTable<T>;
  nb::class_<Table>(m, name)
      .def(
          "__init__",
          [](Table* self, const KernelRule& rule, In<double, 2> rows, const RowNumbers& numbers,
             In<double, 1> centre, int threads) {
            if (centre.size() != rows.shape(1)) throw nb::value_error("centre has another width");
            GilReleased release;
            new (self) Table(rule, rows_of(rows, numbers), span_of(centre), threads);
          },
          "rule"_a, "rows"_a, "numbers"_a.none(), "centre"_a, "threads"_a)
      .def(
          "fill",
          [](const Table& self, In<std::int64_t, 1> rows, In<std::int64_t, 1> slots,
             Out<T, 2> values, int threads) {
            GilReleased release;
            self.fill(span_of(rows), span_of(slots), values.data(), threads);
          },
          "rows"_a, "slots"_a, "values"_a, "threads"_a)
      .def(
          "fill_diagonal",
          [](const Table& self, Out<double, 1> values) { self.fill_diagonal(values.data()); },
          "values"_a)
      .def(
          "sum",
          [](const Table& self, In<double, 2> queries, const RowNumbers& numbers,
             In<double, 2> coefficients, Out<double, 2> out, int threads) {
            GilReleased release;
            self.sum(rows_of(queries, numbers), {coefficients.data(), coefficients.size()},
                     coefficients.shape(0), out.data(), threads);
          },
          "queries"_a, "numbers"_a.none(), "coefficients"_a, "out"_a, "threads"_a);
}

inline void bind(nb::module_& m) {
  bind_for<float>(m);
  bind_for<double>(m);
  m.def("pair_room", &pair_room, "n"_a, "Working memory of `pair_steps`, in numbers.");
  nb::class_<KernelRule>(m, "KernelRule")
      .def(
          "__init__",
          [](KernelRule* self, const std::string& kind, double gamma, double coef0, int degree) {
            new (self) KernelRule{value_named(kKernels, kind, "kernel"), gamma, coef0, degree};
          },
          "kind"_a, "gamma"_a, "coef0"_a, "degree"_a)
      .def_prop_ro("scale", &KernelRule::scale)
      .def(
          "finish",
          [](const KernelRule& self, In<double, 1> half_norms_of_rows,
             In<double, 1> half_norms_of_columns, Out<double, 2> values) {
            GilReleased release;
            finish_kernels(self, span_of(half_norms_of_rows), span_of(half_norms_of_columns),
                           values.data());
          },
          "half_norms_of_rows"_a, "half_norms_of_columns"_a, "values"_a,
          "Turn products of scaled rows into kernels.");
  m.def(
      "weighted_sums",
      [](In<double, 2> values, In<double, 2> coefficients, Out<double, 2> out) {
        GilReleased release;
        weighted_sums(values.data(), values.shape(0), values.shape(1),
                      {coefficients.data(), coefficients.size()}, coefficients.shape(0),
                      out.data());
      },
      "values"_a, "coefficients"_a, "out"_a);
  m.def(
      "most_violating",
      [](In<double, 1> pull, In<double, 1> beta, In<double, 1> low, In<double, 1> high,
         std::size_t most, int threads) {
        std::vector<std::int64_t> places;
        {
          GilReleased release;
          places = most_violating(span_of(pull), span_of(beta), span_of(low), span_of(high), most,
                                  threads);
        }
        return to_numpy<std::int64_t>(places);
      },
      "pull"_a, "beta"_a, "low"_a, "high"_a, "most"_a, "threads"_a);
  m.def(
      "pull_range",
      [](In<double, 1> pull, In<double, 1> beta, In<double, 1> low, In<double, 1> high) {
        return pull_range(span_of(pull), span_of(beta), span_of(low), span_of(high));
      },
      "pull"_a, "beta"_a, "low"_a, "high"_a);
  bind_table<float>(m, "KernelTableFloat");
  bind_table<double>(m, "KernelTableDouble");
}

}  // namespace hedgerow::bind_svm
