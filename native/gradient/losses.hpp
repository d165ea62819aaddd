// Losses: one pass over the rows adds the last trees to the scores and takes the gradient and
// hessian of the loss at the new ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradient/quantise.hpp"

namespace hedgerow {

// Names as in Python; r is s − y.
enum class Loss {
  squared_error,   // ½r²
  absolute_error,  // |r|
  quantile,        // shape × −r below the target, (1 − shape) × r above it
  expectile,       // the same of r²
  huber,           // ½r² up to |r| = shape, straight beyond
  pseudo_huber,    // δ²(√(1 + (r/δ)²) − 1), δ = shape
  log_cosh,        // δ² log cosh(r/δ), δ = shape
  poisson,         // e^s − ys
  gamma,           // ye^−s + s
  tweedie,         // e^((2−p)s)/(2−p) − ye^((1−p)s)/(1−p), p = shape in (1, 2)
  log_loss,        // y in [0, 1], s is the log-odds
  exponential,     // e^−s or e^s: y in {0, 1} is the sign of s
  hinge,           // max(0, 1 ∓ s)
  focal,           // −(1 − P)^shape log P of the class
  multinomial,     // y in 0 … K−1, softmax over K scores
  cross_entropy,   // the same with K probabilities for y
};

struct LossKind {
  Loss loss;
  std::vector<double> shape = {};  // of each output; empty if the loss has none

  double shape_of(int output) const {
    return shape.empty() ? 0.0 : shape[static_cast<std::size_t>(output)];
  }
};

// Scores of n rows and K outputs, output by output, and what is needed to bring them up to date.
struct Rows {
  double* scores;  // K × n
  const std::uint16_t*
      leaf;  // K × n: the leaf each row fell into in the last round; null: nothing to add
  const double* leaf_value;  // K × leaf_stride
  std::size_t leaf_stride;
  const double* target;       // n, or K × n
  std::size_t target_stride;  // n if every output has a target of its own, else 0
  const double* weight;       // n, or null for ones
  std::size_t n;
  int K;
  bool one_tree = false;  // serves all outputs: leaf has n entries
};

// Adds the leaf values to the scores.
void update_scores(const Rows& rows, int threads);

// Adds the leaf values to the scores, writes raw gradients of every output (K × n entries of the
// kind that `raw` holds) and one summary of them for each output.
void differentiate(const LossKind& kind, const Rows& rows, const RawGradients& raw,
                   GradientSummary* summary, int threads);

}  // namespace hedgerow
