// The features that the step's leaves may be split on, if levels or nodes sample them. Mirrors
// native/tree/allowed_features.cpp.
#include "shared/feature_sampling.hpp"
#include "state.hpp"

namespace hedgerow::cuda {

inline bool has(const uint32_t* mask, int feature) {
  return mask[feature / 32] >> (feature % 32) & 1;
}

// Writes the sample of the features of a mask, those with the smallest hashes, to another. A block.
inline void sample_features(const Fit& fit, const uint32_t* from, double fraction, uint64_t key,
                            uint32_t* to) {
  __shared__ uint32_t n_features;
  if (threadIdx.x == 0) n_features = 0;
  __syncthreads();
  for (int word = threadIdx.x; word < fit.mask_words; word += blockDim.x) {
    atomic_add(&n_features, static_cast<uint32_t>(__popc(from[word])));
    to[word] = 0;
  }
  __syncthreads();
  const size_t size = feature_sample_size(fraction, n_features);
  for (int feature = threadIdx.x; feature < fit.n_features; feature += blockDim.x) {
    if (!has(from, feature)) continue;
    const uint64_t hash = hash_at(key, feature);
    size_t rank = 0;
    for (int other = 0; other < fit.n_features && rank < size; ++other) {
      if (!has(from, other)) continue;
      const uint64_t other_hash = hash_at(key, other);
      rank += other_hash < hash || (other_hash == hash && other < feature);
    }
    if (rank < size) atomicOr(to + feature / 32, 1u << (feature % 32));
  }
  __syncthreads();
}

// The features of a child of a division (blockIdx.x / 2, side blockIdx.x % 2).
extern "C" __global__ void sample_node_features(const __grid_constant__ Fit fit, int32_t step) {
  const StepView view(fit, step);
  if (blockIdx.x / 2 >= view.work.n_divisions()) return;
  const Division& division = view.divisions[blockIdx.x / 2];
  const int id = blockIdx.x % 2 == 0 ? division.small : division.large;
  if (id < 0) return;
  const TreeView tree{fit, division.tree};
  const Leaf& leaf = tree.leaf(id);
  if (!leaf.is_searched) return;
  const size_t words = fit.mask_words;
  uint32_t* of_leaf = fit.allowed + (size_t(tree.tree) * fit.leaf_capacity + id) * words;
  uint32_t* of_level = fit.level_room + size_t(blockIdx.x) * words;
  const GrowthParams& params = fit.params;
  sample_features(fit, fit.tree_features + tree.tree * words, params.colsample_bylevel,
                  level_features_key(params.seed, tree.state().tree_id, leaf.depth), of_level);
  sample_features(fit, of_level, params.colsample_bynode, node_features_key(params.seed, leaf.key),
                  of_leaf);
}

// The features of a level of a symmetric tree (blockIdx.x), which counts as a node: the leftmost.
extern "C" __global__ void sample_level_features(const __grid_constant__ Fit fit, int32_t step) {
  const TreeView tree{fit, static_cast<int>(blockIdx.x)};
  const size_t words = fit.mask_words;
  uint64_t key = root_key(tree.state().tree_id);
  for (int depth = 0; depth < step; ++depth) key = child_key(key, false);
  uint32_t* of_level = fit.level_room + size_t(blockIdx.x) * words;
  const GrowthParams& params = fit.params;
  sample_features(fit, fit.tree_features + tree.tree * words, params.colsample_bylevel,
                  level_features_key(params.seed, tree.state().tree_id, step), of_level);
  sample_features(fit, of_level, params.colsample_bynode, node_features_key(params.seed, key),
                  fit.allowed + size_t(tree.tree) * fit.leaf_capacity * words);
}

}  // namespace hedgerow::cuda
