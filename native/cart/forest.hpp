// Forests: each tree draws its sample of rows and grows on its own thread. If there are fewer trees
// than threads, trees grow one after another, each on all threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cart/cart.hpp"
#include "cart/exact.hpp"

namespace hedgerow::cart {

// How a tree samples rows. If classes have numbers of draws of their own, rows are drawn from the
// rows of each class, with replacement; otherwise from all rows.
struct RowDraws {
  bool bootstrap = true;  // with replacement
  std::size_t n_draws = 0;
  std::uint64_t seed = 0;
  std::vector<std::size_t> class_draws;
  std::vector<std::uint32_t> rows_by_class;  // all rows, those of the first class first
  std::vector<std::size_t> class_starts;     // where each class begins, and the end
};

// The target of all trees. `weight` is null if all weights are 1.
struct ForestTarget {
  const std::uint16_t* label = nullptr;
  const double* numbers = nullptr;  // n_rows × n_values
  int n_values = 0;
  int n_outputs = 1;  // that the values belong to; the impurity is the mean over outputs
  const double* weight = nullptr;
  bool balance_sample = false;  // balance the classes within the sample of each tree
};

// How often a tree's sample contains each row.
std::vector<std::uint16_t> draw_counts(const RowDraws& draws, std::uint64_t tree,
                                       std::size_t n_rows);

// Grows trees first_tree, first_tree + 1, …; the forest does not depend on the number of threads.
// Throws std::overflow_error if sums of numbers or weights overflow.
std::vector<CartTree> grow_forest(const CartTable& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads);
std::vector<CartTree> grow_forest(const SortedColumns& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads);

}  // namespace hedgerow::cart
