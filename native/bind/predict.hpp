// Bindings of prediction: the predictor, and scores to probabilities.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <span>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "bind/stored_rows.hpp"
#include "predict/linear_terms.hpp"
#include "predict/links.hpp"
#include "predict/predictor.hpp"

namespace hedgerow::bind_predict {

using namespace predict;

// The slopes of leaves, or of nodes, and the arrays behind them.
struct BoundTerms {
  In<std::int64_t, 1> start;
  In<std::int32_t, 1> feature;
  In<double, 2> coefficient, centre;
  In<double, 1> low, high;

  LinearTerms view() const {
    return {start.data(), feature.data(), coefficient.data(),  centre.data(),
            low.data(),   high.data(),    coefficient.shape(1)};
  }
};

// An ensemble, and the arrays behind it.
struct BoundEnsemble {
  In<std::int32_t, 1> feature;
  In<double, 1> threshold;
  In<std::int32_t, 1> left, right;
  In<bool, 1> missing_left;
  In<std::int32_t, 1> category_set;
  In<double, 2> value;
  In<std::uint32_t, 2> category_bits;
  In<std::int64_t, 1> tree_offset;
  In<std::int32_t, 1> tree_output;
  In<double, 1> base_score;
  std::optional<BoundTerms> slopes;
  bool has_float_sums;
  std::optional<LinearTerms> linear = slopes ? std::optional(slopes->view()) : std::nullopt;

  EnsembleArrays view() const {
    return {{feature.shape(0), feature.data(), threshold.data(), left.data(), right.data(),
             missing_left.data(), category_set.data(), value.data(), category_bits.data(),
             value.shape(1)},
            span_of(tree_offset),
            span_of(tree_output),
            span_of(base_score),
            linear ? &*linear : nullptr,
            has_float_sums};
  }
};

// A predictor, and what is needed to check its arguments.
struct BoundPredictor {
  Predictor predictor;
  std::size_t n_features;

  template <class Table>
  void check(const Table& rows) const {
    if (rows.shape(1) != n_features)
      throw nb::value_error("the table has another number of columns than the model");
  }

  // A table is a StridedMatrix of float or double, or BoundStoredRows.
  template <class Table>
  void predict(const Table& rows, const nb::ndarray<double, nb::ndim<3>, nb::device::cpu>& stages,
               std::size_t first_tree, std::size_t stage_trees,
               const std::optional<StridedMatrix<const double>>& start, int threads) const {
    check(rows);
    const std::size_t n_rows = rows.shape(0), n_outputs = predictor.n_outputs();
    if (stages.shape(1) != n_rows || stages.shape(2) != n_outputs ||
        (start && (start->shape(0) != n_rows || start->shape(1) != n_outputs)))
      throw nb::value_error("scores are (rows, outputs)");
    if (first_tree + stages.shape(0) * stage_trees > predictor.n_trees() ||
        (stage_trees == 0 && stages.shape(0) != 1))
      throw nb::value_error("the model has fewer trees");
    const Stages plan{first_tree,
                      stage_trees,
                      stages.shape(0),
                      start ? strided(*start) : Strided<const double>{},
                      {stages.data(), stages.stride(1), stages.stride(2)},
                      stages.stride(0)};
    std::optional<GilReleased> release;
    if (n_rows > 1) release.emplace();  // one row is done before another thread would notice
    visit_rows(rows, [&](const auto& view) { predictor.predict(view, n_rows, plan, threads); });
  }

