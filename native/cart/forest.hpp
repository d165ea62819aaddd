// Many trees at once: each draws its rows, gives them tickets and grows on a thread of its own.
// Where there are fewer trees than threads, they grow one after another on all threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cart/cart.hpp"
#include "cart/exact.hpp"

namespace hedgerow {

// How a tree draws its rows.
struct RowDraws {
  bool bootstrap = true;  // with replacement; otherwise every row is drawn at most once
  std::size_t n_draws = 0;
  std::uint64_t seed = 0;
};

// What all trees learn from. Weights are null where every row weighs the same.
struct ForestTarget {
  const std::uint16_t* label = nullptr;
  const double* numbers = nullptr;  // n_rows × n_values
  int n_values = 0;
  int n_outputs = 1;  // into which the values fall: the impurity is the mean of theirs
  const double* weight = nullptr;
  bool balance_drawn = false;  // give the classes of the rows drawn the same weight in each tree
};

// How often tree `tree` drew each row.
std::vector<std::uint16_t> draw_counts(const RowDraws& draws, std::uint64_t tree,
                                       std::size_t n_rows);

// Grows trees first_tree, first_tree + 1, …; a forest is the same on any number of threads. Throws
// std::overflow_error if numbers or weights are too large to be added up.
std::vector<CartTree> grow_forest(const CartTable& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads);
std::vector<CartTree> grow_forest(const SortedTable& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads);

}  // namespace hedgerow
