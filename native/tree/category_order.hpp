// Sorting categories, so that the best subset is likely to be a prefix.
#pragma once
#include <span>

namespace hedgerow {

// Category i has weight[i] and the `n_numbers` coordinates point[i · n_numbers …]: class fractions,
// or means. Writes its coordinate along the first principal component of all categories
// (Coppersmith, Hong and Hosking, "Partitioning nominal attributes in decision trees", 1999). With
// one coordinate that is the coordinate itself, and the best subset is a prefix of its order
// (Fisher, Breiman). `point` is overwritten.
void principal_coordinates(std::span<const double> weight, std::span<double> point, int n_numbers,
                           std::span<double> rank);

}  // namespace hedgerow