  template <class Table>
  void apply(const Table& rows, const StridedMatrix<std::int32_t>& leaves, int threads) const {
    check(rows);
    if (leaves.shape(0) != rows.shape(0) || leaves.shape(1) != predictor.n_trees())
      throw nb::value_error("leaves are (rows, trees)");
    GilReleased release;
    visit_rows(rows, [&](const auto& view) {
      predictor.apply(view, rows.shape(0), strided(leaves), threads);
    });
  }
};

template <class Table>
void bind_predictor_methods(nb::class_<BoundPredictor>& predictor) {
  predictor.def("predict", &BoundPredictor::predict<Table>, "rows"_a.noconvert(),
                "stages"_a.noconvert(), "first_tree"_a, "stage_trees"_a,
                "start"_a.noconvert().none(), "n_threads"_a,
                "Fill stages (stages, rows, outputs): the base score, or start, plus trees.");
  predictor.def("apply", &BoundPredictor::apply<Table>, "rows"_a.noconvert(),
                "leaves"_a.noconvert(), "n_threads"_a,
                "Fill leaves (rows, trees) with the node in which each row ends.");
}

template <void (*function)(std::span<double>)>
void bind_elementwise(nb::module_& m, const char* name) {
  m.def(
      name,
      [](Out<double, 1> numbers) {
        GilReleased release;
        function({numbers.data(), numbers.shape(0)});
      },
      "numbers"_a.noconvert());
}

inline void bind(nb::module_& m) {
  bind_stored_rows(m);
  nb::class_<BoundTerms>(m, "LinearTerms", "Slopes of leaves, or of nodes.")
      .def(nb::init<In<std::int64_t, 1>, In<std::int32_t, 1>, In<double, 2>, In<double, 2>,
                    In<double, 1>, In<double, 1>>(),
           "start"_a.noconvert(), "feature"_a.noconvert(), "coefficient"_a.noconvert(),
           "centre"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert());
  nb::class_<BoundEnsemble>(m, "EnsembleArrays", "The arrays of an ensemble.")
      .def(nb::init<In<std::int32_t, 1>, In<double, 1>, In<std::int32_t, 1>, In<std::int32_t, 1>,
                    In<bool, 1>, In<std::int32_t, 1>, In<double, 2>, In<std::uint32_t, 2>,
                    In<std::int64_t, 1>, In<std::int32_t, 1>, In<double, 1>,
                    std::optional<BoundTerms>, bool>(),
           "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(),
           "right"_a.noconvert(), "missing_left"_a.noconvert(), "category_set"_a.noconvert(),
           "value"_a.noconvert(), "category_bits"_a.noconvert(), "tree_offset"_a.noconvert(),
           "tree_output"_a.noconvert(), "base_score"_a.noconvert(), "slopes"_a.none(),
           "has_float_sums"_a = false);
  nb::class_<BoundPredictor> predictor(m, "Predictor", "An ensemble made ready for prediction.");
  predictor.def(
      "__init__",
      [](BoundPredictor* self, const BoundEnsemble& ensemble, std::size_t n_features) {
        new (self) BoundPredictor{Predictor(ensemble.view()), n_features};
      },
      "ensemble"_a, "n_features"_a);
  bind_predictor_methods<StridedMatrix<const float>>(predictor);
  bind_predictor_methods<StridedMatrix<const double>>(predictor);
  bind_predictor_methods<BoundStoredRows>(predictor);

  m.def(
      "add_tree_binned",
      [](In<std::int32_t, 1> feature, In<std::uint8_t, 1> split_bin, In<std::int32_t, 1> left,
         In<std::int32_t, 1> right, In<bool, 1> missing_left, In<std::int32_t, 1> category_set,
         In<double, 2> value, In<std::uint32_t, 2> category_bits, In<std::uint8_t, 2> by_column,
         Out<double, 1> scores, std::optional<In<std::int32_t, 1>> rows, int threads) {
        if (scores.shape(0) != by_column.shape(1))
          throw nb::value_error("scores need one entry for each row of by_column");
        const TreeArrays tree{feature.shape(0),    feature.data(), nullptr,
                              left.data(),         right.data(),   missing_left.data(),
                              category_set.data(), value.data(),   category_bits.data()};
        std::optional<std::span<const std::int32_t>> listed;
        if (rows) listed.emplace(rows->data(), rows->shape(0));
        GilReleased release;
        add_tree_binned(tree, split_bin.data(), by_column.data(), by_column.shape(1), listed,
                        scores.data(), threads);
      },
      "feature"_a.noconvert(), "split_bin"_a.noconvert(), "left"_a.noconvert(),
      "right"_a.noconvert(), "missing_left"_a.noconvert(), "category_set"_a.noconvert(),
      "value"_a.noconvert(), "category_bits"_a.noconvert(), "by_column"_a.noconvert(),
      "scores"_a.noconvert(), "rows"_a.noconvert().none(), "n_threads"_a,
      "Add a tree's values to the scores of all rows, or of those listed in increasing order.");

  m.def(
      "sigmoid_inplace",
      [](nb::ndarray<double, nb::c_contig, nb::device::cpu> scores, int threads) {
        GilReleased release;
        sigmoid_inplace(scores.data(), scores.size(), threads);
      },
      "scores"_a.noconvert(), "n_threads"_a = 1, "Replace every score by 1 / (1 + exp(-score)).");
  m.def(
      "two_classes",
      [](const StridedMatrix<const double>& scores, double factor, Out<double, 2> probabilities,
         int threads) {
        const std::size_t n = scores.shape(0);
        require(probabilities.shape(0) == n && probabilities.shape(1) == 2, "n × 2 are needed");
        GilReleased release;
        two_classes(strided(scores), n, factor, probabilities.data(), threads);
      },
      "scores"_a, "factor"_a, "probabilities"_a, "threads"_a,
      "Write the probabilities of two classes, given the scores (n, 1) of the second.");
  m.def(
      "softmax_inplace",
      [](StridedMatrix<double> scores, int threads) {
        GilReleased release;
        softmax_inplace(strided(scores), scores.shape(0), scores.shape(1), threads);
      },
      "scores"_a.noconvert(), "n_threads"_a = 1,
      "Replace every row of scores (rows, outputs) by its softmax. Any strides.");
  bind_elementwise<exp_inplace>(m, "exp_inplace");
  bind_elementwise<log_inplace>(m, "log_inplace");
  bind_elementwise<log1p_inplace>(m, "log1p_inplace");
}

}  // namespace hedgerow::bind_predict
