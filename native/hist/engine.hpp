// The seam between the two halves of growing a tree.
//
// TreeBuilder (hist/tree_builder.hpp) decides which leaf is split next, which number its children
// get, which features they may use and when to stop. A GrowthEngine has the rows and their sums: it
// builds histograms, finds the best split of a leaf and divides its rows. Neither knows how the
// other does it, so an engine on another device, or on several machines, obeys the same rules.
//
// The engines here are those of hist/scalar_grower.cpp (trees of one output) and
// hist/vector_grower.cpp (trees of all outputs).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hist/grown_tree.hpp"
#include "hist/split.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::hist {

// The features that a node may be split on.
struct AllowedFeatures {
  std::vector<bool> flags;  // empty: all

  bool operator[](std::size_t feature) const { return flags.empty() || flags[feature]; }
};

// A leaf when its engine has made it.
struct NewLeaf {
  int id = -1;  // the engine's number of it; the tree's is the builder's
  std::size_t count = 0;
  double cover = 0.0;     // Σh; the mean of the outputs'
  bool is_heavy = false;  // by min_child_weight it could be split
};

// The sums of a leaf's gradients and hessians, of one output.
struct LeafSums {
  double G, H;
};

// The search for a leaf's best split.
struct LeafSearch {
  int leaf = -1;
  AllowedFeatures allowed = {};
  LimitedLeaf limited = {};  // of a leaf whose children's values have limits
  Split best = {};           // what the engine finds; none, if there is no split worth making
};

// A leaf whose rows are divided by its split, and the searches of its children.
struct Division {
  int leaf = -1;
  Split split = {};
  std::array<LeafSearch, 2> children = {};  // left, right
  std::array<bool, 2> is_searched = {};     // or the child will stay a leaf
};

class GrowthEngine {
 public:
  virtual ~GrowthEngine() = default;

  // Values that a leaf has.
  virtual int n_values() const = 0;
  // Whether searches heed `limited`, so that the values of a monotone tree are ordered throughout.
  virtual bool has_limits() const = 0;

  // The features of the trees that follow.
  virtual void set_features(const std::vector<int>& features) = 0;
  // Begins a tree on some rows (increasing; none: all of them), and makes its root.
  virtual NewLeaf plant_root(std::span<const std::uint32_t> bag) = 0;
  // Finds the best split of a leaf.
  virtual void search(LeafSearch& search) = 0;
  // Makes the children that a split would give a leaf; what is said of them follows from sums.
  virtual std::array<NewLeaf, 2> make_children(int leaf, const Split& split) = 0;
  // Divides the rows of leaves whose children are made, and searches the children. Several leaves
  // come together if the builder evaluates ahead; no result depends on that.
  virtual void divide(std::span<Division> divisions) = 0;
  // A leaf that will not be split.
  virtual void close(int leaf) = 0;
  virtual LeafSums sums(int leaf, int output) const = 0;
  // Ends a tree: writes the leaf of every row of the table, in the bag or not. `leaves` are the
  // engine's numbers in the order in which leaves are counted.
  virtual void number_rows(const GrownTree& tree, std::span<const int> leaves,
                           std::uint16_t* leaf_of_row) = 0;
};

// What an engine may spend; no tree depends on it.
struct EngineLimits {
  // Memory that histograms may take; beyond it the smallest open leaf gives its own up, and its
  // children are built from their rows.
  std::size_t histogram_bytes = std::size_t{512} << 20;
  // Open leaves whose children are evaluated together, the next to be split first.
  int leaves_ahead = 1;
};

}  // namespace hedgerow::hist
