// CART with every value a candidate: columns are sorted once, for all trees, and a cut lies halfway
// between two neighbouring values of its node.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cart/cart.hpp"
#include "table/presort.hpp"

namespace hedgerow {

// Columns sorted: two arrays of (n_features, n_rows). A category's rank is its bin.
struct SortedTable {
  const std::uint32_t* order;        // rows by value, equal values by row, missing ones last
  const std::uint32_t* rank;         // of each row's value among the distinct ones, or kMissingRank
  const double* values;              // the distinct values of all numeric columns, ascending …
  const std::int64_t* value_starts;  // … and where each column's begin
  const bool* is_categorical;
  std::size_t n_rows;
  int n_features;
  const CartTable* bins = nullptr;  // if set, ranks are bins of it, and there are no values

  double value(int feature, std::uint32_t rank) const {
    return values[value_starts[feature] + rank];
  }
};

// Sorts one column: writes its order, its ranks by row, and gives its distinct values.
std::vector<double> sort_column(const RawColumn& column, std::size_t n_rows, std::uint32_t* order,
                                std::uint32_t* rank);

// Grows a tree on `rows`, which are in increasing order. The tree does not depend on the threads.
CartTree grow_cart_exact(const SortedTable& table, const CartTarget& target, const CartRules& rules,
                         std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads);

// The same if cuts are random, and impurities are sums: that needs no order of rows (cart.cpp).
CartTree grow_random_cuts(const SortedTable& table, const CartTarget& target,
                          const CartRules& rules, std::span<const std::uint32_t> rows,
                          std::uint64_t tree_id, int threads);

}  // namespace hedgerow
