// An order of categories along which the best subset is likely to be a run.
#pragma once
#include <span>

namespace hedgerow {

// Category i weighs weight[i] and lies at the `width` numbers point[i · width …]: its shares of the
// classes, or its means. Writes where it lies along the line on which the categories are most
// spread out, their first principal component (Coppersmith, Hong and Hosking, "Partitioning nominal
// attributes in decision trees", 1999). With one number that is the number itself, and its order
// holds the best subset for certain (Fisher, Breiman). `point` is overwritten.
void principal_coordinates(std::span<const double> weight, std::span<double> point, int width,
                           std::span<double> rank);

}  // namespace hedgerow
