// Isotonic regression on a partial order: the numbers nearest to targets such that some do not
// exceed others.
#pragma once
#include <span>
#include <vector>

namespace hedgerow {

// Demands value[lower] ≤ value[upper].
struct Link {
  int lower, upper;
};

// Returns the v that minimise Σ weight (v − target)² subject to the links, which form no cycle.
// Links hold exactly, whatever is rounded. Weights are not negative.
std::vector<double> isotonic(std::span<const Link> links, std::span<const double> target,
                             std::span<const double> weight);

}  // namespace hedgerow
