// Bindings of SHAP values.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bind/gil.hpp"
#include "bind/predict.hpp"
#include "explain/shap.hpp"

namespace hedgerow::bind_shap {

namespace nb = nanobind;
using namespace predict;
using namespace explain;
using bind_predict::BoundTerms;
using bind_predict::Matrix;
using bind_predict::strided;
using bind_predict::StridedMatrix;
using bind_predict::Vector;

using Values = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Interactions = nb::ndarray<double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

// An explainer, and what is needed to check its arguments.
struct BoundExplainer {
  ShapExplainer explainer;
  std::size_t n_features;

  template <class T, class Array>
  void check(const StridedMatrix<const T>& rows, const Array& values) const {
    if (rows.shape(1) != n_features)
      throw nb::value_error("the table has another number of columns than the model");
    const std::size_t last = values.ndim() - 1;
    bool fits = values.shape(0) == rows.shape(0) && values.shape(last) == explainer.n_outputs();
    for (std::size_t axis = 1; axis < last; ++axis)
      fits = fits && values.shape(axis) == explainer.n_players();
    if (!fits) throw nb::value_error("values are (rows, players, outputs)");
  }

  template <class T>
  void explain(const StridedMatrix<const T>& rows, const Values& values, int threads) const {
    check(rows, values);
    GilReleased release;
    explainer.explain(strided(rows), rows.shape(0), values.data(), threads);
  }

  template <class T>
  void interact(const StridedMatrix<const T>& rows, const Values& values,
                const Interactions& interactions, int threads) const {
    check(rows, values);
    check(rows, interactions);
    GilReleased release;
    explainer.interact(strided(rows), rows.shape(0), values.data(), interactions.data(), threads);
  }

  template <class T>
  void compare(const StridedMatrix<const T>& rows, const StridedMatrix<const T>& background,
               const Values& values, int threads) const {
    check(rows, values);
    if (background.shape(1) != n_features || background.shape(0) == 0)
      throw nb::value_error("the background has other columns than the model, or no rows");
    GilReleased release;
    explainer.compare(strided(rows), rows.shape(0), strided(background), background.shape(0),
                      values.data(), threads);
  }

  template <class T>
  void compare_pairs(const StridedMatrix<const T>& rows, const StridedMatrix<const T>& background,
                     const Values& values, const Interactions& interactions, int threads) const {
    check(rows, values);
    check(rows, interactions);
    if (background.shape(1) != n_features || background.shape(0) == 0)
      throw nb::value_error("the background has other columns than the model, or no rows");
    GilReleased release;
    explainer.compare_pairs(strided(rows), rows.shape(0), strided(background), background.shape(0),
                            values.data(), interactions.data(), threads);
  }
};

template <class T>
void bind_methods(nb::class_<BoundExplainer>& explainer) {
  explainer.def("explain", &BoundExplainer::explain<T>, nb::arg("rows").noconvert(),
                nb::arg("values").noconvert(), nb::arg("n_threads"),
                "Fill values (rows, players, outputs), which are 0.");
  explainer.def("interact", &BoundExplainer::interact<T>, nb::arg("rows").noconvert(),
                nb::arg("values").noconvert(), nb::arg("interactions").noconvert(),
                nb::arg("n_threads"),
                "Fill interactions (rows, players, players, outputs), which are 0, from values.");
  explainer.def("compare", &BoundExplainer::compare<T>, nb::arg("rows").noconvert(),
                nb::arg("background").noconvert(), nb::arg("values").noconvert(),
                nb::arg("n_threads"),
                "Add to values (rows, players, outputs) their mean against rows of a background.");
  explainer.def("compare_pairs", &BoundExplainer::compare_pairs<T>, nb::arg("rows").noconvert(),
                nb::arg("background").noconvert(), nb::arg("values").noconvert(),
                nb::arg("interactions").noconvert(), nb::arg("n_threads"),
                "Fill interactions (rows, players, players, outputs), which are 0, from values and "
                "a background.");
}

inline void bind(nb::module_& m) {
  nb::class_<BoundExplainer> explainer(m, "ShapExplainer", "Trees made ready for Shapley values.");
  explainer.def(
      "__init__",
      [](BoundExplainer* self, Vector<std::int32_t> feature, Vector<double> threshold,
         Vector<std::int32_t> left, Vector<std::int32_t> right, Vector<bool> missing_left,
         Vector<std::int32_t> category_set, Matrix<double> value,
         Matrix<std::uint32_t> category_bits, Vector<std::int64_t> tree_offset,
         Vector<std::int32_t> tree_output, Vector<double> base_score,
         std::optional<BoundTerms> slopes, Vector<double> share, Vector<std::int32_t> player,
         std::size_t n_players) {
        const std::optional<LinearTerms> linear =
            slopes ? std::optional(slopes->view()) : std::nullopt;
        const ShapArrays arrays{
            {bind_predict::tree_arrays(feature, threshold, left, right, missing_left, category_set,
                                       value, category_bits),
             {tree_offset.data(), tree_offset.shape(0)},
             {tree_output.data(), tree_output.shape(0)},
             {base_score.data(), base_score.shape(0)},
             linear ? &*linear : nullptr},
            share.data(),
            player.data(),
            n_players};
        new (self) BoundExplainer{ShapExplainer(arrays), player.shape(0)};
      },
      nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(), nb::arg("left").noconvert(),
      nb::arg("right").noconvert(), nb::arg("missing_left").noconvert(),
      nb::arg("category_set").noconvert(), nb::arg("value").noconvert(),
      nb::arg("category_bits").noconvert(), nb::arg("tree_offset").noconvert(),
      nb::arg("tree_output").noconvert(), nb::arg("base_score").noconvert(),
      nb::arg("slopes").none(), nb::arg("share").noconvert(), nb::arg("player").noconvert(),
      nb::arg("n_players"));
  explainer.def_prop_ro(
      "expected",
      [](const BoundExplainer& self) {
        const std::span<const double> expected = self.explainer.expected();
        return std::vector<double>(expected.begin(), expected.end());
      },
      "The mean score by shares.");
  bind_methods<float>(explainer);
  bind_methods<double>(explainer);
}

}  // namespace hedgerow::bind_shap
