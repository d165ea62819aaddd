// The dual of a kernel SVM on a working set of its variables.
//
// The objective ½ βᵀKβ − bᵀβ is minimised subject to bounds on the variables β and fixed sums
// within groups. The pull of a variable is b − Kβ, the negative gradient. A step takes two
// variables of a group, one that may increase and one of smaller pull that may decrease, and moves
// them against each other, which preserves their sum.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hedgerow::svm {

// A cache of kernel rows: slot s holds the kernel values of a row with all rows.
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
// direction, or for most_steps steps; returns the number of steps. Each step takes the variable of
// largest pull that may increase, and the one with which the objective decreases most. A step
// depends on the one before it, so the threads only gather the kernel values of the set, into
// `room` for pair_room(n) of them: fresh memory for each set would cost more than its steps.
template <class T>
std::size_t pair_steps(const KernelRows<T>& kernel, WorkingSet& set, double tolerance,
                       std::size_t most_steps, T* room, int threads);

// The working memory for a set of n variables.
std::size_t pair_room(std::size_t n);

// The most violating variables: among those that may increase the `most` of largest pull, and among
// those that may decrease the `most` of smallest pull; in order, each once. Ties go to the first.
std::vector<std::int64_t> most_violating(std::span<const double> pull, std::span<const double> beta,
                                         std::span<const double> low, std::span<const double> high,
                                         std::size_t most, int threads);

// The largest pull of a variable that may increase, and the smallest of one that may decrease; NaN
// if there is a NaN among them.
std::pair<double, double> pull_range(std::span<const double> pull, std::span<const double> beta,
                                     std::span<const double> low, std::span<const double> high);

// products[j] += Σ change[i] · kernel(slot[i], j) for every column j, in the order of i.
template <class T>
void add_products(const KernelRows<T>& kernel, std::span<const std::int64_t> slot,
                  std::span<const double> change, double* products, int threads);

// out(i, j) = kernel(slot[i], column[j]).
template <class T>
void take_kernels(const KernelRows<T>& kernel, std::span<const std::int64_t> slot,
                  std::span<const std::int64_t> column, T* out, int threads);

}  // namespace hedgerow::svm
