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

namespace nb = nanobind;
using namespace predict;
using namespace explain;
using bind_predict::Matrix;
using bind_predict::strided;
using bind_predict::StridedMatrix;
using bind_predict::Vector;

// The arrays of an ensemble, and the functions on them.
struct BoundDependence {
  Vector<std::int32_t> feature;
  Vector<double> threshold;
  Vector<std::int32_t> left, right;
  Vector<bool> missing_left;
  Vector<std::int32_t> category_set;
  Matrix<double> value;
  Matrix<std::uint32_t> category_bits;
  Vector<std::int64_t> tree_offset;
  Vector<std::int32_t> tree_output;
  Vector<double> base_score;

  EnsembleArrays view() const {
    return {bind_predict::tree_arrays(feature, threshold, left, right, missing_left, category_set,
                                      value, category_bits),
            {tree_offset.data(), tree_offset.shape(0)},
            {tree_output.data(), tree_output.shape(0)},
            {base_score.data(), base_score.shape(0)}};
  }

  GridPoints grid(const Vector<std::int32_t>& place, const Matrix<double>& values) const {
    return {{place.data(), place.shape(0)}, values.data(), values.shape(0), values.shape(1)};
  }

  template <class T>
  void mean_scores(const StridedMatrix<const T>& rows, const std::optional<Vector<double>>& weights,
                   const Vector<std::int32_t>& place, const Matrix<double>& values,
                   nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> mean,
                   int threads) const {
    GilReleased release;
    explain::mean_scores(view(), strided(rows), rows.shape(0), weights ? weights->data() : nullptr,
                         grid(place, values), mean.data(), threads);
  }

  template <class T>
  void scores_at_points(const StridedMatrix<const T>& rows, const Vector<std::int32_t>& place,
                        const Matrix<double>& values,
                        nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> scores,
                        int threads) const {
    GilReleased release;
    explain::scores_at_points(view(), strided(rows), rows.shape(0), grid(place, values),
                              scores.data(), threads);
  }

  void scores_by_share(
      const Vector<double>& share,
      const std::vector<std::pair<Vector<std::int32_t>, Matrix<double>>>& place_and_values,
      nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> mean, int threads) const {
    std::vector<GridPoints> grids;
    grids.reserve(place_and_values.size());
    for (const auto& [place, values] : place_and_values) grids.push_back(grid(place, values));
    GilReleased release;
    explain::scores_by_share(view(), share.data(), grids, mean.data(), threads);
  }
};

template <class T>
void bind_methods(nb::class_<BoundDependence>& dependence) {
  dependence.def("mean_scores", &BoundDependence::mean_scores<T>, nb::arg("rows").noconvert(),
                 nb::arg("weights").noconvert().none(), nb::arg("place").noconvert(),
                 nb::arg("values").noconvert(), nb::arg("mean").noconvert(), nb::arg("n_threads"),
                 "Fill mean (points, outputs) with the mean score over rows at each point.");
  dependence.def("scores_at_points", &BoundDependence::scores_at_points<T>,
                 nb::arg("rows").noconvert(), nb::arg("place").noconvert(),
                 nb::arg("values").noconvert(), nb::arg("scores").noconvert(), nb::arg("n_threads"),
                 "Fill scores (rows, points, outputs).");
}

inline void bind(nb::module_& m) {
  nb::class_<BoundDependence> dependence(
      m, "Dependence", "Scores of rows some of whose values are those of grid points.");
  dependence.def(
      "__init__",
      [](BoundDependence* self, Vector<std::int32_t> feature, Vector<double> threshold,
         Vector<std::int32_t> left, Vector<std::int32_t> right, Vector<bool> missing_left,
         Vector<std::int32_t> category_set, Matrix<double> value,
         Matrix<std::uint32_t> category_bits, Vector<std::int64_t> tree_offset,
         Vector<std::int32_t> tree_output, Vector<double> base_score) {
        new (self) BoundDependence{feature,      threshold,    left,      right,
                                   missing_left, category_set, value,     category_bits,
                                   tree_offset,  tree_output,  base_score};
      },
      nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(), nb::arg("left").noconvert(),
      nb::arg("right").noconvert(), nb::arg("missing_left").noconvert(),
      nb::arg("category_set").noconvert(), nb::arg("value").noconvert(),
      nb::arg("category_bits").noconvert(), nb::arg("tree_offset").noconvert(),
      nb::arg("tree_output").noconvert(), nb::arg("base_score").noconvert());
  bind_methods<float>(dependence);
  bind_methods<double>(dependence);
  dependence.def("scores_by_share", &BoundDependence::scores_by_share, nb::arg("share").noconvert(),
                 nb::arg("grids").noconvert(), nb::arg("mean").noconvert(), nb::arg("n_threads"),
                 "Fill mean (points of all grids, outputs) with the mean score over the training "
                 "rows, of which shares go each way.");
}

}  // namespace hedgerow::bind_dependence
