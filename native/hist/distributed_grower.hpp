// Trees of one output on a table whose rows are divided among workers.
//
// Every worker has some of the rows and runs the same builder; each is responsible for some of the
// columns. To evaluate leaves, each worker adds up its own rows, sends every other worker the sums
// of that worker's columns (`exchange`), adds what it receives, and searches its columns; then all
// learn of the best split of every worker (`gather`). All sums are integers, so the trees are those
// of one worker with all rows, bit for bit. Only the smaller of two children is exchanged: the
// histogram of the larger one is the difference from the parent's, of which each worker keeps its
// columns.
#pragma once
#include <cstdint>
#include <memory>

#include "core/communicator.hpp"
#include "hist/engine.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

class DistributedEngine;
class TreeBuilder;

// Grows trees on the rows of all workers. Its methods are collective.
class DistributedGrower {
 public:
  // `bins` has the rows of this worker; a worker may have none. All other arguments are the same on
  // every worker, but for the number of threads.
  DistributedGrower(const BinnedView& bins, const GrowthParams& params,
                    const Constraints& constraints, int threads, const EngineLimits& limits,
                    Communicator& communicator);
  ~DistributedGrower();
  DistributedGrower(DistributedGrower&&) noexcept;

  // Grows a tree on the rows of a bag, which has those of this worker. leaf_of_row[i] becomes the
  // leaf number of row i of this worker.
  GrownTree grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                 std::uint16_t* leaf_of_row);

 private:
  std::unique_ptr<DistributedEngine> engine_;
  std::unique_ptr<TreeBuilder> builder_;
};

}  // namespace hedgerow::hist
