// Bindings of prediction: the predictor, and scores to probabilities.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/gil.hpp"
#include "predict/linear_terms.hpp"
#include "predict/predictor.hpp"
#include "predict/probability.hpp"
#include "shared/math.hpp"
#include "shared/sums.hpp"

namespace hedgerow::bind_predict {

namespace nb = nanobind;
using namespace predict;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using StridedMatrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <class T>
Strided<T> strided(const StridedMatrix<T>& array) {
  return {array.data(), array.stride(0), array.stride(1)};
}

TreeArrays tree_arrays(const Vector<std::int32_t>& feature, const Vector<double>& threshold,
                       const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
                       const Vector<bool>& missing_left, const Vector<std::int32_t>& category_set,
                       const Matrix<double>& value, const Matrix<std::uint32_t>& category_bits) {
  return {feature.shape(0),     feature.data(),      threshold.data(),    left.data(),
          right.data(),         missing_left.data(), category_set.data(), value.data(),
          category_bits.data(), value.shape(1)};
}

// The slopes of leaves, or of nodes, and the arrays behind them.
struct BoundTerms {
  Vector<std::int64_t> start;
  Vector<std::int32_t> feature;
  Matrix<double> coefficient, centre;
  Vector<double> low, high;

  LinearTerms view() const {
    return {start.data(), feature.data(), coefficient.data(),  centre.data(),
            low.data(),   high.data(),    coefficient.shape(1)};
  }
};

// A predictor, and what is needed to check its arguments.
struct BoundPredictor {
  Predictor predictor;
  std::size_t n_features;

  template <class T>
  void check(const StridedMatrix<const T>& rows) const {
    if (rows.shape(1) != n_features)
      throw nb::value_error("the table has another number of columns than the model");
  }

  template <class T>
  void predict(const StridedMatrix<const T>& rows,
               const nb::ndarray<double, nb::ndim<3>, nb::device::cpu>& stages,
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
    predictor.predict(strided(rows), n_rows, plan, threads);
  }

