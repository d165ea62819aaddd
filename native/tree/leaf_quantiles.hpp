// Leaves of losses with corners: where a loss is straight on both sides of a target, the best value
// of a leaf is a weighted quantile of what its rows lack, and Newton's step is not near it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

// Rows by leaf. `corner[i]` is the step at which row i's loss has its corner, as y − s is for an
// absolute error.
struct LeafRows {
  std::span<const double> corner;
  const double* weight;                // null for ones
  const std::uint16_t* leaf;           // of each row
  std::span<const std::uint32_t> bag;  // the rows that count; empty: all
};

// value[l] = the level[l]-quantile of the corners in leaf l: a minimiser of the pinball loss, the
// middle one if there are many; 0 for a leaf whose rows have no weight.
void leaf_quantiles(const LeafRows& rows, std::span<const double> level, double* value,
                    int threads);

}  // namespace hedgerow
