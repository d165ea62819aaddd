// Bindings of CART: forests on bins and on sorted columns, many trees per call.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/exact.hpp"
#include "bind/gil.hpp"
#include "cart/forest.hpp"
#include "core/threads.hpp"

namespace hedgerow::bind_forest {

using namespace cart;

using Labels = std::optional<In<std::uint16_t, 1>>;
using NumberArray = std::optional<In<double, 2>>;
using Weights = std::optional<In<double, 1>>;

ForestTarget target_of(const Labels& label, const NumberArray& numbers, int n_values, int n_outputs,
                       const Weights& weight, bool balance_sample) {
  return {label ? label->data() : nullptr,
          numbers ? numbers->data() : nullptr,
          n_values,
          n_outputs,
          weight ? weight->data() : nullptr,
          balance_sample};
}

template <class Table>
nb::list grow(const Table& table, const ForestTarget& target, const CartRules& rules,
              const RowDraws& draws, std::uint64_t first_tree, std::size_t n_trees, int threads) {
  std::vector<CartTree> trees;
  {
    GilReleased release;
    trees = grow_forest(table, target, rules, draws, first_tree, n_trees, threads);
  }
  nb::list arrays;
  for (const CartTree& tree : trees) {
    const bool binned = std::is_same_v<Table, CartTable>;
    arrays.append(
        tree_arrays(tree, tree.threshold,
                    binned ? nb::cast(to_numpy<std::uint8_t>(tree.split_bin)) : nb::none()));
  }
  return arrays;
}

// Sorts columns, each (n_rows,), into arrays of shape (n_columns, n_rows); returns the distinct
// values of all columns, and where those of each column start.
nb::tuple sort_columns(const nb::typed<nb::sequence, nb::object>& columns,
                       const bind_exact::ExactLists& order, const bind_exact::ExactLists& rank,
                       int threads) {
  const std::vector<RawColumn> raw = bind_exact::exact_columns(columns, order, rank);
  const std::size_t n_rows = order.shape(1);
  std::vector<std::vector<double>> distinct(raw.size());
  {
    GilReleased release;
    parallel_for(threads, raw.size(), [&](std::size_t f) {
      distinct[f] =
          sort_column(raw[f], n_rows, order.data() + f * n_rows, rank.data() + f * n_rows);
    });
  }
  std::vector<double> values;
  std::vector<std::int64_t> starts{0};
  for (const std::vector<double>& of_column : distinct) {
    values.insert(values.end(), of_column.begin(), of_column.end());
    starts.push_back(static_cast<std::int64_t>(values.size()));
  }
  return nb::make_tuple(to_numpy<double>(values), to_numpy<std::int64_t>(starts));
}

inline void bind(nb::module_& m) {
  nb::class_<CartRules>(m, "CartRules")
      .def(nb::init<>())
      .def(
          "set_criterion",
          [](CartRules& rules, const std::string& name) {
            rules.impurity = value_named(kCriteria, name, "criterion");
          },
          "name"_a)
      .def_rw("max_depth", &CartRules::max_depth)
      .def_rw("max_leaves", &CartRules::max_leaves)
      .def_rw("min_samples_split", &CartRules::min_samples_split)
      .def_rw("min_samples_leaf", &CartRules::min_samples_leaf)
      .def_rw("min_weight_leaf", &CartRules::min_weight_leaf)
      .def_rw("min_impurity_decrease", &CartRules::min_impurity_decrease)
      .def_rw("max_features", &CartRules::max_features)
      .def_rw("random_thresholds", &CartRules::random_thresholds)
      .def_rw("seed", &CartRules::seed);
  nb::class_<RowDraws>(m, "RowDraws")
      .def(nb::init<>())
      .def_rw("bootstrap", &RowDraws::bootstrap)
      .def_rw("n_draws", &RowDraws::n_draws)
      .def_rw("seed", &RowDraws::seed)
      .def(
          "set_classes",
          [](RowDraws& draws, In<std::uint32_t, 1> rows_by_class, In<std::int64_t, 1> class_starts,
             In<std::int64_t, 1> class_draws) {
            const auto copied = [](const auto& array, auto& into) {
              into.assign(array.data(), array.data() + array.shape(0));
            };
            copied(rows_by_class, draws.rows_by_class);
            copied(class_starts, draws.class_starts);
            copied(class_draws, draws.class_draws);
          },
          "rows_by_class"_a, "class_starts"_a, "class_draws"_a,
          "Draws from the rows of each class separately.");

  m.def(
      "draw_counts",
      [](const RowDraws& draws, std::uint64_t tree, std::size_t n_rows) {
        return to_numpy<std::uint16_t>(draw_counts(draws, tree, n_rows));
      },
      "draws"_a, "tree"_a, "n_rows"_a, "How often the sample of a tree contains each row.");

  m.def(
      "grow_forest",
      [](In<std::uint8_t, 2> by_column, In<std::int32_t, 1> n_bins, In<bool, 1> is_categorical,
         In<double, 1> thresholds, In<std::int64_t, 1> threshold_starts, const Labels& label,
         const NumberArray& numbers, int n_values, int n_outputs, const Weights& weight,
         bool balance_sample, const CartRules& rules, const RowDraws& draws,
         std::uint64_t first_tree, std::size_t n_trees, int threads) {
        const CartTable table{
            by_column.data(),       by_column.shape(1),    static_cast<int>(by_column.shape(0)),
            n_bins.data(),          is_categorical.data(), thresholds.data(),
            threshold_starts.data()};
        return grow(table, target_of(label, numbers, n_values, n_outputs, weight, balance_sample),
                    rules, draws, first_tree, n_trees, threads);
      },
      "by_column"_a, "n_bins"_a, "is_categorical"_a, "thresholds"_a, "threshold_starts"_a,
      "label"_a.none(), "numbers"_a.none(), "n_values"_a, "n_outputs"_a, "weight"_a.none(),
      "balance_sample"_a, "rules"_a, "draws"_a, "first_tree"_a, "n_trees"_a, "threads"_a,
      "Grows trees on bins, each on its own sample; returns a tuple of arrays for each.");

  m.def("sort_columns", &sort_columns, "columns"_a, "order"_a.noconvert(), "rank"_a.noconvert(),
        "threads"_a,
        "Sorts columns; returns the distinct values, and where those of each column start.");
  m.def(
      "grow_exact_forest",
      [](In<std::uint32_t, 2> order, In<std::uint32_t, 2> rank, In<double, 1> values,
         In<std::int64_t, 1> value_starts, In<bool, 1> is_categorical, const Labels& label,
         const NumberArray& numbers, int n_values, int n_outputs, const Weights& weight,
         bool balance_sample, const CartRules& rules, const RowDraws& draws,
         std::uint64_t first_tree, std::size_t n_trees, int threads) {
        const SortedColumns table{order.data(),
                                  rank.data(),
                                  values.data(),
                                  value_starts.data(),
                                  is_categorical.data(),
                                  order.shape(1),
                                  static_cast<int>(order.shape(0))};
        return grow(table, target_of(label, numbers, n_values, n_outputs, weight, balance_sample),
                    rules, draws, first_tree, n_trees, threads);
      },
      "order"_a, "rank"_a, "values"_a, "value_starts"_a, "is_categorical"_a, "label"_a.none(),
      "numbers"_a.none(), "n_values"_a, "n_outputs"_a, "weight"_a.none(), "balance_sample"_a,
      "rules"_a, "draws"_a, "first_tree"_a, "n_trees"_a, "threads"_a,
      "Grows trees on sorted columns, each on its own sample; returns a tuple of arrays for each.");
}

}  // namespace hedgerow::bind_forest
