// Linear leaves: what a leaf adds is its value plus slopes along the numeric features on its path,
//   value + Σ coefficient · (x − centre).
// A number beyond the range of the leaf's training rows, and a tenth of it, counts as the end of
// that: no leaf says more than its own rows could have shown. One that is missing adds nothing.
//
// Centres are means by hessian. So the value that is best with slopes is the value that is best
// without them, and slopes are a small system of their own:
//   (S + λ diag(S) / H) c = −r,   S = Σ h z zᵀ,  r = Σ g z,  z = x − centre,  H = Σ h.
// The ridge is λ on the change of the leaf's value over a standard deviation of the feature, in
// which it is what reg_lambda is on the value itself, whatever unit the feature has.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradients.hpp"
#include "leaf_rule.hpp"
#include "predict.hpp"

namespace hedgerow {

// The slopes of leaves: those of leaf l are terms [start[l], start[l + 1]). A term has a
// coefficient and a centre for each of the leaf's values.
struct LinearTerms {
  const std::int64_t* start = nullptr;
  const std::int32_t* feature = nullptr;
  const double *coefficient = nullptr, *centre = nullptr;
  const double *low = nullptr, *high = nullptr;
  std::size_t n_values = 1;

  // What a leaf with value `value` adds to output k of a row.
  template <class T>
  double add_to(double value, std::size_t leaf, std::size_t k, Strided<const T> rows,
                std::size_t row) const {
    const auto end = static_cast<std::size_t>(start[leaf + 1]);
    for (auto t = static_cast<std::size_t>(start[leaf]); t < end; ++t) {
      const auto x = static_cast<double>(rows.at(row, static_cast<std::size_t>(feature[t])));
      if (!std::isfinite(x)) continue;
      const double held = x < low[t] ? low[t] : x > high[t] ? high[t] : x;
      value += coefficient[t * n_values + k] * (held - centre[t * n_values + k]);
    }
    return value;
  }
};

// The nodes of a tree whose leaves get slopes; `value` is that of the output that is served.
struct TreeNodes {
  std::span<const std::int32_t> feature;
  const std::int32_t *left, *right, *category_set;
  const std::int64_t* count;
  const double* value;  // value_stride apart
  std::size_t value_stride;

  bool is_leaf(std::size_t node) const { return feature[node] < 0; }
};

struct SlopeRules {
  double linear_lambda = 0.0;
  double learning_rate = 0.1;
  double max_delta_step = 0.0;  // 0: no limit
  LeafRule leaf;
};

// The rows of a tree: each one's leaf, counted in the order of nodes, and those that the tree was
// grown on (increasing; empty: all).
struct TreeRows {
  std::span<const std::uint16_t> leaf;
  std::span<const std::uint32_t> bag;
};

// Terms of the leaves as they are fitted: one for each numeric feature on a leaf's path, those with
// coefficient 0 included. `start` counts nodes.
struct FittedTerms {
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> feature;
  std::vector<double> coefficient, centre, low, high;
};

// Fits slopes to quantised gradients, or to such as they are. Sums are taken over blocks of rows
// that depend on the number of rows alone, and added up in order.
template <class T>
FittedTerms fit_slopes(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
                       const GradientStore& gradients, int output, const SlopeRules& rules,
                       int threads);
template <class T>
FittedTerms fit_slopes(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
                       const double* g, const double* h, const SlopeRules& rules, int threads);

// scores[i] += what leaf[i], with its value in `value`, adds to output k of row i.
template <class T>
void add_linear_leaves(const LinearTerms& terms, std::span<const std::uint16_t> leaf,
                       const double* value, std::size_t k, Strided<const T> table, double* scores,
                       int threads);

}  // namespace hedgerow
