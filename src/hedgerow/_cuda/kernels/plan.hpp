// Which leaves are split, how nodes are numbered, and what the next step does. Mirrors
// native/hist/tree_builder.cpp, by the rules of shared/growth_order.hpp. A block plans a tree.
//
// Level-wise, all leaves of a level are split, as far as max_leaves permits, before their children
// are searched. Leaf-wise, the rows of several leaves are divided and their children searched,
// before it is certain that they will be split; splits are committed in order, as far as children
// are known, so the tree is the same.
#pragma once
#include "shared/growth_order.hpp"
#include "shared/random.hpp"
#include "warp.hpp"

namespace hedgerow::cuda {

constexpr int kPlanThreads = 256;
constexpr int kPlanWarps = kPlanThreads / kWarp;
// Rows that a block adds up in the time in which one block adds its sums to a histogram, where
// blocks wait for one another.
constexpr uint64_t kRowsOfFlush = 72;
constexpr uint32_t kChunksOfBlock = 4;  // so that blocks get nearly the same number of rows

// The running sum of a number of each thread, without its own, and the sum of all.
struct BlockScan {
  uint64_t before, total;
};

__noinline__ BlockScan scan_block(uint64_t own, uint64_t* room) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint64_t sum = own;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint64_t before = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += before;
  }
  __syncthreads();  // room may still be read
  if (lane == kWarp - 1) room[warp] = sum;
  __syncthreads();
  uint64_t before = 0, total = 0;
  for (int i = 0; i < kPlanWarps; ++i) {
    if (i == warp) before = total;
    total += room[i];
  }
  return {before + sum - own, total};
}

// ---- Nodes --------------------------------------------------------------------------------------

__noinline__ void add_node(const TreeView& tree, const Leaf& leaf) {
  const FixedPoint& fixed = tree.fixed();
  const GrowthParams& params = tree.fit.params;
  tree.tests()[leaf.node] = {-1, -1, -1, 0, 0, 0, 0};
  tree.values()[leaf.node] =
      params.learning_rate * params.weight(fixed.g(leaf.sum), fixed.h(leaf.sum));
  Node& node = tree.nodes()[leaf.node];
  node.gain = 0.0;
  node.cover = fixed.h(leaf.sum);
  node.count = leaf.count;
  node.sum = leaf.sum;
  for (uint32_t& word : node.categories) word = 0;
}

// Makes a leaf a node of the tree.
inline void number_leaf(const TreeView& tree, Leaf& leaf, int node) {
  leaf.node = node;
  add_node(tree, leaf);
}

// Turns the node of a leaf into an inner one, whose children are the nodes `left` and left + 1.
inline void add_test(const TreeView& tree, const Leaf& leaf, int left) {
  const Split& split = leaf.best;
  tree.tests()[leaf.node] = {split.feature,
                             left,
                             left + 1,
                             split.categorical ? uint8_t{0} : split.bin,
                             split.missing_left,
                             split.categorical,
                             0};
  Node& node = tree.nodes()[leaf.node];
  node.gain = split.gain;
  for (int i = 0; i < 8; ++i) node.categories[i] = split.categories[i];
}

// ---- Leaves -------------------------------------------------------------------------------------

__noinline__ bool may_split(const TreeView& tree, const Leaf& leaf) {
  const GrowthParams& params = tree.fit.params;
  const ChildMinimum minimum(params, tree.fixed());
  return minimum.fits_twice(tree.fixed(), leaf.sum) && params.may_split(leaf.count, leaf.depth);
}

// Creates a child of a leaf: the children have the ids `left` and left + 1.
inline void make_child(const TreeView& tree, int id, int left, int side, bool has_room) {
  Leaf& leaf = tree.leaf(id);
  if (side == 0) leaf.children = left;
  const auto n_left = static_cast<uint32_t>(tree.fixed().count(leaf.best.left));
  Leaf& child = tree.leaf(left + side);
  child.sum = side == 0 ? leaf.best.left : leaf.sum - leaf.best.left;
  child.best = Split{};
  child.key = child_key(leaf.key, side == 1);
  child.begin = leaf.begin + (side == 0 ? 0 : n_left);
  child.count = side == 0 ? n_left : leaf.count - n_left;
  child.depth = leaf.depth + 1;
  child.node = child.children = child.slot = -1;
  child.parent = id;
  child.is_searched = has_room && may_split(tree, child);
}

