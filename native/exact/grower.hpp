// Exact greedy growth: every boundary between neighbouring values of a node is a candidate, as in
// the lectures' Algorithm 1. Columns are sorted once; each tree then keeps, for every feature, the
// rows of each node sorted by value, so that a scan reads memory in order and a split is a stable
// partition. Rules, ties and the order of splits are those of tests/oracles/grow.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shared/growth_params.hpp"
#include "table/presort.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::exact {

// Sorted columns: two arrays of shape (n_features, n_rows).
struct PresortedTable {
  const std::uint32_t* rows;
  const std::uint32_t* ranks;
  const bool* is_categorical;
  std::span<const RawColumn> columns;  // before sorting
  std::size_t n_rows;
  int n_features;
};

// How a tree is grown; tree_id is the key of its random numbers.
struct TreePlan {
  const GrowthParams& params;
  const Constraints& constraints;
  std::uint64_t tree_id;
  std::span<const std::int32_t> features;  // that it may use
};

// The arrays of a Tree.
struct ExactTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> missing_left;
  std::vector<std::uint32_t> category_bits;  // eight words per set
  std::vector<double> threshold, value, gain, cover;
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> leaf_of_row;  // −1 for rows outside the bag
};

// Working memory, kept from tree to tree.
struct Workspace;

// Grows trees on one table.
class ExactGrower {
 public:
  explicit ExactGrower(const PresortedTable& table);
  ~ExactGrower();

  // g and h have an entry for each row; `bag` lists rows in increasing order, or is empty for all.
  ExactTree grow(const double* g, const double* h, std::span<const std::uint32_t> bag,
                 const TreePlan& plan, int threads);

 private:
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace hedgerow::exact
