// Random numbers as hashes: (seed, purpose, a, b) in, 64 random bits out. There is no stream and no
// state, so a random number depends neither on the thread nor on the numbers drawn
// before.
#pragma once
#include <cstdint>

namespace hedgerow {

// What a random number is used for. Two purposes never share random bits, whatever their a and b.
enum class Purpose : std::uint64_t {
  bin_sample = 1,         // which rows thresholds are computed from: a = 0, b = row
  row_sample = 2,         // which rows a round trains on: a = round, b = row
  tree_features = 3,      // which features a tree may use: a = tree, b = feature
  level_features = 4,     // which of those a level of it may use: a = tree and depth, b = feature
  node_features = 5,      // which of those a node may use: a = node, b = feature
  cart_features = 6,      // in which order a node tries features: a = node, b = place in the order
  cart_threshold = 7,     // a node's random thresholds: a = node, b = feature
  cart_categories = 8,    // a node's random order of categories: a = node and feature, b = category
  bootstrap = 9,          // which rows a tree is grown on: a = tree, b = number of the draw
  permutation = 10,       // how a feature is shuffled: a = tree and feature, b = place
  descent_order = 11,     // in which order an epoch of a descent visits rows: a = epoch, b = place
  holdout = 12,           // which rows are held out: a = what for, b = row or group
  fold = 13,              // in which fold a row is held out: a = 0, b = row or group
  statistics_order = 14,  // where rows are on the circle of target statistics: a = 0, b = row
  member_seed = 15,       // the seeds of models that are averaged: a = 0, b = model
};

// A bijection of 64-bit words whose every output bit depends on every input bit (the finaliser of
// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
constexpr std::uint64_t mix_u64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// For fixed (seed, purpose, a) this is SplitMix64, and b is the position at which it is read: if
// there are many b, the key is computed once.
inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd
constexpr std::uint64_t hash_key(std::uint64_t seed, Purpose purpose, std::uint64_t a) {
  std::uint64_t key = mix_u64(seed + kGolden);
  key = mix_u64(key + kGolden * static_cast<std::uint64_t>(purpose));
  return mix_u64(key + kGolden * a);
}
constexpr std::uint64_t hash_at(std::uint64_t key, std::uint64_t b) {
  return mix_u64(key + kGolden * b);
}
constexpr std::uint64_t hash_u64(std::uint64_t seed, Purpose purpose, std::uint64_t a,
                                 std::uint64_t b) {
  return hash_at(hash_key(seed, purpose, a), b);
}

// A node of a tree, as `a` of its random numbers: a hash of the tree and of the path to the node,
// so that they do not depend on the order in which nodes are split.
constexpr std::uint64_t root_key(std::uint64_t tree_id) { return mix_u64(tree_id + kGolden); }
constexpr std::uint64_t child_key(std::uint64_t parent, bool is_right) {
  return mix_u64(parent + kGolden * (is_right ? 2 : 1));
}

// Uniform on [0, 1) with 53 bits, exactly the same number everywhere.
constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace hedgerow
