// Isotonic regression on a partial order: the numbers nearest to given ones of which some may not
// exceed others.
#pragma once
#include <span>
#include <vector>

namespace hedgerow {

// Asks for value[lower] ≤ value[upper].
struct Link {
  int lower, upper;
};

// Returns the v that minimise Σ weight (v − target)² within the links, which form no circle. The
// links hold exactly, whatever was rounded. Weights are not negative.
std::vector<double> isotonic(std::span<const Link> links, std::span<const double> target,
                             std::span<const double> weight);

}  // namespace hedgerow
