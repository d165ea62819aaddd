// The interface between the two halves of growing a tree.
//
// TreeBuilder (hist/tree_builder.hpp) decides which leaf is split next, how nodes are numbered,
// which features they may use and when to stop. A GrowthEngine owns the rows and their sums: it
// builds histograms, finds the best split of a leaf and divides its rows. Neither knows how the
// other works, so an engine that is distributed over machines follows the same rules without a copy
// of them. (Whole trees grow on a GPU, where the rules of shared/growth_order.hpp are compiled
// again.)
//
// What happens in which half:
//   - leaf-wise or level-wise growth is the order of TreeBuilder's heap, unknown to engines;
//   - a symmetric tree has no heap: its leaves are searched and divided a level at a time;
//   - evaluating ahead: TreeBuilder passes the children of the next `leaves_ahead` open leaves to
//     one call of `divide`, before it is certain that their parents will be split, and commits
//     splits in heap order. An evaluation depends on its leaf alone, so the tree is the same for
//     any number. The engines process the leaves of a call together, which keeps many threads busy
//     in small leaves.
//
// A new engine implements GrowthEngine and is passed to TreeBuilder::grow, as in ScalarGrower
// (hist/scalar_grower.cpp, trees of one output) and VectorGrower (hist/vector_grower.cpp, trees of
// all outputs).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hist/split.hpp"
#include "shared/growth_order.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::hist {

// A tree grown on bins, as flat arrays: docs/architecture.md describes them.
struct GrownTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> split_bin, missing_left;
  std::vector<double> value, gain, cover;  // a node may have several values, side by side
  std::vector<std::int64_t> count;
  std::vector<std::uint32_t> category_bits;  // eight words a set
  std::vector<std::int32_t> leaf_node;       // by leaf number, as `leaf_of_row` counts leaves

  int n_nodes() const { return static_cast<int>(feature.size()); }
};

// The rows that a tree is grown on, in increasing order; none: all rows.
using Bag = std::optional<std::span<const std::uint32_t>>;

// The features that a node may be split on.
struct AllowedFeatures {
  std::vector<bool> flags;  // empty: all

  bool operator[](std::size_t feature) const { return flags.empty() || flags[feature]; }
};

// A leaf that an engine has created.
struct NewLeaf {
  int id = -1;  // in the engine's numbering; nodes are numbered by the builder
  std::size_t count = 0;
  double cover = 0.0;     // Σh; for several outputs their mean
  bool is_heavy = false;  // whether min_child_weight permits a split
};

// The sums of a leaf's gradients and hessians for one output.
struct LeafSums {
  double G, H;
};

// The search for a leaf's best split.
struct LeafSearch {
  int leaf = -1;
  AllowedFeatures allowed = {};
  LimitedLeaf limited = {};  // if the values of the children have limits
  Split best = {};           // the result; not found() if no split gains
};

// A leaf whose rows are to be divided, and the searches of its children.
struct Division {
  int leaf = -1;
  Split split = {};
  std::array<LeafSearch, 2> children = {};  // left, right
  std::array<bool, 2> is_searched = {};     // false: the child stays a leaf
};

// The search for the test that the leaves of a level share.
struct LevelSearch {
  std::vector<int> leaves = {};  // each large enough to be split
  AllowedFeatures allowed = {};
  Split test = {};                 // the result, with the gain of all leaves together
  std::vector<Split> splits = {};  // the test in each leaf; not found() if a side is too small
};

class GrowthEngine {
 public:
  virtual ~GrowthEngine() = default;

  // The number of values of a leaf.
  virtual int n_values() const = 0;
  // Whether searches respect `limited`, so that values are monotone at every step of growth.
  virtual bool has_limits() const = 0;

  // Sets the features that the following trees may use.
  virtual void set_features(const std::vector<int>& features) = 0;
  // Starts a tree on the rows of a bag and creates its root.
  virtual NewLeaf plant_root(const Bag& bag) = 0;
  // Finds the best split of a leaf.
  virtual void search(LeafSearch& search) = 0;
  // Creates the children of a leaf; their description follows from sums, before rows are divided.
  virtual std::array<NewLeaf, 2> make_children(int leaf, const Split& split) = 0;
  // Divides the rows of leaves whose children exist, and searches the children. Called with several
  // leaves if the builder evaluates ahead; no result may depend on that.
  virtual void divide(std::span<Division> divisions) = 0;
  // The same for a symmetric tree, whose leaves are not searched one by one: divides rows, and
  // provides what the search of the level needs of the children that are marked as searched.
  virtual void divide_level(std::span<Division> divisions);
  // Finds the test with the largest gain over the leaves of a level. The first call for a tree
  // has the root.
  virtual void search_level(LevelSearch& search);
  // Releases the memory of a leaf that will not be split.
  virtual void close(int leaf) = 0;
  virtual LeafSums sums(int leaf, int output) const = 0;
  // Ends a tree: writes the leaf number of every row of the table, in the bag or not. `leaves` are
  // the ids of the leaves in the order of their numbers.
  virtual void number_rows(const GrownTree& tree, std::span<const int> leaves,
                           std::uint16_t* leaf_of_row) = 0;
};

// An engine for trees of one output.
class ScalarLeafEngine : public GrowthEngine {
 public:
  // Sets the gradients of the next tree.
  virtual void set_gradients(const Gradients& gradients) = 0;
};

// Resource limits of an engine; no tree depends on them.
struct EngineLimits {
  // Memory for histograms; beyond it the smallest open leaf loses its histogram, and those of its
  // children are built from their rows.
  std::size_t histogram_bytes = std::size_t{512} << 20;
  // Number of open leaves, next in line first, whose children are evaluated in one call.
  int leaves_ahead = 1;
};

// The number of leaves ahead that suits a number of threads.
int leaves_ahead_for(const GrowthParams& params, int threads);

}  // namespace hedgerow::hist
