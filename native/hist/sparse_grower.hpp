// Trees of one output on a sparse table: SparseEngine with a TreeBuilder. The trees are those of
// ScalarGrower, bit for bit; time and memory follow the stored values.
#pragma once
#include <cstdint>
#include <memory>

#include "hist/engine.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "table/sparse_bins.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

class SparseEngine;
class TreeBuilder;

// Grows trees on one table; memory is kept from tree to tree.
class SparseGrower {
 public:
  SparseGrower(const SparseBins& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits = {});
  ~SparseGrower();
  SparseGrower(SparseGrower&&) noexcept;

  // As ScalarGrower::grow.
  GrownTree grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                 std::uint16_t* leaf_of_row);

 private:
  std::unique_ptr<SparseEngine> engine_;
  std::unique_ptr<TreeBuilder> builder_;
};

}  // namespace hedgerow::hist
