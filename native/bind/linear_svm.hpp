// Bindings of linear SVMs: products with rows, and coordinate descents.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "core/threads.hpp"
#include "svm/descent.hpp"
#include "svm/linear_products.hpp"

namespace hedgerow::bind_linear {

namespace linear = svm::linear;

using Vector = In<double, 1>;

// A new array, which `fill` writes without Python's lock.
template <class Fill>
nb::ndarray<nb::numpy, double> filled(std::initializer_list<std::size_t> shape, const Fill& fill) {
  std::size_t size = 1;
  for (const std::size_t axis : shape) size *= axis;
  auto* values = new double[size + 1];
  nb::capsule owner(values, [](void* memory) noexcept { delete[] static_cast<double*>(memory); });
  nb::ndarray<nb::numpy, double> array(values, shape.size(), shape.begin(), owner);
  const GilReleased unlocked;
  fill(values);
  return array;
}

inline void require_size(std::size_t size, std::size_t expected, const char* name) {
  if (size != expected) throw nb::value_error((std::string(name) + " has the wrong size").c_str());
}

// Rows as the kernels see them, and the arrays that keep them alive.
class LinearRows {
 public:
  static LinearRows dense(const nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig>& values,
                          double bias) {
    return of_floats(values, {nb::cast(values)}, [&]<class T>(const T* data) {
      return linear::DenseRows<T>{data, values.shape(0), values.shape(1), bias};
    });
  }

  // Columns must be below n_features, and starts rise from 0 to the number of values.
  static LinearRows sparse(const nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>& values,
                           const In<std::int32_t, 1>& columns, const In<std::int64_t, 1>& starts,
                           std::size_t n_features, double bias) {
    if (starts.shape(0) == 0) throw nb::value_error("starts is empty");
    require_size(columns.shape(0), values.shape(0), "columns");
    return of_floats(values, {nb::cast(values), nb::cast(columns), nb::cast(starts)},
                     [&]<class T>(const T* data) {
                       return linear::SparseRows<T>{data,          columns.data(),
                                                    starts.data(), starts.shape(0) - 1,
                                                    n_features,    bias};
                     });
  }

  linear::AnyRows view;

  std::size_t n_rows() const { return linear::n_rows(view); }
  std::size_t width() const { return linear::width(view); }

 private:
  // Calls view_of(data) with a pointer to float or double.
  template <class Values, class ViewOf>
  static LinearRows of_floats(const Values& values, std::vector<nb::object> owners,
                              const ViewOf& view_of) {
    if (values.dtype() == nb::dtype<float>())
      return {view_of(static_cast<const float*>(values.data())), std::move(owners)};
    if (values.dtype() != nb::dtype<double>()) throw nb::type_error("values are no floats");
    return {view_of(static_cast<const double*>(values.data())), std::move(owners)};
  }

  LinearRows(linear::AnyRows view, std::vector<nb::object> owners)
      : view(view), owners_(std::move(owners)) {}

  std::vector<nb::object> owners_;
};

inline nb::ndarray<nb::numpy, double> times(const LinearRows& rows, const In<double, 2>& w,
                                            int threads) {
  require_size(w.shape(1), rows.width(), "w");
  return filled({rows.n_rows(), w.shape(0)},
                [&](double* out) { linear::times(rows.view, w.data(), w.shape(0), out, threads); });
}

inline nb::ndarray<nb::numpy, double> combine(const LinearRows& rows, const Vector& u,
                                              int threads) {
  require_size(u.shape(0), rows.n_rows(), "u");
  return filled({rows.width()},
                [&](double* out) { linear::combine(rows.view, u.data(), out, threads); });
}

inline nb::ndarray<nb::numpy, double> curve(const LinearRows& rows, const Vector& theta,
                                            const Vector& v, int threads) {
  require_size(theta.shape(0), rows.n_rows(), "theta");
  require_size(v.shape(0), rows.width(), "v");
  return filled({rows.width()}, [&](double* out) {
    linear::curve(rows.view, theta.data(), v.data(), out, threads);
  });
}

inline nb::ndarray<nb::numpy, double> normal_matrix(const LinearRows& rows, const Vector& theta,
                                                    int threads) {
  require_size(theta.shape(0), rows.n_rows(), "theta");
  return filled({rows.width(), rows.width()},
                [&](double* out) { linear::normal_matrix(rows.view, theta.data(), out, threads); });
}

inline nb::ndarray<nb::numpy, double> squares(const LinearRows& rows, int threads) {
  return filled({rows.n_rows()}, [&](double* out) { linear::squares(rows.view, out, threads); });
}

// A descent, and the arrays that it reads and writes.
class BoundDescent {
 public:
  BoundDescent(std::unique_ptr<linear::Descent> descent, std::vector<nb::object> owners)
      : descent_(std::move(descent)), owners_(std::move(owners)) {}