  template <class T>
  void apply(const StridedMatrix<const T>& rows, const StridedMatrix<std::int32_t>& leaves,
             int threads) const {
    check(rows);
    if (leaves.shape(0) != rows.shape(0) || leaves.shape(1) != predictor.n_trees())
      throw nb::value_error("leaves are (rows, trees)");
    GilReleased release;
    predictor.apply(strided(rows), rows.shape(0), strided(leaves), threads);
  }
};

template <class T>
void bind_predictor_methods(nb::class_<BoundPredictor>& predictor) {
  predictor.def("predict", &BoundPredictor::predict<T>, nb::arg("rows").noconvert(),
                nb::arg("stages").noconvert(), nb::arg("first_tree"), nb::arg("stage_trees"),
                nb::arg("start").noconvert().none(), nb::arg("n_threads"),
                "Fill stages (stages, rows, outputs): the base score, or start, plus trees.");
  predictor.def("apply", &BoundPredictor::apply<T>, nb::arg("rows").noconvert(),
                nb::arg("leaves").noconvert(), nb::arg("n_threads"),
                "Fill leaves (rows, trees) with the node in which each row ends.");
}

// So that the functions of math.hpp can be tested one by one.
template <double (*function)(double)>
void bind_elementwise(nb::module_& m, const char* name) {
  m.def(
      name,
      [](nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> numbers) {
        double* x = numbers.data();
        for (std::size_t i = 0; i < numbers.shape(0); ++i) x[i] = function(x[i]);
      },
      nb::arg("numbers").noconvert());
}

inline void bind(nb::module_& m) {
  nb::class_<BoundTerms>(m, "LinearTerms", "Slopes of leaves, or of nodes.")
      .def(nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Matrix<double>, Matrix<double>,
                    Vector<double>, Vector<double>>(),
           nb::arg("start").noconvert(), nb::arg("feature").noconvert(),
           nb::arg("coefficient").noconvert(), nb::arg("centre").noconvert(),
           nb::arg("low").noconvert(), nb::arg("high").noconvert());
  nb::class_<BoundPredictor> predictor(m, "Predictor", "An ensemble made ready for prediction.");
  predictor.def(
      "__init__",
      [](BoundPredictor* self, Vector<std::int32_t> feature, Vector<double> threshold,
         Vector<std::int32_t> left, Vector<std::int32_t> right, Vector<bool> missing_left,
         Vector<std::int32_t> category_set, Matrix<double> value,
         Matrix<std::uint32_t> category_bits, Vector<std::int64_t> tree_offset,
         Vector<std::int32_t> tree_output, Vector<double> base_score, std::size_t n_features,
         std::optional<BoundTerms> slopes) {
        const std::optional<LinearTerms> linear =
            slopes ? std::optional(slopes->view()) : std::nullopt;
        const EnsembleArrays ensemble{tree_arrays(feature, threshold, left, right, missing_left,
                                                  category_set, value, category_bits),
                                      {tree_offset.data(), tree_offset.shape(0)},
                                      {tree_output.data(), tree_output.shape(0)},
                                      {base_score.data(), base_score.shape(0)},
                                      linear ? &*linear : nullptr};
        new (self) BoundPredictor{Predictor(ensemble), n_features};
      },
      nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(), nb::arg("left").noconvert(),
      nb::arg("right").noconvert(), nb::arg("missing_left").noconvert(),
      nb::arg("category_set").noconvert(), nb::arg("value").noconvert(),
      nb::arg("category_bits").noconvert(), nb::arg("tree_offset").noconvert(),
      nb::arg("tree_output").noconvert(), nb::arg("base_score").noconvert(), nb::arg("n_features"),
      nb::arg("slopes").none() = nb::none());
  bind_predictor_methods<float>(predictor);
  bind_predictor_methods<double>(predictor);

  m.def(
      "add_tree_binned",
      [](Vector<std::int32_t> feature, Vector<std::uint8_t> split_bin, Vector<std::int32_t> left,
         Vector<std::int32_t> right, Vector<bool> missing_left, Vector<std::int32_t> category_set,
         Matrix<double> value, Matrix<std::uint32_t> category_bits, Matrix<std::uint8_t> by_column,
         nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores,
         std::optional<Vector<std::int32_t>> rows, int threads) {
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
      nb::arg("feature").noconvert(), nb::arg("split_bin").noconvert(), nb::arg("left").noconvert(),
      nb::arg("right").noconvert(), nb::arg("missing_left").noconvert(),
      nb::arg("category_set").noconvert(), nb::arg("value").noconvert(),
      nb::arg("category_bits").noconvert(), nb::arg("by_column").noconvert(),
      nb::arg("scores").noconvert(), nb::arg("rows").noconvert().none(), nb::arg("n_threads"),
      "Add a tree's values to the scores of all rows, or of those listed in increasing order.");

  m.def(
      "sigmoid_inplace",
      [](nb::ndarray<double, nb::c_contig, nb::device::cpu> scores, int threads) {
        GilReleased release;
        sigmoid_inplace(scores.data(), scores.size(), threads);
      },
      nb::arg("scores").noconvert(), nb::arg("n_threads") = 1,
      "Replace every score by 1 / (1 + exp(-score)).");
  m.def(
      "softmax_inplace",
      [](StridedMatrix<double> scores, int threads) {
        GilReleased release;
        softmax_inplace(strided(scores), scores.shape(0), scores.shape(1), threads);
      },
      nb::arg("scores").noconvert(), nb::arg("n_threads") = 1,
      "Replace every row of scores (rows, outputs) by its softmax. Any strides.");
  m.def(
      "pairwise_sum",
      [](Vector<double> numbers) {
        GilReleased release;
        return pairwise_sum(numbers.data(), numbers.shape(0));
      },
      nb::arg("numbers").noconvert(), "Add numbers up, in an order that their count decides.");
  bind_elementwise<hedgerow::exp>(m, "exp_inplace");
  bind_elementwise<hedgerow::log>(m, "log_inplace");
  bind_elementwise<hedgerow::log1p>(m, "log1p_inplace");
}

}  // namespace hedgerow::bind_predict
