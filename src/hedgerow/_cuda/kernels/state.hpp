// What a fit keeps on the device, beside the arrays that `Fit` (layout.py) points to.
//
// A round never needs a number from the device on the host. The trees of a round, one for each
// output, grow side by side, in steps: a step divides the rows of some leaves (partition.cu), adds
// up the histograms of the smaller children (histogram.cu), subtracts them from their parents',
// searches both children for splits, and plans the next step (split.cu, plan.hpp). The work of a
// step is in lists, whose lengths only the device knows. What has to wait for all blocks of a
// kernel is done by the last of them, which saves a launch.
#pragma once
#include <cstddef>
#include <cstdint>

#include "shared/bins.hpp"
#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "shared/split_rule.hpp"

namespace hedgerow::cuda {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kGroupColumns = 32;                   // columns of a group: a row of it is 32 bytes
constexpr int kGroupWords = kBins * kGroupColumns;  // entries of the histograms of a group
constexpr int kQuad = 4;                            // columns that a block of split.cu searches
constexpr int kTileRows = 1024;                     // rows that a block divides at a time
constexpr int kTileThreads = 256;

// A leaf of a growing tree, or one that may become a leaf: its parent is divided, but not yet
// split.
struct Leaf {
  GradientSum sum;
  Split best;
  uint64_t key;           // of its random numbers: a hash of the path to it
  uint32_t begin, count;  // its rows, in the buffer of its depth, modulo 2
  int32_t depth;
  int32_t node;      // in the tree; −1 until its parent is split
  int32_t parent;    // a leaf
  int32_t children;  // the left one; the right one follows. −1 until its rows are divided
  int32_t slot;      // of its histogram
  int32_t is_searched;
};

// A leaf that is divided in a step. The root's has no leaf: it is its own smaller child.
struct Division {
  int32_t tree;
  int32_t leaf;
  int32_t small, large;  // its children by their number of rows; large is −1 for the root
  uint32_t first_tile;   // of its rows, among the tiles of the step
  uint32_t first_chunk;  // of the smaller child's rows, among the chunks of the step
  uint32_t chunk_rows;
  uint32_t n_left, n_right;  // rows that have been written to each side
};

// A part of a leaf's rows, relative to its begin.
struct RowRange {
  uint32_t begin, count;
};

// The divisions, tiles and chunks of a step, or of some of its leaves. Packed into one word, so
// that trees reserve them together: divisions are in the order of their tiles and chunks.
struct Work {
  uint64_t packed;

  static constexpr int kBits = 22;
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  static Work of(uint64_t n_divisions, uint64_t n_tiles, uint64_t n_chunks) {
    return {n_divisions << (2 * kBits) | n_tiles << kBits | n_chunks};
  }
  uint32_t n_divisions() const { return static_cast<uint32_t>(packed >> (2 * kBits)); }
  uint32_t n_tiles() const { return static_cast<uint32_t>(packed >> kBits & kMask); }
  uint32_t n_chunks() const { return static_cast<uint32_t>(packed & kMask); }
};

struct TreeState {
  uint64_t tree_id;
  int32_t n_leaf_ids;  // leaves that exist, split or not
  int32_t n_nodes;
  int32_t n_leaves;    // of the tree
  int32_t n_slots;     // histograms in use
  int32_t n_frontier;  // level-wise: leaves of the last level; leaf-wise: open leaves
  int32_t n_divided;   // leaves
  int32_t ahead;       // leaf-wise: leaves to be divided in the next step
  int32_t is_done;
  int32_t error;
  int32_t first_division, n_divisions;  // of the step
  uint32_t n_arrived;                   // blocks of the step that have searched for splits
};

enum Error : int32_t { kNone, kOverflow, kMiscounted };

// A node of a finished tree.
struct Node {
  double gain, cover;
  int64_t count;
  GradientSum sum;
  uint32_t categories[8];
};

// What sends rows down a tree. A leaf has the feature −1. Read at once, therefore aligned.
struct alignas(16) NodeTest {
  int32_t feature, left, right;
  uint8_t bin, missing_left, categorical, unused;
};

// What changes from round to round.
struct Round {
  uint64_t tree_id;  // of the first tree; raised to that of the next round's
  uint32_t n_rows;   // that trees are grown on
  uint32_t has_bag;
  uint32_t n_arrived;  // blocks that have computed gradients
  uint32_t unused;
};

// The tests of a feature in a symmetric tree, of two kinds: thresholds with missing values on the
// right, then those with missing values on the left; the first categories of an order, then the
// last.
struct LevelTests {
  int32_t count[2];
  int32_t n_order;
  int32_t is_sorted;  // categories: otherwise each is one test
  uint8_t order[kBins];
};

// The gradients of a row in single precision.
struct RawGradient {
  float g, h;
};

}  // namespace hedgerow::cuda

#include "fit.hpp"

namespace hedgerow::cuda {

inline uint64_t atomic_add(uint64_t* to, uint64_t value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(to),
                   static_cast<unsigned long long>(value));
}
inline uint32_t atomic_add(uint32_t* to, uint32_t value) { return atomicAdd(to, value); }

