// Growing one tree: evaluate the root, then take the most promising leaf, part its rows, evaluate
// its children, until no leaf gains or a limit is reached.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hist/histogram.hpp"
#include "hist/partition.hpp"
#include "hist/split.hpp"
#include "shared/fixed_point.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow {

inline constexpr int kMostLeaves = 65535;  // leaf numbers of rows are 16 bits wide

// What an engine may spend; no tree depends on it.
struct EngineLimits {
  // Memory that histograms may take; beyond it the smallest open leaf gives its own up, and its
  // children are built from their rows.
  std::size_t histogram_bytes = std::size_t{512} << 20;
};

// A tree as flat arrays, as docs/architecture.md describes them.
struct GrownTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> split_bin, missing_left;
  std::vector<double> value, gain, cover;
  std::vector<std::int64_t> count;
  std::vector<std::uint32_t> category_bits;  // eight words a set
  std::vector<std::int32_t> leaf_node;       // by leaf number, as `leaf_of_row` counts leaves

  int n_nodes() const { return static_cast<int>(feature.size()); }
};

// Grows trees on one table; memory is kept from tree to tree.
class Grower {
 public:
  Grower(const BinnedView& bins, const GrowthParams& params, const Constraints& constraints,
         int threads, const EngineLimits& limits = {});
  ~Grower();

  // Grows a tree on the rows in `bag` (increasing; empty: on all rows). tree_id tells apart the
  // random draws of different trees. leaf_of_row[i] becomes the leaf of row i, for every row of the
  // table.
  GrownTree grow(const Gradients& gradients, std::span<const std::uint32_t> bag,
                 std::uint64_t tree_id, std::uint16_t* leaf_of_row);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The features that a tree may use: a share of those given, in increasing order as they are.
std::vector<int> sample_tree_features(const std::vector<int>& features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id);

}  // namespace hedgerow