inline LeafRank rank_of(const Leaf& leaf) {
  return {leaf.best.weighted_gain(), leaf.depth, leaf.node};
}

// ---- The work of the next step ------------------------------------------------------------------

inline uint64_t parts_of(uint64_t rows, uint64_t size) { return (rows + size - 1) / size; }

// The children of a leaf, the smaller first; the left one if they are equal.
struct Pair {
  int small, large;
};
inline Pair by_size(const TreeView& tree, const Leaf& leaf) {
  const int left = leaf.children, right = left + 1;
  return tree.leaf(left).count <= tree.leaf(right).count ? Pair{left, right} : Pair{right, left};
}

inline bool needs_work(const TreeView& tree, const Leaf& leaf) {
  return tree.leaf(leaf.children).is_searched || tree.leaf(leaf.children + 1).is_searched;
}

// Rows of a chunk. B blocks add up R rows in the time R / B + B · kRowsOfFlush: B should be the
// root of R / kRowsOfFlush, if the device has so many.
inline uint32_t chunk_rows(const Fit& fit, uint64_t rows_of_tree) {
  const uint64_t rows = rows_of_tree * fit.n_outputs;
  const uint64_t best = static_cast<uint64_t>(sqrt(static_cast<double>(rows * kRowsOfFlush)));
  const uint64_t least = parts_of(rows, fit.histogram_blocks);
  return static_cast<uint32_t>(parts_of(best > least ? best : least, kChunksOfBlock) + 1);
}

// Schedules the leaves of tree.batch(), whose children have been made.
inline void schedule(const TreeView& tree, int n_leaves, int step, uint64_t* room) {
  const Fit& fit = tree.fit;
  TreeState& state = tree.state();
  __shared__ Work first;
  uint64_t rows = 0;
  for (int i = threadIdx.x; i < n_leaves; i += kPlanThreads) {
    const Leaf& leaf = tree.leaf(tree.batch()[i]);
    if (needs_work(tree, leaf)) rows += tree.leaf(by_size(tree, leaf).small).count;
  }
  const uint32_t of_chunk = chunk_rows(fit, scan_block(rows, room).total);
  const auto work_of = [&](int i) -> Work {
    if (i >= n_leaves) return {0};
    const Leaf& leaf = tree.leaf(tree.batch()[i]);
    if (!needs_work(tree, leaf)) return {0};
    const uint64_t n_chunks = parts_of(tree.leaf(by_size(tree, leaf).small).count, of_chunk);
    return Work::of(1, parts_of(leaf.count, kTileRows), n_chunks);
  };
  uint64_t all = 0;
  for (int i = threadIdx.x; i < n_leaves; i += kPlanThreads) all += work_of(i).packed;
  all = scan_block(all, room).total;
  if (threadIdx.x == 0) {
    first = {atomic_add(&fit.work[(step + 1) & 1].packed, all)};
    state.first_division = first.n_divisions();
    state.n_divisions = Work{all}.n_divisions();
  }
  __syncthreads();
  Division* divisions = fit.divisions + size_t((step + 1) & 1) * fit.division_capacity;
  uint64_t done = 0;
  for (int begin = 0; begin < n_leaves; begin += kPlanThreads) {
    const Work own = work_of(begin + static_cast<int>(threadIdx.x));
    const BlockScan scan = scan_block(own.packed, room);
    const Work before = {done + scan.before}, at = {first.packed + before.packed};
    done += scan.total;
    if (!own.packed) continue;
    const int id = tree.batch()[begin + threadIdx.x];
    const Leaf& leaf = tree.leaf(id);
    const Pair pair = by_size(tree, leaf);
    tree.leaf(pair.small).slot = state.n_slots + static_cast<int>(before.n_divisions());
    tree.leaf(pair.large).slot = leaf.slot;
    divisions[at.n_divisions()] = {tree.tree,     id,       pair.small, pair.large, at.n_tiles(),
                                   at.n_chunks(), of_chunk, 0,          0};
  }
  __syncthreads();
  if (threadIdx.x == 0) state.n_slots += state.n_divisions;
}

// ---- The results of this step -------------------------------------------------------------------

