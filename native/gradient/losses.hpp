// Losses: one pass over the rows adds the last trees to the scores and computes gradients and
// hessians of the loss at the new scores.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gradient/quantise.hpp"

namespace hedgerow {

// Scores of n rows and K outputs, output by output, and what is needed to update them.
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
  bool one_tree = false;  // for all outputs: leaf has n entries
};

// Consecutive rows: the first one and their number.
struct Strip {
  std::size_t begin, count;
};

struct LossKind;

// A loss of the tables in shared/loss_formulas.hpp. `differentiate` processes a block of rows of
// all outputs.
struct LossEntry {
  std::string_view name;
  void (*differentiate)(const LossKind& kind, const Rows& rows, Strip block,
                        const RawGradients& raw, GradientTotals* summary);
};

// All losses, and the loss with a given name; throws std::invalid_argument if there is none.
std::span<const LossEntry> loss_table();
const LossEntry& loss_named(std::string_view name);

struct LossKind {
  const LossEntry& loss;
  std::vector<double> parameters = {};  // of each output; empty if the loss has none

  double parameter(int output) const {
    return parameters.empty() ? 0.0 : parameters[static_cast<std::size_t>(output)];
  }
};

// Adds the leaf values to the scores.
void update_scores(const Rows& rows, int threads);

// Adds the leaf values to the scores, writes raw gradients of every output (K × n entries of the
// kind that `raw` holds) and their totals for each output.
void differentiate(const LossKind& kind, const Rows& rows, const RawGradients& raw,
                   GradientTotals* totals, int threads);

}  // namespace hedgerow
