// Losses: one pass over the rows adds the last trees to the scores and takes the gradient and
// hessian of the loss at the new ones.
#pragma once
#include <cstddef>
#include <cstdint>

#include "quantise.hpp"

namespace hedgerow {

enum class Loss {
  squared_error,  // ½(y − s)²
  log_loss,       // y in {0, 1}, s is the log-odds
  multinomial,    // y in 0 … K−1, softmax over K scores
};

// Scores of n rows and K outputs, output by output, and what is needed to bring them up to date.
struct Rows {
  double* scores;  // K × n
  const std::uint16_t*
      leaf;  // K × n: the leaf each row fell into in the last round; null: nothing to add
  const double* leaf_value;  // K × leaf_stride
  std::size_t leaf_stride;
  const double* target;  // n
  const double* weight;  // n, or null for ones
  std::size_t n;
  int K;
};

// Adds the leaf values to the scores.
void update_scores(const Rows& rows, int threads);

// Adds the leaf values to the scores, writes raw gradients of every output (K × n entries of the
// kind that `raw` holds) and one summary of them for each output.
void differentiate(Loss loss, const Rows& rows, const RawGradients& raw, GradientSummary* summary,
                   int threads);

}  // namespace hedgerow
