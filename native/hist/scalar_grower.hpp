// Trees of one output: ScalarEngine, or LaneEngine where that is faster, with a TreeBuilder.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "hist/engine.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

class TreeBuilder;

// Grows trees on one table; memory is kept from tree to tree.
class ScalarGrower {
 public:
  ScalarGrower(const BinnedView& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits = {});
  ~ScalarGrower();
  ScalarGrower(ScalarGrower&&) noexcept;

  // Grows a tree on the rows of a bag. tree_id is the key of the
  // tree's random numbers. leaf_of_row[i] becomes the leaf number of row i, for every row of the
  // table.
  GrownTree grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                 std::uint16_t* leaf_of_row);
  // Whether the engine is LaneEngine.
  bool has_lanes() const { return has_lanes_; }

 private:
  std::unique_ptr<ScalarLeafEngine> engine_;
  std::unique_ptr<TreeBuilder> builder_;
  bool has_lanes_;
};

}  // namespace hedgerow::hist
