// Bindings of exact greedy growth: presorting, and trees from sorted columns.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "bind/growth_params.hpp"
#include "core/threads.hpp"
#include "exact/grower.hpp"

namespace hedgerow::bind_exact {

using ExactLists = nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<2>, nb::c_contig>;
using ExactColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

RawColumn exact_column(const ExactColumn& array) {
  using Type = RawColumn::Type;
  const Type type =
      array.dtype() == nb::dtype<float>()    ? Type::float32
      : array.dtype() == nb::dtype<double>() ? Type::float64
      : array.dtype() == nb::dtype<std::uint8_t>()
          ? Type::category
          : throw nb::type_error(
                "a column is float32 or float64, or uint8 if its values are categories");
  const auto bytes = static_cast<std::ptrdiff_t>(array.itemsize());
  return {array.data(), array.stride(0) * bytes, type};
}

// The columns, which must fit the arrays that they are sorted into.
std::vector<RawColumn> exact_columns(const nb::typed<nb::sequence, nb::object>& columns,
                                     const ExactLists& rows, const ExactLists& ranks) {
  const std::size_t n_rows = rows.shape(1);
  std::vector<RawColumn> raw;
  for (const nb::handle object : columns) {
    const auto column = nb::cast<ExactColumn>(object, false);
    if (column.shape(0) != n_rows) throw nb::value_error("columns differ in length");
    raw.push_back(exact_column(column));
  }
  if (rows.shape(0) != raw.size() || ranks.shape(0) != raw.size() || ranks.shape(1) != n_rows) {
    throw nb::value_error("rows and ranks need the shape (columns, rows)");
  }
  return raw;
}

void exact_presort(const nb::typed<nb::sequence, nb::object>& columns, const ExactLists& rows,
                   const ExactLists& ranks, int threads) {
  const std::vector<RawColumn> raw = exact_columns(columns, rows, ranks);
  const std::size_t n_rows = rows.shape(1);
  const GilReleased unlocked;
  parallel_for(threads, raw.size(), [&](std::size_t f) {
    presort(raw[f], n_rows, rows.data() + f * n_rows, ranks.data() + f * n_rows);
  });
}

// A grower and the arrays that it reads.
struct BoundExactGrower {
  BoundExactGrower(const nb::typed<nb::sequence, nb::object>& columns, ExactLists rows,
                   ExactLists ranks, In<bool, 1> is_categorical)
      : arrays(nb::tuple(columns)),
        columns(exact_columns(columns, rows, ranks)),
        rows(std::move(rows)),
        ranks(std::move(ranks)),
        is_categorical(std::move(is_categorical)),
        grower({this->rows.data(), this->ranks.data(), this->is_categorical.data(), this->columns,
                this->rows.shape(1), static_cast<int>(this->rows.shape(0))}) {}

  nb::tuple grow(const In<double, 1>& g, const In<double, 1>& h,
                 const std::optional<In<std::uint32_t, 1>>& bag,
                 const In<std::int32_t, 1>& features, const nb::object& params,
                 std::uint64_t tree_id, int threads) {
    const std::size_t n_rows = rows.shape(1);
    if (g.shape(0) != n_rows || h.shape(0) != n_rows) {
      throw nb::value_error("g and h need one value for each row");
    }
    const GrowthParams growth = bind_growth_params::growth_params_of(params);
    const Constraints constraints = bind_growth_params::constraints_of(params);
    std::span<const std::uint32_t> in_bag;
    if (bag) in_bag = {bag->data(), bag->size()};
    const exact::TreePlan plan = {growth, constraints, tree_id, {features.data(), features.size()}};
    exact::ExactTree tree;
    {
      const GilReleased unlocked;
      tree = grower.grow(g.data(), h.data(), in_bag, plan, threads);
    }
    return nb::make_tuple(tree_arrays(tree, tree.threshold, nb::none()),
                          moved_to_numpy(std::move(tree.leaf_of_row), {n_rows}));
  }

  nb::tuple arrays;  // behind the columns
  std::vector<RawColumn> columns;
  ExactLists rows, ranks;
  In<bool, 1> is_categorical;
  exact::ExactGrower grower;
};

inline void bind(nb::module_& m) {
  m.def("exact_presort", &exact_presort, "columns"_a, "rows"_a.noconvert(), "ranks"_a.noconvert(),
        "threads"_a, "Sort each column once: rows by value, and the ranks of their values.");
  nb::class_<BoundExactGrower>(m, "ExactGrower",
                               "Grows trees by exact greedy search, one at a time.")
      .def(nb::init<const nb::typed<nb::sequence, nb::object>&, ExactLists, ExactLists,
                    In<bool, 1>>(),
           "columns"_a, "rows"_a.noconvert(), "ranks"_a.noconvert(), "is_categorical"_a.noconvert())
      .def("grow", &BoundExactGrower::grow, "g"_a.noconvert(), "h"_a.noconvert(),
           "bag"_a.none().noconvert(), "features"_a.noconvert(), "params"_a, "tree_id"_a,
           "threads"_a, "Grow one tree; returns its arrays, and the leaf of each row.");
}

}  // namespace hedgerow::bind_exact
