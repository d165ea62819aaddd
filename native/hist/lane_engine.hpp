// The engine for trees of one output on small tables of many features, of which most values are in
// the commonest bin of their column or have few bins (hist/lane_table.hpp). The trees are those of
// ScalarEngine, bit for bit.
#pragma once
#include <memory>

#include "hist/engine.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

// None if the table or the parameters need another engine.
std::unique_ptr<ScalarLeafEngine> make_lane_engine(const BinnedView& bins,
                                                   const GrowthParams& params,
                                                   const Constraints& constraints, int threads,
                                                   const EngineLimits& limits);

}  // namespace hedgerow::hist
