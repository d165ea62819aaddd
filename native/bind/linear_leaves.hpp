// Bindings of linear leaves: fitting slopes, and adding trees that have them to scores.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "bind/predict.hpp"
#include "predict/linear_terms.hpp"
#include "tree/linear_leaves.hpp"

namespace hedgerow::bind_linear_leaves {

using namespace predict;
using bind_predict::BoundTerms;

using Bag = std::optional<In<std::uint32_t, 1>>;

// The arrays of a tree that fit_slopes reads.
struct BoundTree {
  In<std::int32_t, 1> feature, left, right, category_set;
  In<std::int64_t, 1> count;
  In<double, 2> value;

  TreeNodes nodes(std::size_t place) const {
    return {{feature.data(), feature.size()},
            left.data(),
            right.data(),
            category_set.data(),
            count.data(),
            value.data() + place,
            value.shape(1)};
  }
};

TreeRows tree_rows(const In<std::uint16_t, 1>& leaf, const Bag& bag) {
  TreeRows rows{{leaf.data(), leaf.size()}, {}};
  if (bag) rows.bag = {bag->data(), bag->size()};
  return rows;
}

nb::tuple to_arrays(const FittedTerms& terms) {
  const std::size_t n = terms.feature.size();
  return nb::make_tuple(to_numpy<std::int64_t>(terms.start), to_numpy<std::int32_t>(terms.feature),
                        to_numpy<double>(terms.coefficient, {n, 1}),
                        to_numpy<double>(terms.centre, {n, 1}), to_numpy<double>(terms.low),
                        to_numpy<double>(terms.high));
}

template <class T>
void bind_tables_of(nb::module_& m) {
  using Table = StridedMatrix<const T>;
  m.def(
      "fit_slopes",
      [](const BoundTree& tree, std::size_t place, In<std::uint16_t, 1> leaf, const Bag& bag,
         Table table, const GradientStore& gradients, int output, const SlopeRules& rules,
         int threads) {
        FittedTerms terms;
        {
          GilReleased release;
          terms = fit_slopes<T>(tree.nodes(place), tree_rows(leaf, bag), strided(table), gradients,
                                output, rules, threads);
        }
        return to_arrays(terms);
      },
      "tree"_a, "place"_a, "leaf"_a.noconvert(), "bag"_a.noconvert().none(), "table"_a.noconvert(),
      "gradients"_a, "output"_a, "rules"_a, "threads"_a,
      "Slopes of a tree's leaves: start by node, feature, coefficient, centre, low and high.");
  m.def(
      "fit_slopes",
      [](const BoundTree& tree, std::size_t place, In<std::uint16_t, 1> leaf, const Bag& bag,
         Table table, In<double, 1> g, In<double, 1> h, const SlopeRules& rules, int threads) {
        FittedTerms terms;
        {
          GilReleased release;
          terms = fit_slopes<T>(tree.nodes(place), tree_rows(leaf, bag), strided(table), g.data(),
                                h.data(), rules, threads);
        }
        return to_arrays(terms);
      },
      "tree"_a, "place"_a, "leaf"_a.noconvert(), "bag"_a.noconvert().none(), "table"_a.noconvert(),
      "gradient"_a, "hessian"_a, "rules"_a, "threads"_a,
      "The same for gradients and hessians as numbers.");
  m.def(
      "add_linear_leaves",
      [](const BoundTerms& terms, In<std::uint16_t, 1> leaf, In<double, 1> value, std::size_t place,
         Table table, Out<double, 1> scores, int threads) {
        GilReleased release;
        add_linear_leaves<T>(terms.view(), {leaf.data(), leaf.size()}, value.data(), place,
                             strided(table), scores.data(), threads);
      },
      "terms"_a, "leaf"_a.noconvert(), "value"_a.noconvert(), "place"_a, "table"_a.noconvert(),
      "scores"_a.noconvert(), "threads"_a,
      "Adds to the score of each row its leaf's value and slopes; terms are by leaf.");
}

inline void bind(nb::module_& m) {
  nb::class_<BoundTree>(m, "TreeNodes")
      .def(nb::init<In<std::int32_t, 1>, In<std::int32_t, 1>, In<std::int32_t, 1>,
                    In<std::int32_t, 1>, In<std::int64_t, 1>, In<double, 2>>(),
           "feature"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
           "category_set"_a.noconvert(), "count"_a.noconvert(), "value"_a.noconvert());
  nb::class_<SlopeRules>(m, "SlopeRules")
      .def(nb::init<const GrowthParams&, double>(), "params"_a, "linear_lambda"_a);
  bind_tables_of<float>(m);
  bind_tables_of<double>(m);
}

}  // namespace hedgerow::bind_linear_leaves
