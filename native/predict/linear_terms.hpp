// Linear leaves: a leaf adds its value plus slopes along the numeric features on its path,
//   value + Σ coefficient · (x − centre).
// Numbers are clipped to the range of the leaf's training rows, extended by a tenth, so that leaves
// do not extrapolate. Missing values add nothing.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "table/strided.hpp"

namespace hedgerow::predict {

// The slopes of leaves: those of leaf l are terms [start[l], start[l + 1]). A term has a
// coefficient and a centre for each of the leaf's values.
struct LinearTerms {
  const std::int64_t* start = nullptr;
  const std::int32_t* feature = nullptr;
  const double *coefficient = nullptr, *centre = nullptr;
  const double *low = nullptr, *high = nullptr;
  std::size_t n_values = 1;

  // What a leaf with value `value` adds to output k of a row.
  template <class Rows>
  double add_to(double value, std::size_t leaf, std::size_t k, const Rows& rows,
                std::size_t row) const {
    const auto end = static_cast<std::size_t>(start[leaf + 1]);
    for (auto t = static_cast<std::size_t>(start[leaf]); t < end; ++t) {
      const auto x = static_cast<double>(rows.at(row, static_cast<std::size_t>(feature[t])));
      if (!std::isfinite(x)) continue;
      const double clipped = x < low[t] ? low[t] : x > high[t] ? high[t] : x;
      value += coefficient[t * n_values + k] * (clipped - centre[t * n_values + k]);
    }
    return value;
  }
};

// scores[i] += what leaf[i], with its value in `value`, adds to output k of row i.
template <class T>
void add_linear_leaves(const LinearTerms& terms, std::span<const std::uint16_t> leaf,
                       const double* value, std::size_t k, Strided<const T> table, double* scores,
                       int threads);

}  // namespace hedgerow::predict
