// Leaf values of piecewise linear losses: the optimal value is a weighted quantile of the residuals
// of its rows, and a Newton step does not approximate it.
//
// Weights are integers, in units of the largest: so a quantile does not depend on the order of
// rows, and can be found from histograms of the rows of several workers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/reduction.hpp"

namespace hedgerow {

// Rows by leaf. `corner[i]` is the step at which the loss of row i has its kink: y − s for the
// absolute error.
struct LeafRows {
  std::span<const double> corner;
  const double* weight;                               // null for ones
  const std::uint16_t* leaf;                          // of each row
  std::optional<std::span<const std::uint32_t>> bag;  // the rows that count; none: all

  std::size_t size() const { return bag ? bag->size() : corner.size(); }
  std::uint32_t row_at(std::size_t i) const {
    return bag ? (*bag)[i] : static_cast<std::uint32_t>(i);
  }
};

// value[l] = the level[l]-quantile of the kinks in leaf l: a minimiser of the pinball loss, the
// middle one if there are many; 0 for a leaf whose rows have no weight. Of several workers, each
// passes its own rows, and all get the same values.
void leaf_quantiles(const LeafRows& rows, std::span<const double> level, double* value, int threads,
                    const Reduction& reduction);

}  // namespace hedgerow
