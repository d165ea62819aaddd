// Bindings of whole rounds: gradients, rows and trees of one round after another in a single call.
//
// On a small table a round takes less time than the calls from Python around it, which also keep
// the threads of other models waiting for Python's global lock.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bind/gil.hpp"
#include "bind/training.hpp"
#include "gradient/row_sampling.hpp"
#include "gradient/store.hpp"

namespace hedgerow::bind_training {

// Uniform sampling of the rows of a round.
struct UniformSampling {
  double fraction;
  std::uint64_t seed;

  // The rows of a round, in `sampled`; a round has at least one.
  Bag bag(std::uint64_t round, std::size_t n_rows, std::vector<std::uint32_t>& sampled) const {
    if (fraction >= 1.0) return {};
    sampled = sample_rows(seed, round, 0, n_rows, std::span(&fraction, 1), nullptr, nullptr);
    if (sampled.empty()) sampled.push_back(static_cast<std::uint32_t>(round % n_rows));
    return std::span<const std::uint32_t>(sampled);
  }
};

using DenseGrower = BoundGrower<ScalarGrower>;

// Grows the trees of `n_rounds` rounds. If `rows` has leaves, those of the round before are still
// to be added to the scores; those of the last round will be.
inline std::vector<GrownTree> boost_rounds(std::span<DenseGrower* const> growers, int threads_each,
                                           GradientStore& gradients, const LossKind& loss,
                                           Rows rows, const UniformSampling& sampling,
                                           std::uint64_t first_round, std::size_t n_rounds,
                                           LeafOfRow& leaf_of_row, LeafValues& leaf_value) {
  const std::size_t n_trees = leaf_of_row.shape(0);
  std::vector<GrownTree> trees(n_rounds * n_trees);
  std::vector<std::uint32_t> sampled;
  for (std::size_t i = 0; i < n_rounds; ++i) {
    gradients.differentiate(loss, rows, std::nullopt);
    const std::uint64_t round = first_round + i;
    const Bag bag = sampling.bag(round, rows.n, sampled);
    const std::span of_round(trees.data() + i * n_trees, n_trees);
    grow_trees(kGrowForOutput, growers, threads_each, gradients, 0, of_round, bag, round * n_trees,
               leaf_of_row, leaf_value);
    rows.leaf = leaf_of_row.data();
  }
  return trees;
}

// Appends the nodes of a tree to those of others.
inline void append(GrownTree& trees, const GrownTree& tree) {
  const auto add = [](auto& all, const auto& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  add(trees.feature, tree.feature);
  add(trees.left, tree.left);
  add(trees.right, tree.right);
  add(trees.category_set, tree.category_set);
  add(trees.split_bin, tree.split_bin);
  add(trees.missing_left, tree.missing_left);
  add(trees.value, tree.value);
  add(trees.gain, tree.gain);
  add(trees.cover, tree.cover);
  add(trees.count, tree.count);
  add(trees.category_bits, tree.category_bits);
}

// The arrays of all trees, one tree after another, and the numbers of nodes and of category sets
// of each: few arrays, because each takes Python as long as some nodes take a kernel.
inline nb::tuple joined_arrays(const DenseGrower& grower, std::span<const GrownTree> trees) {
  GrownTree joined;
  std::vector<std::int64_t> n_nodes, n_sets;
  for (const GrownTree& tree : trees) {
    append(joined, tree);
    n_nodes.push_back(tree.n_nodes());
    n_sets.push_back(static_cast<std::int64_t>(tree.category_bits.size() / 8));
  }
  return nb::make_tuple(to_arrays(grower, joined), to_numpy<std::int64_t>(n_nodes),
                        to_numpy<std::int64_t>(n_sets));
}

inline void bind_rounds(nb::module_& m) {
  m.def(
      "boost_rounds",
      [](const std::vector<DenseGrower*>& growers, int threads_each, GradientStore& gradients,
         const std::string& loss, const nb::sequence& parameters, Scores scores,
         LeafOfRow leaf_of_row, bool is_pending, LeafValues leaf_value, Targets target,
         Weights weight, double fraction, std::uint64_t seed, std::uint64_t first_round,
         std::size_t n_rounds) {
        require(!growers.empty(), "there must be a grower");
        Rows rows = make_rows(scores, target, weight);
        rows.leaf = is_pending ? leaf_of_row.data() : nullptr;
        rows.leaf_value = leaf_value.data();
        rows.leaf_stride = leaf_value.shape(1);
        const LossKind kind = loss_kind(loss, parameters, scores.shape(0));
        std::vector<GrownTree> trees;
        {
          GilReleased release;
          trees = boost_rounds(growers, threads_each, gradients, kind, rows, {fraction, seed},
                               first_round, n_rounds, leaf_of_row, leaf_value);
        }
        return joined_arrays(*growers[0], trees);
      },
      "growers"_a, "threads_each"_a, "gradients"_a, "loss"_a, "parameters"_a,
      "scores"_a.noconvert(), "leaf_of_row"_a.noconvert(), "is_pending"_a,
      "leaf_value"_a.noconvert(), "target"_a, "weight"_a.none(), "fraction"_a, "seed"_a,
      "first_round"_a, "n_rounds"_a,
      "Grows the trees of several rounds of a built-in loss on uniformly sampled rows, and returns "
      "their arrays, joined, with the nodes and category sets of each. The leaves of the last "
      "round are still to be added to the scores.");
}

}  // namespace hedgerow::bind_training
