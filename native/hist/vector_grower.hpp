// Growing one tree for all outputs: its splits gain for all of them together, and its leaves hold a
// value for each.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "gradient/vector_store.hpp"
#include "hist/scalar_grower.hpp"

namespace hedgerow {

// Grows trees on one table; memory is kept from tree to tree.
class VectorGrower {
 public:
  VectorGrower(const BinnedView& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits = {});
  ~VectorGrower();

  // As Grower's. The tree has a value for each node and output, and the mean over the outputs of
  // Σh for a node's cover.
  GrownTree grow(const VectorGradients& gradients, std::span<const std::uint32_t> bag,
                 std::uint64_t tree_id, std::uint16_t* leaf_of_row);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hedgerow
