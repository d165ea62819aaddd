// Divides the rows of the step's leaves between their children. Mirrors native/hist/partition.cpp.
//
// Where the rows of a child begin is known from its parent's histogram. Within a child rows have no
// order: sums of integers do not depend on it.
#include "walk.hpp"

namespace hedgerow::cuda {

constexpr int kRowsPerTileThread = kTileRows / kTileThreads;
constexpr int kTileWarps = kTileThreads / kWarp;

// How many of a warp's rows, 32 at a time, go left and right; then where they begin.
struct TileCounts {
  uint32_t left[kTileWarps * kRowsPerTileThread], right[kTileWarps * kRowsPerTileThread];
};

// Reserves room for a tile's rows on both sides. One warp.
inline void reserve(TileCounts& counts, Division& division) {
  static_assert(kTileWarps * kRowsPerTileThread == kWarp);
  const int lane = threadIdx.x;
  const uint32_t own_left = counts.left[lane], own_right = counts.right[lane];
  uint32_t left = own_left, right = own_right;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t before_left = __shfl_up_sync(kAllLanes, left, distance);
    const uint32_t before_right = __shfl_up_sync(kAllLanes, right, distance);
    if (lane >= distance) left += before_left, right += before_right;
  }
  uint32_t first_left = 0, first_right = 0;
  if (lane == kWarp - 1) {
    first_left = atomic_add(&division.n_left, left);
    first_right = atomic_add(&division.n_right, right);
  }
  first_left = __shfl_sync(kAllLanes, first_left, kWarp - 1);
  first_right = __shfl_sync(kAllLanes, first_right, kWarp - 1);
  counts.left[lane] = first_left + left - own_left;
  counts.right[lane] = first_right + right - own_right;
}

inline void divide_tile(const TreeView& tree, const RowRange& tile, Division& division,
                        TileCounts& counts) {
  const Leaf& leaf = tree.leaf(division.leaf);
  const Leaf &left = tree.leaf(leaf.children), &right = tree.leaf(leaf.children + 1);
  const RowSource source(tree, leaf);
  const Split& split = leaf.best;
  const NodeTest test = {split.feature, 0, 0, split.bin, split.missing_left, split.categorical, 0};
  const uint8_t* column = tree.fit.by_column + size_t(test.feature) * tree.fit.n_rows;
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const unsigned lower_lanes = (1u << lane) - 1;
  uint32_t id[kRowsPerTileThread];
  int32_t word[kRowsPerTileThread] = {};
  uint8_t bin[kRowsPerTileThread];
  unsigned to_left[kRowsPerTileThread], to_right[kRowsPerTileThread];
  // All reads of a kind are on their way at once.
#pragma unroll
  for (int j = 0; j < kRowsPerTileThread; ++j) {
    const uint32_t i = j * kTileThreads + threadIdx.x;
    const uint32_t at = tile.begin + (i < tile.count ? i : 0);
    id[j] = source.id(at);
    if (source.by_row && source.words) word[j] = source.words[at];
  }
#pragma unroll
  for (int j = 0; j < kRowsPerTileThread; ++j) {
    bin[j] = column[id[j]];
    if (source.by_row && !source.words) word[j] = source.by_row[id[j]];
  }
#pragma unroll
  for (int j = 0; j < kRowsPerTileThread; ++j) {
    const bool is_row = j * kTileThreads + threadIdx.x < tile.count;
    const bool is_left = goes_left(test, split.categories, bin[j]);
    to_left[j] = __ballot_sync(kAllLanes, is_row && is_left);
    to_right[j] = __ballot_sync(kAllLanes, is_row && !is_left);
    if (lane == 0) {
      counts.left[j * kTileWarps + warp] = __popc(to_left[j]);
      counts.right[j * kTileWarps + warp] = __popc(to_right[j]);
    }
  }
  __syncthreads();
  if (warp == 0) reserve(counts, division);
  __syncthreads();
  uint32_t* ids = tree.row_ids(left.depth);
  int32_t* words = tree.row_words(left.depth);
  const uint32_t left_begin = left.begin, right_begin = right.begin;
#pragma unroll
  for (int j = 0; j < kRowsPerTileThread; ++j) {
    const int of_warp = j * kTileWarps + warp;
    const bool is_left = to_left[j] >> lane & 1, is_right = to_right[j] >> lane & 1;
    if (!is_left && !is_right) continue;
    const uint32_t at =
        is_left ? left_begin + counts.left[of_warp] + __popc(to_left[j] & lower_lanes)
                : right_begin + counts.right[of_warp] + __popc(to_right[j] & lower_lanes);
    ids[at] = id[j];
    if (source.by_row) words[at] = word[j];
  }
  __syncthreads();
}

// Divides the rows of the step's leaves, a tile at a time.
extern "C" __global__ void partition(const __grid_constant__ Fit fit, int32_t step) {
  __shared__ TileCounts counts;
  const StepView view(fit, step);
  if (thread_index() == 0) fit.work[(step + 1) & 1] = {0};  // for the plan of the next step
  clear_histograms(fit, view);
  for (uint32_t i = blockIdx.x; i < view.work.n_tiles(); i += gridDim.x) {
    Division& division = view.at(i, &Division::first_tile);
    const TreeView tree{fit, division.tree};
    const RowRange tile = part_of(tree.leaf(division.leaf), i - division.first_tile, kTileRows);
    divide_tile(tree, tile, division, counts);
  }
}

// The leaf of each row in the tree of an output, counted in the order of nodes.
extern "C" __global__ void number_rows(const __grid_constant__ Fit fit, int32_t output,
                                       const uint16_t* leaf_number, uint16_t* leaf_of_row) {
  const TreeView tree{fit, output};
  for (size_t row = thread_index(); row < fit.n_rows; row += n_threads()) {
    leaf_of_row[row] = leaf_number[leaf_of(tree, tree.tests(), row)];
  }
}

}  // namespace hedgerow::cuda
