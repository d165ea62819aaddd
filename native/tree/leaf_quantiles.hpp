// Leaf values of piecewise linear losses: the optimal value is a weighted quantile of the residuals
// of its rows, and a Newton step does not approximate it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

// Rows by leaf. `corner[i]` is the step at which the loss of row i has its kink: y − s for the
// absolute error.
struct LeafRows {
  std::span<const double> corner;
  const double* weight;                // null for ones
  const std::uint16_t* leaf;           // of each row
  std::span<const std::uint32_t> bag;  // the rows that count; empty: all
};

// value[l] = the level[l]-quantile of the kinks in leaf l: a minimiser of the pinball loss, the
// middle one if there are many; 0 for a leaf whose rows have no weight.
void leaf_quantiles(const LeafRows& rows, std::span<const double> level, double* value,
                    int threads);

}  // namespace hedgerow