// The arrays of one tree of a round.
struct TreeView {
  const Fit& fit;
  int tree;

  TreeState& state() const { return fit.trees[tree]; }
  const FixedPoint& fixed() const { return fit.fixed[tree]; }
  Leaf* leaves() const { return fit.leaves + size_t(tree) * fit.leaf_capacity; }
  Leaf& leaf(int id) const { return leaves()[id]; }
  Node* nodes() const { return fit.nodes + size_t(tree) * fit.node_capacity; }
  NodeTest* tests() const { return fit.tests + size_t(tree) * fit.node_capacity; }
  double* values() const { return fit.node_value + size_t(tree) * fit.node_capacity; }
  // Lists of leaves: two take turns.
  int32_t* frontier(int which) const {
    return fit.frontier + (2 * size_t(tree) + (which & 1)) * fit.leaf_capacity;
  }
  int32_t* batch() const { return fit.batch + size_t(tree) * fit.leaf_capacity; }
  double* merits() const { return fit.merits + size_t(tree) * fit.leaf_capacity; }
  uint32_t* row_ids(int depth) const {
    return fit.row_ids + (2 * size_t(tree) + (depth & 1)) * fit.n_rows;
  }
  int32_t* row_words(int depth) const {
    return fit.row_words + (2 * size_t(tree) + (depth & 1)) * fit.n_rows;
  }
  const int32_t* packed() const { return fit.packed + size_t(tree) * fit.n_rows; }
  const GradientSum* wide() const { return fit.wide + size_t(tree) * fit.n_rows; }
  // The planes of g and hc of a group's histograms.
  uint64_t* histogram(int slot, int group) const {
    return fit.histograms +
           ((size_t(tree) * fit.n_slots + slot) * fit.n_groups + group) * 2 * kGroupWords;
  }
};

// Where the rows of a leaf come from, and their packed gradients: pointers that loops keep in
// registers.
struct RowSource {
  const uint32_t* ids;    // null: all rows, in order
  const int32_t* words;   // packed gradients in the order of `ids`; null: they are not moved yet
  const int32_t* by_row;  // packed gradients by row; null: rows are not packed

  RowSource(const TreeView& tree, const Leaf& leaf)
      : ids(leaf.depth == 0 ? (tree.fit.round->has_bag ? tree.fit.bag : nullptr)
                            : tree.row_ids(leaf.depth) + leaf.begin),
        words(leaf.depth == 0 ? nullptr : tree.row_words(leaf.depth) + leaf.begin),
        by_row(tree.fixed().packed ? tree.packed() : nullptr) {}

  uint32_t id(uint32_t at) const { return ids ? ids[at] : at; }
  int32_t word(uint32_t at, uint32_t id) const { return words ? words[at] : by_row[id]; }
};

inline const uint8_t* row_of(const Fit& fit, int group, size_t row) {
  return fit.by_row + (size_t(group) * fit.n_rows + row) * kGroupColumns;
}

// The divisions of a step.
struct StepView {
  const Work& work;
  Division* divisions;

  StepView(const Fit& fit, int step)
      : work(fit.work[step & 1]),
        divisions(fit.divisions + size_t(step & 1) * fit.division_capacity) {}

  // The last division that begins at `place` or before, in the order of `first`.
  Division& at(uint32_t place, uint32_t Division::* first) const {
    uint32_t low = 0, high = work.n_divisions();
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (divisions[middle].*first <= place ? low : high) = middle;
    }
    return divisions[low];
  }
};

// Part `index` of a leaf's rows, which are divided into parts of `size`.
inline RowRange part_of(const Leaf& leaf, uint32_t index, uint32_t size) {
  const uint32_t begin = index * size;
  return {begin, leaf.count - begin < size ? leaf.count - begin : size};
}

// Whether this block is the last of `n_blocks` that arrive here, where all of their writes are
// visible. All threads of a block ask together.
inline bool is_last_block(uint32_t* n_arrived, uint32_t n_blocks) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomic_add(n_arrived, 1u) + 1 == n_blocks;
    if (is_last) *n_arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

// The number of a thread among all of the grid.
inline size_t thread_index() { return size_t(blockIdx.x) * blockDim.x + threadIdx.x; }
inline size_t n_threads() { return size_t(gridDim.x) * blockDim.x; }

// Sets the histograms of the step's smaller children to 0. A block takes a group of columns.
inline void clear_histograms(const Fit& fit, const StepView& step) {
  struct alignas(16) Zeros {
    uint64_t words[2];
  };
  const uint32_t n = step.work.n_divisions() * fit.n_groups;
  for (uint32_t i = blockIdx.x; i < n; i += gridDim.x) {
    const Division& division = step.divisions[i / fit.n_groups];
    const TreeView tree{fit, division.tree};
    const int slot = tree.leaf(division.small).slot;
    auto* zeros = reinterpret_cast<Zeros*>(tree.histogram(slot, i % fit.n_groups));
    for (int at = threadIdx.x; at < kGroupWords; at += blockDim.x) zeros[at] = {{0, 0}};
  }
}

}  // namespace hedgerow::cuda
