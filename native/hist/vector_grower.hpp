// Trees of all outputs: a split is chosen by its gain summed over the outputs, and a leaf has a
// value for each. VectorEngine with a TreeBuilder.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "gradient/vector_store.hpp"
#include "hist/engine.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

class VectorEngine;
class TreeBuilder;

// Grows trees on one table; memory is kept from tree to tree.
class VectorGrower {
 public:
  VectorGrower(const BinnedView& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits = {});
  ~VectorGrower();
  VectorGrower(VectorGrower&&) noexcept;

  // As ScalarGrower::grow. The tree has a value for each node and output; the cover of a node is
  // the mean of Σh over the outputs.
  GrownTree grow(const VectorGradients& gradients, const Bag& bag, std::uint64_t tree_id,
                 std::uint16_t* leaf_of_row);

 private:
  std::unique_ptr<VectorEngine> engine_;
  std::unique_ptr<TreeBuilder> builder_;
};

}  // namespace hedgerow::hist