  linear::Descent& operator*() const { return *descent_; }

 private:
  std::unique_ptr<linear::Descent> descent_;
  std::vector<nb::object> owners_;
};

inline BoundDescent dual_descent(const LinearRows& rows, const Vector& target, const Vector& lower,
                                 const Vector& upper, const Vector& ridge, double epsilon,
                                 const Vector& square, const Out<double, 1>& beta,
                                 const Out<double, 1>& w, std::uint64_t seed) {
  for (const Vector& each : {target, lower, upper, ridge, square}) {
    require_size(each.shape(0), rows.n_rows(), "an array");
  }
  require_size(beta.shape(0), rows.n_rows(), "beta");
  require_size(w.shape(0), rows.width(), "w");
  const linear::DualProblem problem{target.data(), lower.data(), upper.data(), ridge.data(),
                                    epsilon};
  return {linear::dual_descent(rows.view, problem, square.data(), beta.data(), w.data(), seed),
          {nb::cast(rows), nb::cast(target), nb::cast(lower), nb::cast(upper), nb::cast(ridge),
           nb::cast(square), nb::cast(beta), nb::cast(w)}};
}

inline BoundDescent lasso_descent(const LinearRows& columns, const Vector& y, const Vector& C,
                                  const Out<double, 1>& w, const Out<double, 1>& slack,
                                  std::uint64_t seed) {
  for (const std::size_t size : {y.shape(0), C.shape(0), slack.shape(0)}) {
    require_size(size, columns.width() - 1, "an array");
  }
  require_size(w.shape(0), columns.n_rows(), "w");
  return {linear::lasso_descent(columns.view, y.data(), C.data(), w.data(), slack.data(), seed),
          {nb::cast(columns), nb::cast(y), nb::cast(C), nb::cast(w), nb::cast(slack)}};
}

// Labels must be below the number of classes, which is alpha's number of columns.
inline BoundDescent crammer_singer(const LinearRows& rows, const In<std::int32_t, 1>& label,
                                   const Vector& C, const Vector& square,
                                   const Out<double, 2>& alpha, const Out<double, 2>& W,
                                   std::uint64_t seed) {
  for (const std::size_t size : {label.shape(0), C.shape(0), square.shape(0), alpha.shape(0)}) {
    require_size(size, rows.n_rows(), "an array");
  }
  require_size(W.shape(0), rows.width(), "W");
  require_size(W.shape(1), alpha.shape(1), "W");
  return {linear::crammer_singer(rows.view, label.data(), alpha.shape(1), C.data(), square.data(),
                                 alpha.data(), W.data(), seed),
          {nb::cast(rows), nb::cast(label), nb::cast(C), nb::cast(square), nb::cast(alpha),
           nb::cast(W)}};
}

// Runs several descents, one thread each; returns the number of epochs of each.
inline std::vector<int> descend(const nb::sequence& all, int epochs, const nb::sequence& tolerances,
                                int threads) {
  const auto descents = vector_of<BoundDescent*>(all);
  const auto tolerance = vector_of<double>(tolerances);
  require_size(tolerance.size(), descents.size(), "tolerance");
  std::vector<int> epochs_run(descents.size());
  const GilReleased unlocked;
  parallel_for(threads, descents.size(),
               [&](std::size_t k) { epochs_run[k] = (**descents[k]).run(epochs, tolerance[k]); });
  return epochs_run;
}

inline void bind(nb::module_& m) {
  nb::class_<LinearRows>(m, "LinearRows",
                         "Rows, dense or sparse, with an additional constant feature.")
      .def_static("dense", &LinearRows::dense, "values"_a.noconvert(), "bias"_a)
      .def_static("sparse", &LinearRows::sparse, "values"_a.noconvert(), "columns"_a.noconvert(),
                  "starts"_a.noconvert(), "n_features"_a, "bias"_a)
      .def_prop_ro("n_rows", &LinearRows::n_rows)
      .def_prop_ro("width", &LinearRows::width)
      .def("times", &times, "w"_a.noconvert(), nb::kw_only(), "threads"_a,
           "X wᵀ, for each row of w.")
      .def("combine", &combine, "u"_a.noconvert(), nb::kw_only(), "threads"_a, "Xᵀ u.")
      .def("curve", &curve, "theta"_a.noconvert(), "v"_a.noconvert(), nb::kw_only(), "threads"_a,
           "Xᵀ diag(θ) X v.")
      .def("normal_matrix", &normal_matrix, "theta"_a.noconvert(), nb::kw_only(), "threads"_a,
           "Xᵀ diag(θ) X.")
      .def("squares", &squares, nb::kw_only(), "threads"_a, "Squared lengths of the rows.");
  m.def(
      "cholesky",
      [](const Out<double, 2>& matrix) {
        require_size(matrix.shape(1), matrix.shape(0), "matrix");
        const GilReleased unlocked;
        return linear::factor(matrix.data(), matrix.shape(0));
      },
      "matrix"_a.noconvert(),
      "Turn a matrix into its Cholesky factor; returns the number of pivots lost to rounding.");
  m.def(
      "cholesky_solve",
      [](const In<double, 2>& factored, const Out<double, 1>& b) {
        require_size(factored.shape(1), factored.shape(0), "factored");
        require_size(b.shape(0), factored.shape(0), "b");
        const GilReleased unlocked;
        linear::solve(factored.data(), factored.shape(0), b.data());
      },
      "factored"_a.noconvert(), "b"_a.noconvert(), "Solve L Lᵀ x = b in place.");
  nb::class_<BoundDescent>(m, "Descent", "A coordinate descent in progress.")
      .def_prop_ro("violation", [](const BoundDescent& d) { return (*d).violation(); })
      .def_prop_ro("converged", [](const BoundDescent& d) { return (*d).converged(); });
  m.def("dual_descent", &dual_descent, "rows"_a, "target"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "ridge"_a.noconvert(), "epsilon"_a, "square"_a.noconvert(),
        "beta"_a.noconvert(), "w"_a.noconvert(), "seed"_a,
        "Descent in the dual of an SVM with penalty ½‖w‖².");
  m.def("lasso_descent", &lasso_descent, "columns"_a, "y"_a.noconvert(), "C"_a.noconvert(),
        "w"_a.noconvert(), "slack"_a.noconvert(), "seed"_a,
        "Descent in the primal of an SVM with penalty Σ|w|.");
  m.def("crammer_singer", &crammer_singer, "rows"_a, "label"_a.noconvert(), "C"_a.noconvert(),
        "square"_a.noconvert(), "alpha"_a.noconvert(), "W"_a.noconvert(), "seed"_a,
        "Descent in Crammer and Singer's dual.");
  m.def("descend", &descend, "descents"_a, "epochs"_a, "tolerance"_a, "threads"_a,
        "Run descents in parallel; returns the number of epochs of each.");
}

}  // namespace hedgerow::bind_linear