// Sets the best splits of the step's children, from those of all quads of columns. Some lanes of a
// warp take a child.
inline void collect_splits(const TreeView& tree, const StepView& step) {
  const Fit& fit = tree.fit;
  const TreeState& state = tree.state();
  int n_lanes = 1;
  while (n_lanes < kWarp && 4 * n_lanes < fit.n_quads) n_lanes *= 2;
  const int lane = threadIdx.x % n_lanes, at_once = kPlanThreads / n_lanes;
  for (int begin = 0; begin < 2 * state.n_divisions; begin += at_once) {
    const int i = begin + static_cast<int>(threadIdx.x) / n_lanes;
    const int index = state.first_division + i / 2, side = i % 2;
    int id = -1;
    if (i < 2 * state.n_divisions) {
      id = side == 0 ? step.divisions[index].small : step.divisions[index].large;
    }
    const Split* candidates = fit.candidates + (size_t(index) * 2 + side) * fit.n_quads;
    LaneBest best = {0.0, -1};
    for (int quad = lane; id >= 0 && quad < fit.n_quads; quad += n_lanes) {
      const Split& split = candidates[quad];
      if (!split.found()) continue;
      const double gain = split.weighted_gain();
      if (best.place < 0 || gain > best.gain) best = {gain, split.feature};
    }
    best = best_lane(best, n_lanes);
    if (id >= 0 && lane == 0 && best.place >= 0) {
      tree.leaf(id).best = candidates[best.place / kQuad];
    }
  }
}

// Whether rows were divided as the histograms say.
inline void check_counts(const TreeView& tree, const StepView& step) {
  TreeState& state = tree.state();
  for (int i = threadIdx.x; i < state.n_divisions; i += kPlanThreads) {
    const Division& division = step.divisions[state.first_division + i];
    if (division.leaf < 0) continue;
    const Leaf& leaf = tree.leaf(division.leaf);
    const uint32_t n_left = tree.leaf(leaf.children).count;
    if (division.n_left != n_left || division.n_right != leaf.count - n_left) {
      state.error = kMiscounted;
    }
  }
}

// ---- Level-wise ---------------------------------------------------------------------------------

// Splits the leaves of the last level that have a split, in the order of their nodes.
inline void plan_level(const TreeView& tree, int step, uint64_t* room) {
  const Fit& fit = tree.fit;
  TreeState& state = tree.state();
  const int32_t* level = tree.frontier(step);
  int32_t* next_level = tree.frontier(step + 1);
  const auto has_split = [&](int i) {
    return i < state.n_frontier && tree.leaf(level[i]).best.found();
  };
  uint64_t found = 0;
  for (int i = threadIdx.x; i < state.n_frontier; i += kPlanThreads) found += has_split(i);
  const auto n_found = static_cast<int>(scan_block(found, room).total);
  const int most = most_leaves(fit.params), n_left = most - state.n_leaves;
  const int n_split = n_found < n_left ? n_found : n_left;
  const bool has_room = state.n_leaves + n_split < most;
  int done = 0;
  for (int begin = 0; begin < state.n_frontier && done < n_split; begin += kPlanThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    const bool is_found = has_split(i);
    const BlockScan scan = scan_block(is_found, room);
    const int rank = done + static_cast<int>(scan.before);
    done += static_cast<int>(scan.total);
    if (!is_found || rank >= n_split) continue;
    tree.batch()[rank] = level[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * n_split; i += kPlanThreads) {  // a thread makes a child
    const int id = tree.batch()[i / 2], side = i % 2, left = state.n_leaf_ids + i - side;
    make_child(tree, id, left, side, has_room);
    number_leaf(tree, tree.leaf(left + side), state.n_nodes + i);
    if (side == 0) add_test(tree, tree.leaf(id), state.n_nodes + i);
    next_level[i] = left + side;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    state.n_leaf_ids += 2 * n_split;
    state.n_nodes += 2 * n_split;
    state.n_leaves += n_split;
    state.n_frontier = 2 * n_split;
  }
  __syncthreads();
  schedule(tree, n_split, step, room);
  __syncthreads();
  if (threadIdx.x == 0) state.is_done = state.n_divisions == 0;
}

// ---- Leaf-wise ----------------------------------------------------------------------------------

// The place of the open leaf that is split next. One warp.
inline int next_open(const TreeView& tree, const int32_t* open, int n_open) {
  int best = -1;
  LeafRank best_rank = {};
  const auto takes = [&](int place, const LeafRank& rank) {
    if (place < 0 || (best >= 0 && !is_after(tree.fit.params, best_rank, rank))) return;
    best = place;
    best_rank = rank;
  };
  for (int i = threadIdx.x % kWarp; i < n_open; i += kWarp) takes(i, rank_of(tree.leaf(open[i])));
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const int place = __shfl_xor_sync(kAllLanes, best, distance);
    const LeafRank rank = {__shfl_xor_sync(kAllLanes, best_rank.weighted_gain, distance),
                           __shfl_xor_sync(kAllLanes, best_rank.depth, distance),
                           __shfl_xor_sync(kAllLanes, best_rank.node, distance)};
    takes(place, rank);
  }
  return best;
}

