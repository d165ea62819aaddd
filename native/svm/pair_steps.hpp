// The dual of a support vector machine on a working set of its variables.
//
// Variables β have bounds and sums that are fixed within groups, and
//   ½ βᵀKβ − bᵀβ
// is to become small. The pull of a variable is b − Kβ, the negative gradient. Wherever pulls of a
// group differ, a variable that may grow and one of smaller pull that may shrink are moved against
// each other, which keeps their sum.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow::svm {

// Kernel values of many rows with all rows, some of which are held in slots.
template <class T>
struct KernelRows {
  const T* values;     // slot s from place s · stride on
  std::size_t stride;  // columns
  const T* row(std::size_t slot) const { return values + slot * stride; }
};

struct WorkingSet {
  std::span<const std::int64_t> slot;    // of each variable's kernel row
  std::span<const std::int64_t> column;  // its row of the table
  std::size_t first_of_second;           // variables of the second group come last
  std::span<const double> low, high;
  std::span<double> beta, pull;  // in and out
};

// Moves pairs until no two pulls of a group differ by more than the tolerance in the wrong
// direction, or most_steps have been made; the number of steps. Each step takes the largest pull
// that may grow, and of the others the one with which the objective falls most.
template <class T>
std::size_t pair_steps(const KernelRows<T>& kernel, WorkingSet& set, double tolerance,
                       std::size_t most_steps);

// Which variables a working set needs most: of those that may grow the `most` of the largest pull,
// and of those that may shrink the `most` of the smallest; in order, each once. Of equal pulls the
// first are taken.
std::vector<std::int64_t> most_violating(std::span<const double> pull, std::span<const double> beta,
                                         std::span<const double> low, std::span<const double> high,
                                         std::size_t most);

// products[j] += Σ change[i] · kernel(slot[i], j) for every column j, in the order of i.
template <class T>
void add_products(const KernelRows<T>& kernel, std::span<const std::int64_t> slot,
                  std::span<const double> change, double* products, int threads);

}  // namespace hedgerow::svm
