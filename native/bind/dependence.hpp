// Bindings of partial dependence.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "bind/gil.hpp"
#include "bind/predict.hpp"
#include "explain/dependence.hpp"

namespace hedgerow::bind_dependence {

using namespace explain;
using bind_predict::BoundEnsemble;

inline GridPoints grid(const In<std::int32_t, 1>& place, const In<double, 2>& values) {
  return {span_of(place), values.data(), values.shape(0), values.shape(1)};
}

template <class T>
void bind_tables_of(nb::module_& m) {
  m.def(
      "mean_scores",
      [](const BoundEnsemble& ensemble, const StridedMatrix<const T>& rows,
         const std::optional<In<double, 1>>& weights, const In<std::int32_t, 1>& place,
         const In<double, 2>& values, const Out<double, 2>& mean, int threads) {
        GilReleased release;
        mean_scores(ensemble.view(), strided(rows), rows.shape(0),
                    weights ? weights->data() : nullptr, grid(place, values), mean.data(), threads);
      },
      "ensemble"_a, "rows"_a.noconvert(), "weights"_a.noconvert().none(), "place"_a.noconvert(),
      "values"_a.noconvert(), "mean"_a.noconvert(), "n_threads"_a,
      "Fill mean (points, outputs) with the mean score over rows at each point.");
  m.def(
      "scores_at_points",
      [](const BoundEnsemble& ensemble, const StridedMatrix<const T>& rows,
         const In<std::int32_t, 1>& place, const In<double, 2>& values,
         const Out<double, 3>& scores, int threads) {
        GilReleased release;
        scores_at_points(ensemble.view(), strided(rows), rows.shape(0), grid(place, values),
                         scores.data(), threads);
      },
      "ensemble"_a, "rows"_a.noconvert(), "place"_a.noconvert(), "values"_a.noconvert(),
      "scores"_a.noconvert(), "n_threads"_a, "Fill scores (rows, points, outputs).");
}

inline void bind(nb::module_& m) {
  bind_tables_of<float>(m);
  bind_tables_of<double>(m);
  m.def(
      "scores_by_share",
      [](const BoundEnsemble& ensemble, const In<double, 1>& share,
         const std::vector<std::pair<In<std::int32_t, 1>, In<double, 2>>>& place_and_values,
         const Out<double, 2>& mean, int threads) {
        std::vector<GridPoints> grids;
        grids.reserve(place_and_values.size());
        for (const auto& [place, values] : place_and_values) grids.push_back(grid(place, values));
        GilReleased release;
        scores_by_share(ensemble.view(), share.data(), grids, mean.data(), threads);
      },
      "ensemble"_a, "share"_a.noconvert(), "grids"_a.noconvert(), "mean"_a.noconvert(),
      "n_threads"_a,
      "Fill mean (points of all grids, outputs) with the mean score over the training rows, of "
      "which shares go each way.");
}

}  // namespace hedgerow::bind_dependence
