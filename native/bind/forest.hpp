// Bindings of forests: many trees in one call.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "../forest.hpp"
#include "training.hpp"

namespace hedgerow::bind_forest {

namespace nb = nanobind;
using namespace nb::literals;
using bind_training::Array;
using bind_training::to_numpy;

std::vector<double> thresholds_of(const CartTree& tree, const CartTable& table) {
  std::vector<double> threshold(tree.feature.size(), 0.0);
  for (std::size_t i = 0; i < threshold.size(); ++i) {
    if (tree.feature[i] < 0 || tree.category_set[i] >= 0) continue;
    const std::int64_t* start = table.threshold_starts + tree.feature[i];
    const std::int64_t at = start[0] + tree.split_bin[i];
    threshold[i] = at < start[1] ? table.thresholds[at] : std::numeric_limits<double>::max();
  }
  return threshold;
}

nb::tuple to_arrays(const CartTree& tree, const CartTable& table) {
  const std::size_t n_nodes = tree.feature.size();
  return nb::make_tuple(
      to_numpy<std::int32_t>(tree.feature), to_numpy<double>(thresholds_of(tree, table)),
      to_numpy<std::int32_t>(tree.left), to_numpy<std::int32_t>(tree.right),
      to_numpy<bool>(tree.missing_left), to_numpy<std::int32_t>(tree.category_set),
      to_numpy<std::uint32_t>(tree.category_bits, {tree.category_bits.size() / 8, 8}),
      to_numpy<double>(tree.value, {n_nodes, tree.value.size() / n_nodes}),
      to_numpy<double>(tree.gain), to_numpy<double>(tree.cover), to_numpy<std::int64_t>(tree.count),
      to_numpy<std::uint8_t>(tree.split_bin));
}

inline void bind(nb::module_& m) {
  nb::class_<CartRules>(m, "CartRules")
      .def(nb::init<>())
      .def_prop_rw(
          "entropy", [](const CartRules& rules) { return rules.impurity == Impurity::entropy; },
          [](CartRules& rules, bool entropy) {
            rules.impurity = entropy ? Impurity::entropy : Impurity::quadratic;
          })
      .def_rw("max_depth", &CartRules::max_depth)
      .def_rw("max_leaves", &CartRules::max_leaves)
      .def_rw("min_samples_split", &CartRules::min_samples_split)
      .def_rw("min_samples_leaf", &CartRules::min_samples_leaf)
      .def_rw("min_weight_leaf", &CartRules::min_weight_leaf)
      .def_rw("min_impurity_decrease", &CartRules::min_impurity_decrease)
      .def_rw("max_features", &CartRules::max_features)
      .def_rw("random_cuts", &CartRules::random_cuts)
      .def_rw("seed", &CartRules::seed);
  nb::class_<RowDraws>(m, "RowDraws")
      .def(nb::init<>())
      .def_rw("bootstrap", &RowDraws::bootstrap)
      .def_rw("n_draws", &RowDraws::n_draws)
      .def_rw("seed", &RowDraws::seed);

  m.def(
      "draw_counts",
      [](const RowDraws& draws, std::uint64_t tree, std::size_t n_rows) {
        return to_numpy<std::uint16_t>(draw_counts(draws, tree, n_rows));
      },
      "draws"_a, "tree"_a, "n_rows"_a, "How often a tree drew each row.");

  m.def(
      "grow_forest",
      [](Array<const std::uint8_t, nb::ndim<2>> by_column,
         Array<const std::int32_t, nb::ndim<1>> n_bins,
         Array<const bool, nb::ndim<1>> is_categorical, Array<const double, nb::ndim<1>> thresholds,
         Array<const std::int64_t, nb::ndim<1>> threshold_starts,
         std::optional<Array<const std::uint16_t, nb::ndim<1>>> label,
         std::optional<Array<const double, nb::ndim<2>>> numbers, int n_values, int n_outputs,
         std::optional<Array<const double, nb::ndim<1>>> weight, bool balance_drawn,
         const CartRules& rules, const RowDraws& draws, std::uint64_t first_tree,
         std::size_t n_trees, int threads) {
        const CartTable table{
            by_column.data(),       by_column.shape(1),    static_cast<int>(by_column.shape(0)),
            n_bins.data(),          is_categorical.data(), thresholds.data(),
            threshold_starts.data()};
        const ForestTarget target{label ? label->data() : nullptr,
                                  numbers ? numbers->data() : nullptr,
                                  n_values,
                                  n_outputs,
                                  weight ? weight->data() : nullptr,
                                  balance_drawn};
        std::vector<CartTree> trees;
        {
          nb::gil_scoped_release release;
          trees = grow_forest(table, target, rules, draws, first_tree, n_trees, threads);
        }
        nb::list arrays;
        for (const CartTree& tree : trees) arrays.append(to_arrays(tree, table));
        return arrays;
      },
      "by_column"_a, "n_bins"_a, "is_categorical"_a, "thresholds"_a, "threshold_starts"_a,
      "label"_a.none(), "numbers"_a.none(), "n_values"_a, "n_outputs"_a, "weight"_a.none(),
      "balance_drawn"_a, "rules"_a, "draws"_a, "first_tree"_a, "n_trees"_a, "threads"_a,
      "Grows trees, each on rows of its own; a tuple of arrays for each.");
}

}  // namespace hedgerow::bind_forest