// Splits leaves in order, as far as their children are known. Returns the leaf that is split next,
// −1 if the tree is finished. One warp.
inline int commit_splits(const TreeView& tree, int32_t* open) {
  TreeState& state = tree.state();
  const int most = most_leaves(tree.fit.params), lane = threadIdx.x % kWarp;
  int n_open = state.n_frontier, n_leaves = state.n_leaves, n_nodes = state.n_nodes, next = -1;
  while (n_open > 0 && n_leaves < most) {
    const int place = next_open(tree, open, n_open), id = open[place];
    const Leaf& leaf = tree.leaf(id);
    if (leaf.children < 0) {
      next = id;
      break;
    }
    __syncwarp();
    if (lane < 2) number_leaf(tree, tree.leaf(leaf.children + lane), n_nodes + lane);
    if (lane == 0) {
      add_test(tree, leaf, n_nodes);
      open[place] = open[n_open - 1];
    }
    --n_open;
    for (int side = 0; side < 2; ++side) {
      if (!tree.leaf(leaf.children + side).best.found()) continue;
      if (lane == 0) open[n_open] = leaf.children + side;
      ++n_open;
    }
    ++n_leaves;
    n_nodes += 2;
    __syncwarp();
  }
  if (lane == 0) {
    state.n_frontier = n_open;
    state.n_leaves = n_leaves;
    state.n_nodes = n_nodes;
  }
  return next;
}

// How soon a leaf may be split: its gain, or the least of those above it that are still to come.
inline double merit(const TreeView& tree, int id) {
  double least = tree.leaf(id).best.weighted_gain();
  while (tree.leaf(id).node < 0) {
    id = tree.leaf(id).parent;
    const double gain = tree.leaf(id).best.weighted_gain();
    least = gain < least ? gain : least;
  }
  return least;
}

// Writes the leaves that will probably be split next to tree.batch(), at most `most` of them, with
// `next` in any case; returns how many there are.
inline int choose_leaves(const TreeView& tree, int next, int most, uint64_t* room) {
  const TreeState& state = tree.state();
  double* merits = tree.merits();
  const auto is_candidate = [&](int id) {
    return id < state.n_leaf_ids && tree.leaf(id).best.found() && tree.leaf(id).children < 0;
  };
  int32_t* candidates = tree.frontier(1);
  int n = 0;
  for (int begin = 0; begin < state.n_leaf_ids; begin += kPlanThreads) {
    const int id = begin + static_cast<int>(threadIdx.x);
    const bool is_one = is_candidate(id);
    const BlockScan scan = scan_block(is_one, room);
    if (is_one) {
      const int at = n + static_cast<int>(scan.before);
      candidates[at] = id;
      merits[at] = id == next ? std::numeric_limits<double>::infinity() : merit(tree, id);
    }
    n += static_cast<int>(scan.total);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += kPlanThreads) {
    int place = 0;
    for (int j = 0; j < n && place < most; ++j) {
      place += merits[j] > merits[i] || (merits[j] == merits[i] && j < i);
    }
    if (place < most) tree.batch()[place] = candidates[i];
  }
  __syncthreads();
  return n < most ? n : most;
}

