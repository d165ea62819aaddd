// Fitting linear leaves: the slopes of the terms that predict/linear_terms.hpp evaluates.
//
// Centres are means weighted by the hessian, so that the optimal value with slopes is the optimal
// value without them, and the slopes solve a small separate system:
//   (S + λ diag(S) / H) c = −r,   S = Σ h z zᵀ,  r = Σ g z,  z = x − centre,  H = Σ h.
// The ridge penalises the change of the leaf's value over one standard deviation of the feature, as
// reg_lambda penalises the value itself, independent of the feature's unit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradient/store.hpp"
#include "shared/growth_params.hpp"
#include "table/strided.hpp"

namespace hedgerow {

// The nodes of a tree whose leaves get slopes; `value` belongs to one output.
struct TreeNodes {
  std::span<const std::int32_t> feature;
  const std::int32_t *left, *right, *category_set;
  const std::int64_t* count;
  const double* value;  // value_stride apart
  std::size_t value_stride;

  bool is_leaf(std::size_t node) const { return feature[node] < 0; }
};

struct SlopeRules {
  GrowthParams growth;  // how the tree grew
  double linear_lambda = 0.0;
};

// The rows of a tree: the leaf number of each, and the rows that the tree was grown on (increasing;
// empty: all).
struct TreeRows {
  std::span<const std::uint16_t> leaf;
  std::span<const std::uint32_t> bag;
};

// The terms of all leaves: one for each numeric feature on a leaf's path, including those with
// coefficient 0. `start` is indexed by node.
struct FittedTerms {
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> feature;
  std::vector<double> coefficient, centre, low, high;
};

// Fits slopes to quantised gradients, or to gradients as numbers. Sums are taken over blocks of
// rows that depend on the number of rows alone, and added up in order.
template <class T>
FittedTerms fit_slopes(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
                       const GradientStore& gradients, int output, const SlopeRules& rules,
                       int threads);
template <class T>
FittedTerms fit_slopes(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
                       const double* g, const double* h, const SlopeRules& rules, int threads);

}  // namespace hedgerow
