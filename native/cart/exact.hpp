// CART with exact splits: columns are sorted once for all trees, and a threshold is the midpoint of
// two neighbouring values of its node.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cart/cart.hpp"
#include "table/presort.hpp"

namespace hedgerow::cart {

// Sorted columns: two arrays of shape (n_features, n_rows). A category's rank is its bin.
struct SortedColumns {
  const std::uint32_t* order;        // rows by value, equal values by row, missing values last
  const std::uint32_t* rank;         // of each row's value among the distinct ones, or kMissingRank
  const double* values;              // the distinct values of all numeric columns, ascending,
  const std::int64_t* value_starts;  // and where those of each column start
  const bool* is_categorical;
  std::size_t n_rows;
  int n_features;
  const CartTable* bins = nullptr;  // if set, ranks are bins of this table, and values are null

  double value(int feature, std::uint32_t rank) const {
    return values[value_starts[feature] + rank];
  }
};

// Sorts one column: writes its order and the rank of each row, and returns the distinct values.
std::vector<double> sort_column(const RawColumn& column, std::size_t n_rows, std::uint32_t* order,
                                std::uint32_t* rank);

// Grows a tree on `rows`, which are in increasing order. The number of threads does not change it.
CartTree grow_cart_exact(const SortedColumns& table, const CartTarget& target,
                         const CartRules& rules, std::span<const std::uint32_t> rows,
                         std::uint64_t tree_id, int threads);

// The same for random thresholds and impurities of sums, which need no sorted lists (cart.cpp).
CartTree grow_random_thresholds(const SortedColumns& table, const CartTarget& target,
                                const CartRules& rules, std::span<const std::uint32_t> rows,
                                std::uint64_t tree_id, int threads);

}  // namespace hedgerow::cart
