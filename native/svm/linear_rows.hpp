// The rows x_i of a linear SVM: dense or sparse, float or double, views of the caller's arrays,
// each with an additional constant feature whose weight is the intercept. All sums are in double,
// in an order that is the same at every instruction-set level.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <variant>

#include "core/compiler.hpp"

namespace hedgerow::svm::linear {

inline namespace HEDGEROW_LEVEL {

// Eight sums side by side: one register of the highest level, several of the lower ones.
inline constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));

inline Lanes load_lanes(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

inline Lanes load_lanes(const float* from) {
  using Narrow = float __attribute__((vector_size(kLanes * sizeof(float))));
  Narrow narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  return __builtin_convertvector(narrow, Lanes);
}

inline void store_lanes(double* to, const Lanes& lanes) { std::memcpy(to, &lanes, sizeof lanes); }

inline double sum_lanes(const Lanes& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

}  // namespace HEDGEROW_LEVEL

// Fetches memory, up to a kilobyte of it, into the second cache: the first has too few places for
// lines under way.
inline void prefetch_bytes(const void* begin, std::size_t bytes) {
  const char* line = static_cast<const char*>(begin);
  for (std::size_t at = 0; at < std::min<std::size_t>(bytes, 1024); at += 64) {
    __builtin_prefetch(line + at, 0, 2);
  }
}

template <class T>
struct DenseRows {
  const T* values;  // [n_rows][n_features]
  std::size_t n_rows, n_features;
  double bias;  // value of the last, constant feature

  std::size_t width() const { return n_features + 1; }
  std::size_t stored(std::size_t) const { return n_features; }
  std::size_t stored() const { return n_rows * n_features; }
  const T* row(std::size_t i) const { return values + i * n_features; }

  double dot(std::size_t i, const double* w) const {
    const T* x = row(i);
    Lanes a{}, b{};
    std::size_t j = 0;
    for (; j + 2 * kLanes <= n_features; j += 2 * kLanes) {
      a += load_lanes(x + j) * load_lanes(w + j);
      b += load_lanes(x + j + kLanes) * load_lanes(w + j + kLanes);
    }
    double sum = bias * w[n_features];
    for (; j < n_features; ++j) sum += static_cast<double>(x[j]) * w[j];
    return sum_lanes(a + b) + sum;
  }

  // w += scale · x_i
  void add(std::size_t i, double scale, double* w) const {
    const T* x = row(i);
    for (std::size_t j = 0; j < n_features; ++j) w[j] += scale * static_cast<double>(x[j]);
    w[n_features] += scale * bias;
  }

  double square(std::size_t i) const {
    const T* x = row(i);
    double sum = bias * bias;
    for (std::size_t j = 0; j < n_features; ++j) {
      sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
    return sum;
  }

  // Calls visit(j, x_ij) for the features that are stored; the constant one is not.
  template <class Visit>
  void each(std::size_t i, Visit&& visit) const {
    const T* x = row(i);
    for (std::size_t j = 0; j < n_features; ++j) visit(j, static_cast<double>(x[j]));
  }

  // Prefetches a row, and before that its position.
  void prefetch_place(std::size_t) const {}
  void prefetch(std::size_t i) const { prefetch_bytes(row(i), n_features * sizeof(T)); }
};

template <class T>
struct SparseRows {
  const T* values;
  const std::int32_t* columns;
  const std::int64_t* starts;  // [n_rows + 1]
  std::size_t n_rows, n_features;
  double bias;

  std::size_t width() const { return n_features + 1; }
  std::size_t stored(std::size_t i) const {
    return static_cast<std::size_t>(starts[i + 1] - starts[i]);
  }
  std::size_t stored() const { return static_cast<std::size_t>(starts[n_rows]); }

  double dot(std::size_t i, const double* w) const {
    const T* x = values + starts[i];
    const std::int32_t* column = columns + starts[i];
    const std::size_t count = stored(i);
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4) {
      a += static_cast<double>(x[k]) * w[column[k]];
      b += static_cast<double>(x[k + 1]) * w[column[k + 1]];
      c += static_cast<double>(x[k + 2]) * w[column[k + 2]];
      d += static_cast<double>(x[k + 3]) * w[column[k + 3]];
    }
    double sum = bias * w[n_features];
    for (; k < count; ++k) sum += static_cast<double>(x[k]) * w[column[k]];
    return ((a + c) + (b + d)) + sum;
  }

  void add(std::size_t i, double scale, double* w) const {
    const T* x = values + starts[i];
    const std::int32_t* column = columns + starts[i];
    const std::size_t count = stored(i);
    for (std::size_t k = 0; k < count; ++k) w[column[k]] += scale * static_cast<double>(x[k]);
    w[n_features] += scale * bias;
  }

  double square(std::size_t i) const {
    double sum = bias * bias;
    for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
      sum += static_cast<double>(values[k]) * static_cast<double>(values[k]);
    }
    return sum;
  }

  template <class Visit>
  void each(std::size_t i, Visit&& visit) const {
    for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
      visit(static_cast<std::size_t>(columns[k]), static_cast<double>(values[k]));
    }
  }

  void prefetch_place(std::size_t i) const { __builtin_prefetch(starts + i); }
  void prefetch(std::size_t i) const {
    prefetch_bytes(values + starts[i], stored(i) * sizeof(T));
    prefetch_bytes(columns + starts[i], stored(i) * sizeof(std::int32_t));
  }
};

using AnyRows =
    std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float>, SparseRows<double>>;

inline std::size_t n_rows(const AnyRows& rows) {
  return std::visit([](const auto& x) { return x.n_rows; }, rows);
}
inline std::size_t width(const AnyRows& rows) {
  return std::visit([](const auto& x) { return x.width(); }, rows);
}

}  // namespace hedgerow::svm::linear
