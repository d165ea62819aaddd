// Bindings of packed forests: prediction, out-of-bag sums, permutation importance.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "bind/predict.hpp"
#include "predict/packed_forest.hpp"

namespace hedgerow::bind_packed_forest {

using namespace predict;
using bind_predict::visit_rows;

template <class F>
void construct(PackedForest* self, In<std::int64_t, 1> tree_offset, In<F, 1> feature,
               In<std::uint8_t, 1> split_bin, In<bool, 1> missing_left,
               In<std::uint32_t, 2> category_bits, In<double, 1> thresholds,
               In<std::int64_t, 1> threshold_starts, In<bool, 1> is_categorical) {
  const PackedTrees<F> trees{span_of(tree_offset),
                             span_of(feature),
                             span_of(split_bin),
                             span_of(missing_left),
                             {category_bits.data(), category_bits.size()}};
  new (self) PackedForest(
      trees, {span_of(thresholds), span_of(threshold_starts), span_of(is_categorical)});
}

inline BagBits bag_bits(const PackedForest& forest, const In<std::uint8_t, 2>& bits,
                        std::size_t n_rows) {
  require(bits.shape(0) == forest.n_trees() && 8 * bits.shape(1) >= n_rows,
          "there must be a bit for each row of each tree");
  return {bits.data(), bits.shape(1)};
}

// Tables are a StridedMatrix of float or double, or BoundStoredRows.

template <class Table>
void add(const PackedForest& forest, const Table& rows, std::size_t first, std::size_t last,
         In<double, 2> values, Out<double, 2> sums, int threads) {
  const std::size_t n_rows = rows.shape(0);
  require(rows.shape(1) == forest.n_features(), "the table has another number of columns");
  require(first <= last && last <= forest.n_trees(), "there are not so many trees");
  require(values.shape(0) == forest.n_leaves(), "values has not a row for each leaf");
  require(sums.shape(0) == n_rows && sums.shape(1) == values.shape(1), "sums is (rows, values)");
  std::optional<GilReleased> release;
  if (n_rows > 1) release.emplace();
  visit_rows(rows, [&](const auto& view) {
    forest.add(view, n_rows, first, last, values.data(), values.shape(1), sums.data(), threads);
  });
}

template <class Table>
void apply(const PackedForest& forest, const Table& rows, StridedMatrix<std::int32_t> leaves,
           int threads) {
  require(rows.shape(1) == forest.n_features(), "the table has another number of columns");
  require(leaves.shape(0) == rows.shape(0) && leaves.shape(1) == forest.n_trees(),
          "leaves is (rows, trees)");
  GilReleased release;
  visit_rows(
      rows, [&](const auto& view) { forest.apply(view, rows.shape(0), strided(leaves), threads); });
}

template <class Table>
void add_out_of_bag(const PackedForest& forest, const Table& rows, In<std::uint8_t, 2> bits,
                    In<double, 2> values, Out<double, 2> sums, Out<std::int32_t, 1> n_summed,
                    int threads) {
  const std::size_t n_rows = rows.shape(0);
  require(rows.shape(1) == forest.n_features(), "the table has another number of columns");
  require(values.shape(0) == forest.n_leaves(), "values has not a row for each leaf");
  require(sums.shape(0) == n_rows && sums.shape(1) == values.shape(1), "sums is (rows, values)");
  require(n_summed.shape(0) == n_rows, "n_summed has not an entry for each row");
  const BagBits out_of_bag = bag_bits(forest, bits, n_rows);
  GilReleased release;
  visit_rows(rows, [&](const auto& view) {
    forest.add_out_of_bag(view, n_rows, out_of_bag, values.data(), values.shape(1), sums.data(),
                          n_summed.data(), threads);
  });
}

template <class T>
void permute(const PackedForest& forest, StridedMatrix<const T> rows, In<std::uint8_t, 2> bits,
             std::optional<In<std::int32_t, 2>> vote, std::optional<In<std::int32_t, 2>> label,
             std::optional<In<double, 2>> value, std::optional<In<double, 2>> target,
             std::uint64_t seed, Out<double, 2> increases, int threads) {
  const std::size_t n_rows = rows.shape(0);
  require(rows.shape(1) == forest.n_features(), "the table has another number of columns");
  require(increases.shape(0) == forest.n_trees() && increases.shape(1) == forest.n_features() + 1,
          "increases is (trees, features + 1)");
  LeafLoss loss{};
  const auto take = [&](const auto& of_leaf, const auto& of_row, auto& leaf, auto& row) {
    require(of_leaf->shape(0) == forest.n_leaves() && of_row->shape(0) == n_rows &&
                of_leaf->shape(1) == of_row->shape(1),
            "what leaves predict and what rows have must be of the same outputs");
    loss.n_outputs = of_leaf->shape(1);
    leaf = of_leaf->data();
    row = of_row->data();
  };
  require(vote ? label.has_value() : value && target, "give vote and label, or value and target");
  if (vote) {
    take(vote, label, loss.vote, loss.label);
  } else {
    take(value, target, loss.value, loss.target);
  }
  const BagBits out_of_bag = bag_bits(forest, bits, n_rows);
  GilReleased release;
  forest.permute(strided(rows), n_rows, out_of_bag, loss, seed, increases.data(), threads);
}

template <class Table>
void bind_methods(nb::class_<PackedForest>& forest) {
  forest.def("add", &add<Table>, "rows"_a.noconvert(), "first"_a, "last"_a, "values"_a.noconvert(),
             "sums"_a.noconvert(), "n_threads"_a,
             "Add the values of trees [first, last) to the sums (rows, values).");
  forest.def("apply", &apply<Table>, "rows"_a.noconvert(), "leaves"_a.noconvert(), "n_threads"_a,
             "Fill leaves (rows, trees) with leaf numbers, counted over all trees.");
  forest.def("add_out_of_bag", &add_out_of_bag<Table>, "rows"_a.noconvert(), "bits"_a.noconvert(),
             "values"_a.noconvert(), "sums"_a.noconvert(), "n_summed"_a.noconvert(), "n_threads"_a,
             "Add to each row the values of the trees whose bit is set for it, and count them.");
}

template <class T>
void bind_permute(nb::class_<PackedForest>& forest) {
  forest.def("permute", &permute<T>, "rows"_a.noconvert(), "bits"_a.noconvert(),
             "vote"_a.noconvert().none(), "label"_a.noconvert().none(),
             "value"_a.noconvert().none(), "target"_a.noconvert().none(), "seed"_a,
             "increases"_a.noconvert(), "n_threads"_a,
             "Fill increases (trees, 1 + features) with the out-of-bag loss, and its increase per "
             "feature.");
}

template <class F>
nb::tuple links(In<F, 1> feature) {
  std::vector<std::int32_t> left(feature.shape(0)), right(feature.shape(0));
  preorder_links(span_of(feature), left.data(), right.data());
  return nb::make_tuple(to_numpy<std::int32_t>(left), to_numpy<std::int32_t>(right));
}

inline void bind(nb::module_& m) {
  m.def("preorder_links", &links<std::int16_t>, "feature"_a.noconvert());
  m.def("preorder_links", &links<std::int32_t>, "feature"_a.noconvert(),
        "The left and right children of nodes in preorder, by their features.");
  m.def(
      "preorder",
      [](In<std::int32_t, 1> left, In<std::int32_t, 1> right) {
        require(left.shape(0) == right.shape(0) && left.shape(0) > 0, "a tree has a node");
        return to_numpy<std::int32_t>(preorder(span_of(left), span_of(right)));
      },
      "left"_a.noconvert(), "right"_a.noconvert(), "The nodes of a tree in preorder.");
  nb::class_<PackedForest> forest(m, "PackedForest",
                                  "Packed trees over bins, ready for prediction.");
  const auto bind_constructor = [&](auto construct_from) {
    forest.def("__init__", construct_from, "tree_offset"_a.noconvert(), "feature"_a.noconvert(),
               "split_bin"_a.noconvert(), "missing_left"_a.noconvert(),
               "category_bits"_a.noconvert(), "thresholds"_a.noconvert(),
               "threshold_starts"_a.noconvert(), "is_categorical"_a.noconvert());
  };
  bind_constructor(&construct<std::int16_t>);
  bind_constructor(&construct<std::int32_t>);
  bind_methods<StridedMatrix<const float>>(forest);
  bind_methods<StridedMatrix<const double>>(forest);
  bind_methods<bind_predict::BoundStoredRows>(forest);
  bind_permute<float>(forest);
  bind_permute<double>(forest);
}

}  // namespace hedgerow::bind_packed_forest
