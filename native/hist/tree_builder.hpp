// The half of growing a tree that does not depend on where rows and histograms are: which leaf is
// split next, how nodes are numbered, which features a node may use, leaf values, and when to stop.
//
// In a symmetric tree all leaves of a level share one test, the one by which they gain most
// together. A leaf that it cannot divide, because a side would be too small, goes on to the next
// level as it is.
//
// Otherwise leaves are split one after another in the order of a heap: by gain (leaf-wise) or by
// depth (level-wise). The children of the next few can be evaluated together, before it is certain
// that their parents will be split, and even children of such children; splits are still committed
// in heap order, so the tree is the same.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hist/engine.hpp"
#include "shared/growth_params.hpp"
#include "tree/allowed_features.hpp"
#include "tree/constraints.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::hist {

class TreeBuilder {
 public:
  // `n_bins` of each feature must outlive the builder.
  TreeBuilder(const GrowthParams& params, const Constraints& constraints,
              std::span<const std::int32_t> n_bins, int leaves_ahead);

  // Grows a tree with an engine, always the same one, whose gradients have been set.
  GrownTree grow(GrowthEngine& engine, const Bag& bag, std::uint64_t tree_id,
                 std::uint16_t* leaf_of_row);

 private:
  struct TreeLeaf : NewLeaf {
    int node = -1;  // in the tree; −1 until its parent is split
    int depth = 0;
    std::uint64_t key = 0;  // of its random numbers: a hash of the path to it
    int children = -1;      // index into children_, once they are evaluated
    Split best = {};
  };
  using Children = std::array<TreeLeaf, 2>;

  // Rules.
  int n_features() const { return static_cast<int>(n_bins_.size()); }
  int n_leaves() const { return static_cast<int>(open_.size() + closed_.size()); }
  bool is_full() const { return n_leaves() >= max_leaves_; }
  bool may_split(const TreeLeaf& leaf) const;
  bool is_after(const TreeLeaf& a, const TreeLeaf& b) const;
  std::vector<int> features_above(int node) const;
  AllowedFeatures allowed_at(const NodePath& path) const;
  bool has_limits() const {
    return constraints_.are_monotone() && engine_->has_limits() && !params_.is_symmetric();
  }

  // Steps.
  void begin(std::uint64_t tree_id);
  TreeLeaf plant_root(const Bag& bag);
  void grow_leaves(TreeLeaf root);
  TreeLeaf next();
  void split(TreeLeaf leaf);
  void make_children(TreeLeaf& leaf);
  void commit(const TreeLeaf& leaf);
  void evaluate_children(TreeLeaf& leaf);
  Division division(const TreeLeaf& leaf, bool has_room) const;
  LeafSearch search_of(const TreeLeaf& leaf, const std::vector<int>& tested) const;
  void enqueue_or_close(const TreeLeaf& leaf);
  void rescan_bounded_leaves(const Children& children);
  void grow_levels(const TreeLeaf& root);
  std::vector<TreeLeaf> divide_level(std::vector<TreeLeaf>& level, const LevelSearch& search,
                                     bool is_last);
  void prune_tree();
  void finish(std::uint16_t* leaf_of_row);

  // Nodes and values.
  double weight(const TreeLeaf& leaf, int output = 0) const;
  int add_node(const TreeLeaf& leaf, int parent);
  void record_split(const TreeLeaf& leaf, const Children& children);
  void limit_children(const TreeLeaf& leaf, const Children& children);
  void choose_values();
  void apply_common_step();

  GrowthParams params_;
  Constraints constraints_;
  std::span<const std::int32_t> n_bins_;
  int max_leaves_;
  int leaves_ahead_;
  std::vector<int> features_;  // of the tree
  AllowedFeatures in_tree_;    // the same as flags

  // State of the tree being grown.
  GrowthEngine* engine_ = nullptr;
  std::uint64_t tree_id_ = 0;
  GrownTree tree_;
  std::vector<int> parent_of_;    // of each node; −1 for the root
  std::vector<int> id_of_;        // of each node, in the engine's numbering
  std::vector<TreeLeaf> open_;    // a heap: the next leaf to split comes first
  std::vector<TreeLeaf> closed_;  // leaves that stay leaves
  std::vector<Children> children_;
  MonotoneLeaves monotone_;  // used if values have limits
};

}  // namespace hedgerow::hist
