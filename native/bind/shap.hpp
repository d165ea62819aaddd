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

using namespace explain;
using bind_predict::BoundEnsemble;

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
  void check(const std::optional<StridedMatrix<const T>>& background) const {
    if (background && (background->shape(1) != n_features || background->shape(0) == 0))
      throw nb::value_error("the background has other columns than the model, or no rows");
  }

  template <class T>
  using Rows = StridedMatrix<const T>;
  template <class T>
  using Background = std::optional<StridedMatrix<const T>>;

  template <class T>
  void explain(const Rows<T>& rows, const Background<T>& background, const Out<double, 3>& values,
               int threads) const {
    check(rows, values);
    check(background);
    GilReleased release;
    if (background)
      explainer.compare(strided(rows), rows.shape(0), strided(*background), background->shape(0),
                        values.data(), threads);
    else
      explainer.explain(strided(rows), rows.shape(0), values.data(), threads);
  }

  template <class T>
  void interact(const Rows<T>& rows, const Background<T>& background, const Out<double, 3>& values,
                const Out<double, 4>& interactions, int threads) const {
    check(rows, values);
    check(rows, interactions);
    check(background);
    GilReleased release;
    if (background)
      explainer.compare_pairs(strided(rows), rows.shape(0), strided(*background),
                              background->shape(0), values.data(), interactions.data(), threads);
    else
      explainer.interact(strided(rows), rows.shape(0), values.data(), interactions.data(), threads);
  }
};

template <class T>
void bind_methods(nb::class_<BoundExplainer>& explainer) {
  explainer.def("explain", &BoundExplainer::explain<T>, "rows"_a.noconvert(),
                "background"_a.noconvert().none(), "values"_a.noconvert(), "n_threads"_a,
                "Add to values (rows, players, outputs) those of rows, or their mean against the "
                "rows of a background.");
  explainer.def("interact", &BoundExplainer::interact<T>, "rows"_a.noconvert(),
                "background"_a.noconvert().none(), "values"_a.noconvert(),
                "interactions"_a.noconvert(), "n_threads"_a,
                "Fill interactions (rows, players, players, outputs), which are 0, from values.");
}

inline void bind(nb::module_& m) {
  nb::class_<BoundExplainer> explainer(m, "ShapExplainer", "Trees made ready for Shapley values.");
  explainer.def(
      "__init__",
      [](BoundExplainer* self, const BoundEnsemble& ensemble, const In<double, 1>& share,
         const In<std::int32_t, 1>& player, std::size_t n_players) {
        const ShapArrays arrays{ensemble.view(), share.data(), player.data(), n_players};
        new (self) BoundExplainer{ShapExplainer(arrays), player.shape(0)};
      },
      "ensemble"_a, "share"_a.noconvert(), "player"_a.noconvert(), "n_players"_a);
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
