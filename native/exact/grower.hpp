// The exact greedy splitter: every boundary between neighbouring values of a node is tried, as in
// the lectures' Algorithm 1. Columns are sorted once; each tree then keeps, for every feature, the
// rows of each node in the order of their values, so that a scan reads memory in order and a split
// is a stable partition. Rules, ties and the order of splits are those of tests/oracles/grow.py.
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

// All columns sorted: two arrays of (n_features, n_rows).
struct PresortedTable {
  const std::uint32_t* rows;
  const std::uint32_t* ranks;
  const bool* is_categorical;
  std::span<const RawColumn> columns;  // as they were before
  std::size_t n_rows;
  int n_features;
};

// What grows: which tree it is, by whose number its columns are drawn, and how.
struct TreePlan {
  const GrowthParams& params;
  const Constraints& constraints;
  std::uint64_t tree_id;
  std::span<const std::int32_t> features;  // those that it may use
};

// The arrays of a Tree.
struct ExactTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> missing_left;
  std::vector<std::uint32_t> category_bits;  // eight words a set
  std::vector<double> threshold, value, gain, cover;
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> leaf_of_row;  // −1 for rows that are not in the bag
};

// The memory that growing needs, kept from tree to tree.
struct Workspace;

// Grows trees on one table.
class ExactGrower {
 public:
  explicit ExactGrower(const PresortedTable& table);
  ~ExactGrower();

  // g and h are of all rows; an empty bag is all rows, otherwise it lists distinct ones, ascending.
  ExactTree grow(const double* g, const double* h, std::span<const std::uint32_t> bag,
                 const TreePlan& plan, int threads);

 private:
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace hedgerow::exact