inline void plan_leaves(const TreeView& tree, int step, uint64_t* room) {
  const Fit& fit = tree.fit;
  TreeState& state = tree.state();
  __shared__ int next;
  if (threadIdx.x < kWarp) {
    const int found = commit_splits(tree, tree.frontier(0));
    if (threadIdx.x == 0) next = found;
  }
  __syncthreads();
  if (next < 0) {
    if (threadIdx.x == 0) state.is_done = 1, state.n_divisions = 0;
    return;
  }
  // A leaf that is divided in vain takes room; enough must be left for all splits to come.
  const int n_left = most_leaves(fit.params) - state.n_leaves;
  const int room_left = fit.most_divided - state.n_divided;
  const int most_of_step = 1 << min(step, 16);  // as the next step has blocks for
  int ahead = min(min(state.ahead, most_of_step), (n_left + 1) / 2);
  ahead = max(1, min(ahead, room_left - n_left + 1));
  const int n_chosen = choose_leaves(tree, next, ahead, room);
  for (int i = threadIdx.x; i < 2 * n_chosen; i += kPlanThreads) {
    make_child(tree, tree.batch()[i / 2], state.n_leaf_ids + i - i % 2, i % 2, true);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    state.n_leaf_ids += 2 * n_chosen;
    state.n_divided += n_chosen;
    state.ahead = min(2 * state.ahead, fit.most_ahead);
  }
  __syncthreads();
  schedule(tree, n_chosen, step, room);
}

// ---- Trees --------------------------------------------------------------------------------------

// Moves all leaves of a tree by their common step, if the loss has one. Sums over leaves are in the
// order of nodes.
inline void apply_common_step(const TreeView& tree) {
  const GrowthParams& params = tree.fit.params;
  const FixedPoint& fixed = tree.fixed();
  const int n_nodes = tree.state().n_nodes;
  CommonStep common(params.leaf, params.learning_rate);
  for (int node = 0; node < n_nodes; ++node) {
    if (tree.tests()[node].feature >= 0) continue;
    const GradientSum& sum = tree.nodes()[node].sum;
    common.add(fixed.g(sum), fixed.h(sum), tree.values()[node]);
  }
  const double step = common.step();
  for (int node = 0; node < n_nodes; ++node) tree.values()[node] += step;
}

// Starts the trees of a round: the root of each is searched in step 0. One block.
inline void begin_trees(const Fit& fit) {
  const Round round = *fit.round;
  bool has_error = false;
  for (int k = 0; k < fit.n_outputs; ++k) has_error = has_error || fit.trees[k].error;
  const uint32_t of_chunk = chunk_rows(fit, round.n_rows);
  const uint64_t n_chunks = parts_of(round.n_rows, of_chunk);
  for (int k = threadIdx.x; k < fit.n_outputs; k += blockDim.x) {
    const TreeView tree{fit, k};
    Leaf& root = tree.leaf(0);
    root.best = Split{};
    root.key = root_key(round.tree_id + k);
    root.begin = 0;
    root.count = round.n_rows;
    root.depth = root.node = root.slot = 0;
    root.parent = root.children = -1;
    const GrowthParams& params = fit.params;
    root.is_searched = most_leaves(params) > 1 && params.may_split(root.count, 0);
    TreeState& state = tree.state();
    state = {round.tree_id + k, 1, 1, 1, 1, 1, 0, 1, has_error, state.error, k, 1, 0};
    tree.frontier(0)[0] = 0;
    const auto first_chunk = static_cast<uint32_t>(k * n_chunks);
    fit.divisions[k] = {k, -1, 0, -1, 0, first_chunk, of_chunk, 0, 0};
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    fit.round->tree_id += fit.n_outputs;
    fit.work[0] = has_error ? Work{0} : Work::of(fit.n_outputs, 0, fit.n_outputs * n_chunks);
    fit.work[1] = {0};
  }
}

// Splits leaves and plans the next step of a tree, whose divisions have been searched.
inline void plan_tree(const TreeView& tree, int step) {
  __shared__ uint64_t room[kPlanWarps];
  TreeState& state = tree.state();
  const StepView view(tree.fit, step);
  check_counts(tree, view);
  collect_splits(tree, view);
  __syncthreads();
  if (step == 0) {
    if (threadIdx.x == 0) {
      add_node(tree, tree.leaf(0));
      if (!tree.leaf(0).best.found()) state.n_frontier = 0;
    }
    __syncthreads();
  }
  if (state.error) {
    if (threadIdx.x == 0) state.is_done = 1;
    return;
  }
  if (tree.fit.params.is_leafwise()) {
    // A step whose children are not searched has no work to wait for.
    do {
      plan_leaves(tree, step, room);
      __syncthreads();
    } while (!state.is_done && state.n_divisions == 0);
  } else {
    plan_level(tree, step, room);
    __syncthreads();
  }
  if (state.is_done && threadIdx.x == 0 && tree.fit.params.has_common_step()) {
    apply_common_step(tree);
  }
}

}  // namespace hedgerow::cuda
