// Bindings of training: row sampling, gradients, growers and leaf values.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bind/binning.hpp"
#include "bind/communicator.hpp"
#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "bind/growth_params.hpp"
#include "bind/reduction.hpp"
#include "core/threads.hpp"
#include "gradient/row_sampling.hpp"
#include "gradient/store.hpp"
#include "hist/distributed_grower.hpp"
#include "hist/scalar_grower.hpp"
#include "hist/sparse_grower.hpp"
#include "hist/vector_grower.hpp"
#include "tree/allowed_features.hpp"
#include "tree/leaf_quantiles.hpp"

namespace hedgerow::bind_training {

namespace nb = nanobind;
using namespace nb::literals;
using namespace hist;

LossKind loss_kind(const std::string& name, const nb::sequence& numbers, std::size_t n_outputs) {
  std::vector<double> parameters = vector_of<double>(numbers);
  if (!parameters.empty() && parameters.size() != n_outputs) {
    throw std::invalid_argument("a loss needs one parameter for each output");
  }
  return {loss_named(name), std::move(parameters)};
}

using Scores = Array<double, nb::ndim<2>>;
using Leaves = std::optional<Array<const std::uint16_t, nb::ndim<2>>>;
using Targets = Array<const double, nb::ndim<2>>;
using Weights = std::optional<Array<const double, nb::ndim<1>>>;

// Rows whose scores are up to date: no leaf values have to be added.
Rows make_rows(Scores scores, const Targets& target, const Weights& weight) {
  const std::size_t K = scores.shape(0), n = scores.shape(1);
  if ((target.shape(0) != 1 && target.shape(0) != K) || target.shape(1) != n) {
    throw std::invalid_argument("there must be one target for all outputs, or one for each");
  }
  return {scores.data(),
          nullptr,
          nullptr,
          0,
          target.data(),
          target.shape(0) == 1 ? 0 : n,
          weight ? weight->data() : nullptr,
          n,
          static_cast<int>(K)};
}

// Thresholds of numeric splits; that of the last bin exceeds every finite number.
std::vector<double> thresholds_of(const GrownTree& tree,
                                  const Array<const double, nb::ndim<1>>& flat,
                                  const Array<const std::int64_t, nb::ndim<1>>& offset) {
  std::vector<double> threshold(tree.feature.size(), 0.0);
  for (std::size_t i = 0; i < threshold.size(); ++i) {
    if (tree.feature[i] < 0 || tree.category_set[i] >= 0) continue;
    const auto f = static_cast<std::size_t>(tree.feature[i]);
    const std::int64_t at = offset.data()[f] + tree.split_bin[i];
    threshold[i] = at < offset.data()[f + 1] ? flat.data()[at] : std::numeric_limits<double>::max();
  }
  return threshold;
}

// A grower and the arrays that it reads.
template <class AnyGrower>
struct BoundGrower {
  Array<const std::uint8_t, nb::ndim<2>> by_column;
  Array<const std::uint8_t, nb::ndim<3>> by_row;
  Array<const std::int32_t, nb::ndim<1>> n_bins;
  Array<const bool, nb::ndim<1>> is_categorical;
  std::vector<Place> places;
  Array<const double, nb::ndim<1>> thresholds;
  Array<const std::int64_t, nb::ndim<1>> threshold_offset;
  std::unique_ptr<Communicator> communicator;  // of a distributed grower
  AnyGrower grower;
};

BinnedView view_of(const Array<const std::uint8_t, nb::ndim<2>>& by_column,
                   const Array<const std::uint8_t, nb::ndim<3>>& by_row,
                   const Array<const std::int32_t, nb::ndim<1>>& n_bins,
                   const Array<const bool, nb::ndim<1>>& is_categorical,
                   std::span<const Place> places, int width) {
  return {by_column.data(),
          by_row.data(),
          n_bins.data(),
          is_categorical.data(),
          places,
          by_column.shape(1),
          static_cast<int>(by_column.shape(0)),
          static_cast<int>(bind_binning::n_columns_of(places)),
          width,
          static_cast<int>(by_row.shape(2))};
}

template <class Bound>
nb::tuple to_arrays(const Bound& bound, const GrownTree& tree) {
  return tree_arrays(tree, thresholds_of(tree, bound.thresholds, bound.threshold_offset),
                     nb::cast(to_numpy<std::uint8_t>(tree.split_bin)));
}

// Drawn rows and how often each counts, if any were to be sample.
std::optional<std::pair<nb::ndarray<nb::numpy, std::uint32_t>, nb::ndarray<nb::numpy, double>>>
to_arrays(const SampledRows& sample, const std::optional<Draw>& draw) {
  if (!draw) return std::nullopt;
  return std::pair{to_numpy<std::uint32_t>(sample.rows), to_numpy<double>(sample.factor)};
}

// A distributed grower needs a communicator, the others take none.
template <class AnyGrower>
AnyGrower make_grower(const BinnedView& bins, const GrowthParams& params,
                      const Constraints& constraints, int threads, const EngineLimits& limits,
                      Communicator* communicator) {
  if constexpr (std::is_same_v<AnyGrower, DistributedGrower>) {
    if (!communicator) throw std::invalid_argument("a distributed grower needs a communicator");
    GilReleased release;
    return {bins, params, constraints, threads, limits, *communicator};
  } else {
    if (communicator) throw std::invalid_argument("this grower takes no communicator");
    return {bins, params, constraints, threads, limits};
  }
}

// Grows a tree for one output.
inline constexpr auto kGrowForOutput = [](auto& grower, const GradientStore& gradients, int output,
                                          const Bag& bag, std::uint64_t tree_id,
                                          std::uint16_t* leaf_of_row) {
  return grower.grow(gradients.output(output), bag, tree_id, leaf_of_row);
};

using RowNumbers = std::optional<Array<const std::uint32_t, nb::ndim<1>>>;
using LeafOfRow = Array<std::uint16_t, nb::ndim<2>>;
using LeafValues = Array<double, nb::ndim<2>>;

// Grows a tree for each of the outputs from `first` on, at the same time if there are several
// growers; writes their leaves into the arrays.
template <class Bound, class Grow>
void grow_trees(const Grow& grow, std::span<Bound* const> growers, int threads_each,
                const GradientStore& gradients, int first, std::span<GrownTree> trees,
                const Bag& rows, std::uint64_t first_tree_id, LeafOfRow& leaf_of_row,
                LeafValues& leaf_value) {
  const auto output = [&](std::size_t i) { return static_cast<std::size_t>(first) + i; };
  parallel_teams(static_cast<int>(growers.size()), threads_each, trees.size(),
                 [&](std::size_t i, int slot) {
                   trees[i] = grow(growers[static_cast<std::size_t>(slot)]->grower, gradients,
                                   static_cast<int>(output(i)), rows, first_tree_id + i,
                                   leaf_of_row.data() + output(i) * leaf_of_row.shape(1));
                 });
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const GrownTree& tree = trees[i];
    const std::size_t n_values = tree.value.size() / tree.feature.size();
    for (std::size_t leaf = 0; leaf < tree.leaf_node.size(); ++leaf) {
      const auto node = static_cast<std::size_t>(tree.leaf_node[leaf]);
      for (std::size_t k = 0; k < n_values; ++k) {
        leaf_value(output(i) + k, leaf) = tree.value[node * n_values + k];
      }
    }
  }
}

// The same, called by Python; returns the arrays of the trees.
template <class Bound, class Grow>
nb::list grow_arrays(const Grow& grow, std::span<Bound* const> growers, int threads_each,
                     const GradientStore& gradients, int first, std::size_t count,
                     const RowNumbers& bag, std::uint64_t first_tree_id, LeafOfRow& leaf_of_row,
                     LeafValues& leaf_value) {
  Bag rows;
  if (bag) rows = std::span(bag->data(), bag->shape(0));
  std::vector<GrownTree> trees(count);
  {
    GilReleased release;
    grow_trees(grow, growers, threads_each, gradients, first, std::span(trees), rows, first_tree_id,
               leaf_of_row, leaf_value);
  }
  nb::list arrays;
  for (const GrownTree& tree : trees) arrays.append(to_arrays(*growers[0], tree));
  return arrays;
}

// Binds how a grower grows a tree; `grow` calls it.
template <class Bound, class Grow>
void bind_grow(nb::class_<Bound>& bound, Grow grow, const char* about) {
  bound.def(
      "grow",
      [grow](Bound& self, const GradientStore& gradients, int output, const RowNumbers& bag,
             std::uint64_t tree_id, LeafOfRow leaf_of_row, LeafValues leaf_value) {
        Bound* const growers[] = {&self};
        return nb::tuple(grow_arrays<Bound>(grow, growers, 1, gradients, output, 1, bag, tree_id,
                                            leaf_of_row, leaf_value)[0]);
      },
      "gradients"_a, "output"_a, "bag"_a.none(), "tree_id"_a, "leaf_of_row"_a.noconvert(),
      "leaf_value"_a.noconvert(), about);
}

// Binds how several growers grow the trees of a round.
template <class Bound, class Grow>
void bind_side_by_side(nb::class_<Bound>& bound, Grow grow) {
  bound.def_static(
      "grow_side_by_side",
      [grow](const std::vector<Bound*>& growers, int threads_each, const GradientStore& gradients,
             const RowNumbers& bag, std::uint64_t first_tree_id, LeafOfRow leaf_of_row,
             LeafValues leaf_value) {
        require(!growers.empty(), "there must be a grower");
        return grow_arrays<Bound>(grow, growers, threads_each, gradients, 0, leaf_of_row.shape(0),
                                  bag, first_tree_id, leaf_of_row, leaf_value);
      },
      "growers"_a, "threads_each"_a, "gradients"_a, "bag"_a.none(), "first_tree_id"_a,
      "leaf_of_row"_a.noconvert(), "leaf_value"_a.noconvert(),
      "Grows a tree for each output, as many at the same time as there are growers, each on so "
      "many "
      "threads; writes the leaf of each row and the value of each leaf.");
}

// Binds a kind of grower.
template <class AnyGrower, class Grow>
nb::class_<BoundGrower<AnyGrower>> bind_grower(nb::module_& m, const char* name, Grow grow,
                                               const char* about) {
  using Bound = BoundGrower<AnyGrower>;
  nb::class_<Bound> bound(m, name);
  bound.def(
      "__init__",
      [](Bound* self, Array<const std::uint8_t, nb::ndim<2>> by_column,
         Array<const std::uint8_t, nb::ndim<3>> by_row,
         Array<const std::int32_t, nb::ndim<1>> n_bins,
         Array<const bool, nb::ndim<1>> is_categorical, const bind_binning::Places& place_array,
         int width, Array<const double, nb::ndim<1>> thresholds,
         Array<const std::int64_t, nb::ndim<1>> threshold_offset, const GrowthParams& params,
         const Constraints& constraints, int threads, std::optional<std::size_t> histogram_bytes,
         std::optional<int> leaves_ahead, std::optional<nb::object> communicator) {
        EngineLimits limits;
        if (histogram_bytes) limits.histogram_bytes = *histogram_bytes;
        limits.leaves_ahead = leaves_ahead.value_or(leaves_ahead_for(params, threads));
        auto places = bind_binning::places_of(place_array, by_column.shape(0));
        // The vector's memory stays where it is when the vector moves.
        const BinnedView view = view_of(by_column, by_row, n_bins, is_categorical, places, width);
        std::unique_ptr<Communicator> shared;
        if (communicator) shared = std::make_unique<PythonCommunicator>(*communicator);
        auto grower =
            make_grower<AnyGrower>(view, params, constraints, threads, limits, shared.get());
        new (self) Bound{by_column,         by_row,     n_bins,           is_categorical,
                         std::move(places), thresholds, threshold_offset, std::move(shared),
                         std::move(grower)};
      },
      "by_column"_a, "by_row"_a, "n_bins"_a, "is_categorical"_a, "places"_a, "width"_a,
      "thresholds"_a, "threshold_offset"_a, "params"_a, "constraints"_a, "threads"_a,
      "histogram_bytes"_a.none() = nb::none(), "leaves_ahead"_a.none() = nb::none(),
      "communicator"_a.none() = nb::none());
  bind_grow<Bound>(bound, grow, about);
  return bound;
}

inline void bind_sampling(nb::module_& m) {
  nb::class_<Draw>(m, "Draw").def(
      "__init__",
      [](Draw* self, const std::string& sampling, double fraction, double reg_lambda,
         std::uint64_t seed, std::uint64_t round, std::uint64_t first_row, std::uint64_t n_total,
         const nb::object& reduction) {
        const auto method = value_named(kSamplingMethods, sampling, "sampling by gradients");
        new (self)
            Draw{{method, fraction, reg_lambda, seed, first_row, n_total, reduction_of(reduction)},
                 round};
      },
      "sampling"_a, "fraction"_a, "reg_lambda"_a, "seed"_a, "round"_a, "first_row"_a = 0,
      "n_total"_a = 0, "reduction"_a.none() = nb::none());
  m.def(
      "sample_tree_features",
      [](const nb::sequence& features, double fraction, std::uint64_t seed, std::uint64_t tree_id) {
        return to_numpy<std::int32_t>(
            sample_tree_features(vector_of<int>(features), fraction, seed, tree_id));
      },
      "features"_a, "fraction"_a, "seed"_a, "tree_id"_a,
      "A random subset of the features: those that a tree may use.");
  m.def(
      "sample_rows",
      [](std::uint64_t seed, std::uint64_t round, std::size_t n,
         Array<const double, nb::ndim<1>> fraction,
         std::optional<Array<const std::int32_t, nb::ndim<1>>> kind,
         std::optional<Array<const std::int32_t, nb::ndim<1>>> unit, std::uint64_t first_row) {
        return to_numpy<std::uint32_t>(
            sample_rows(seed, round, first_row, n, {fraction.data(), fraction.size()},
                        kind ? kind->data() : nullptr, unit ? unit->data() : nullptr));
      },
      "seed"_a, "round"_a, "n"_a, "fraction"_a, "kind"_a.none() = nb::none(),
      "unit"_a.none() = nb::none(), "first_row"_a = 0,
      "The rows that a round trains on, in increasing order: each with the fraction of its kind as "
      "probability, rows of a unit together.");
}

// The choice of units, for tests: sums of a billion rows cannot be tested by adding them up.
inline void bind_units(nb::module_& m) {
  m.attr("most_rows") = kMostRows;
  nb::class_<GradientSummary>(m, "GradientSummary")
      .def(
          "__init__",
          [](GradientSummary* self, double max_g, double sum_g, double max_h, double sum_h,
             double min_h) { new (self) GradientSummary{max_g, sum_g, max_h, sum_h, min_h}; },
          "max_g"_a, "sum_g"_a, "max_h"_a, "sum_h"_a, "min_h"_a)
      .def("fits_packed", &fits_packed, "n_rows"_a)
      .def("fits_one_word", &fits_one_word, "n_rows"_a)
      .def("units", &choose_units, "n_rows"_a, "packed"_a, "The units of one output.");
  nb::class_<FixedPoint>(m, "FixedPoint")
      .def_ro("g_unit", &FixedPoint::g_unit)
      .def_ro("h_unit", &FixedPoint::h_unit)
      .def_ro("count_shift", &FixedPoint::count_shift)
      .def(
          "steps",
          [](const FixedPoint& fixed, double g, double h) {
            const GradientSum sum = fixed.packed
                                        ? fixed.widen(PackedQuantiser(fixed)(static_cast<float>(g),
                                                                             static_cast<float>(h)))
                                        : WideQuantiser(fixed)(g, h);
            return std::pair{sum.g, fixed.h_steps(sum)};
          },
          "g"_a, "h"_a, "The integers of a row.");
  m.def("vector_unit", &vector_unit, "sum"_a, "n_rows"_a, "wide"_a,
        "The unit of an output of trees of all outputs.");
}

inline void bind_gradients(nb::module_& m) {
  nb::class_<GradientStore>(m, "GradientStore")
      .def(
          "__init__",
          [](GradientStore* self, std::size_t n_rows, int n_outputs, int threads, bool vector,
             std::size_t n_total, std::optional<nb::object> communicator) {
            std::shared_ptr<Communicator> shared;
            if (communicator) shared = std::make_shared<PythonCommunicator>(*communicator);
            new (self) GradientStore(n_rows, n_outputs, threads, vector, n_total, shared);
          },
          "n_rows"_a, "n_outputs"_a, "threads"_a, "vector"_a = false, "n_total"_a = 0,
          "communicator"_a.none() = nb::none(),
          "The gradients of n_rows, which with those of other workers are n_total.")
      .def(
          "differentiate",
          [](GradientStore& store, const std::string& loss, const nb::sequence& parameters,
             Scores scores, Leaves leaf, Array<const double, nb::ndim<2>> leaf_value,
             Targets target, Weights weight, std::optional<Draw> draw) {
            Rows rows = make_rows(scores, target, weight);
            rows.leaf = leaf ? leaf->data() : nullptr;
            rows.leaf_value = leaf_value.data();
            rows.leaf_stride = leaf_value.shape(1);
            rows.one_tree = leaf && leaf->shape(0) < scores.shape(0);
            const LossKind kind = loss_kind(loss, parameters, scores.shape(0));
            SampledRows sample;
            {
              GilReleased release;
              sample = store.differentiate(kind, rows, draw);
            }
            return to_arrays(sample, draw);
          },
          "loss"_a, "parameters"_a, "scores"_a.noconvert(), "leaf"_a.none(), "leaf_value"_a,
          "target"_a, "weight"_a.none(), "draw"_a.none() = nb::none(),
          "Adds the leaf values to the scores and computes the loss's gradients at the new scores. "
          "With a draw, returns the rows of the sample and their weights.")
      .def(
          "take",
          [](GradientStore& store, Array<const double, nb::ndim<2>> g,
             Array<const double, nb::ndim<2>> h, std::optional<Draw> draw) {
            SampledRows sample;
            {
              GilReleased release;
              sample = store.take(g.data(), h.data(), draw);
            }
            return to_arrays(sample, draw);
          },
          "gradient"_a, "hessian"_a, "draw"_a.none() = nb::none(),
          "Takes the gradients of a user-defined loss; samples as differentiate does.")
      .def(
          "to_float",
          [](const GradientStore& store, int output) {
            std::vector<double> pairs(2 * store.n_rows());
            for (std::size_t i = 0; i < store.n_rows(); ++i) {
              std::tie(pairs[2 * i], pairs[2 * i + 1]) = store.to_float(output, i);
            }
            return to_numpy<double>(pairs, {store.n_rows(), 2});
          },
          "output"_a, "The quantised gradients and hessians as numbers, (n_rows, 2).");
}

// Whole rounds, one after another in a single call: on a small table a round takes less time than
// the calls from Python around it, which also keep the threads of other models waiting for Python's
// global lock.

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

// A grower on a sparse table, and the arrays that it reads.
struct BoundSparseGrower {
  In<std::int64_t, 1> starts;
  In<std::uint32_t, 1> rows;
  In<std::uint8_t, 1> bins;
  In<std::int32_t, 1> n_bins, zero_bins;
  Array<const double, nb::ndim<1>> thresholds;
  Array<const std::int64_t, nb::ndim<1>> threshold_offset;
  SparseGrower grower;
};

inline void bind_sparse_grower(nb::module_& m) {
  nb::class_<BoundSparseGrower> bound(m, "SparseGrower");
  bound.def(
      "__init__",
      [](BoundSparseGrower* self, In<std::int64_t, 1> starts, In<std::uint32_t, 1> rows,
         In<std::uint8_t, 1> bins, In<std::int32_t, 1> n_bins, In<std::int32_t, 1> zero_bins,
         std::size_t n_rows, Array<const double, nb::ndim<1>> thresholds,
         Array<const std::int64_t, nb::ndim<1>> threshold_offset, const GrowthParams& params,
         const Constraints& constraints, int threads, std::optional<std::size_t> histogram_bytes) {
        require(starts.size() == n_bins.size() + 1 && zero_bins.size() == n_bins.size() &&
                    rows.size() == bins.size(),
                "there must be a bin for each row, and a list for each feature");
        EngineLimits limits;
        if (histogram_bytes) limits.histogram_bytes = *histogram_bytes;
        const SparseBins table{span_of(starts), rows.data(),        bins.data(),
                               span_of(n_bins), span_of(zero_bins), n_rows};
        new (self) BoundSparseGrower{starts,
                                     rows,
                                     bins,
                                     n_bins,
                                     zero_bins,
                                     thresholds,
                                     threshold_offset,
                                     {table, params, constraints, threads, limits}};
      },
      "starts"_a.noconvert(), "rows"_a.noconvert(), "bins"_a.noconvert(), "n_bins"_a.noconvert(),
      "zero_bins"_a.noconvert(), "n_rows"_a, "thresholds"_a, "threshold_offset"_a, "params"_a,
      "constraints"_a, "threads"_a, "histogram_bytes"_a.none() = nb::none());
  bind_grow(bound, kGrowForOutput,
            "Grows a tree for one output of a sparse table; writes the leaf of each row and the "
            "value of each leaf.");
  bind_side_by_side(bound, kGrowForOutput);
}

inline void bind_growers(nb::module_& m) {
  m.attr("most_leaves") = kMaxLeaves;
  m.attr("packed_from_rows") = kPackedFromRows;
  auto scalar = bind_grower<ScalarGrower>(
      m, "ScalarGrower", kGrowForOutput,
      "Grows a tree for one output; writes the leaf of each row and the value of each leaf.");
  bind_side_by_side(scalar, kGrowForOutput);
  scalar.def_prop_ro(
      "has_lanes", [](const BoundGrower<ScalarGrower>& bound) { return bound.grower.has_lanes(); },
      "Whether eight features are scanned side by side; the trees are the same.");
  bind_grower<DistributedGrower>(
      m, "DistributedGrower", kGrowForOutput,
      "Grows a tree for one output on the rows of all workers; writes the leaf of each row of this "
      "worker and the value of each leaf.");
  bind_grower<VectorGrower>(
      m, "VectorGrower",
      [](VectorGrower& grower, const GradientStore& gradients, int, const Bag& bag,
         std::uint64_t tree_id, std::uint16_t* leaf_of_row) {
        return grower.grow(gradients.all_outputs(), bag, tree_id, leaf_of_row);
      },
      "Grows a tree for all outputs (`output` is 0); writes the leaf of each row and the values of "
      "each leaf.");
}

inline void bind_losses(nb::module_& m) {
  m.def(
      "update_scores",
      [](Array<double, nb::ndim<2>> scores, Array<const std::uint16_t, nb::ndim<2>> leaf,
         Array<const double, nb::ndim<2>> leaf_value, int threads) {
        const Rows rows{scores.data(),
                        leaf.data(),
                        leaf_value.data(),
                        leaf_value.shape(1),
                        nullptr,
                        0,
                        nullptr,
                        scores.shape(1),
                        static_cast<int>(scores.shape(0)),
                        leaf.shape(0) < scores.shape(0)};
        GilReleased release;
        update_scores(rows, threads);
      },
      "scores"_a.noconvert(), "leaf"_a, "leaf_value"_a, "threads"_a, "scores += leaf_value[leaf].");
  m.def(
      "loss_names",
      [] {
        nb::list names;
        for (const LossEntry& entry : loss_table())
          names.append(nb::str(entry.name.data(), entry.name.size()));
        return nb::typed<nb::list, nb::str>(names);
      },
      "The names of the losses with native gradients.");
  m.def(
      "loss_gradients",
      [](const std::string& loss, const nb::sequence& parameters, Scores scores, Targets target,
         Weights weight, int threads) {
        const std::size_t K = scores.shape(0), n = scores.shape(1);
        const Rows rows = make_rows(scores, target, weight);
        std::vector<WidePair> pairs(K * n);
        std::vector<GradientTotals> totals(K);
        std::vector<double> g(K * n), h(K * n);
        const LossKind kind = loss_kind(loss, parameters, K);
        {
          GilReleased release;
          differentiate(kind, rows, {nullptr, nullptr, pairs.data()}, totals.data(), threads);
          for (std::size_t i = 0; i < pairs.size(); ++i) {
            g[i] = pairs[i].g;
            h[i] = pairs[i].h;
          }
        }
        return nb::make_tuple(to_numpy<double>(g, {K, n}), to_numpy<double>(h, {K, n}));
      },
      "loss"_a, "parameters"_a, "scores"_a.noconvert(), "target"_a, "weight"_a.none(), "threads"_a,
      "Gradients and hessians of a built-in loss as numbers, two (n_outputs, n_rows) arrays.");
}

inline void bind_leaf_values(nb::module_& m) {
  m.def(
      "leaf_weights",
      [](const GrowthParams& params, Array<const double, nb::ndim<1>> G,
         Array<const double, nb::ndim<1>> H) {
        std::vector<double> weight(G.size());
        for (std::size_t i = 0; i < weight.size(); ++i) {
          weight[i] = params.weight(G.data()[i], H.data()[i]);
        }
        return to_numpy<double>(weight);
      },
      "params"_a, "G"_a, "H"_a, "The weights of leaves with these sums.");
  m.def(
      "common_step",
      [](const GrowthParams& params, Array<const double, nb::ndim<1>> G,
         Array<const double, nb::ndim<1>> H, Array<const double, nb::ndim<1>> value) {
        if (!params.has_common_step()) return 0.0;
        CommonStep common(params.leaf, params.learning_rate);
        for (std::size_t i = 0; i < G.size(); ++i) {
          common.add(G.data()[i], H.data()[i], value.data()[i]);
        }
        return common.step();
      },
      "params"_a, "G"_a, "H"_a, "value"_a,
      "The step that all leaves of a tree, with these sums and values, take in common.");
  m.def(
      "leaf_quantiles",
      [](Array<const double, nb::ndim<1>> corner, Weights weight,
         Array<const std::uint16_t, nb::ndim<1>> leaf,
         std::optional<Array<const std::uint32_t, nb::ndim<1>>> bag,
         Array<const double, nb::ndim<1>> level, int threads, const nb::object& reduction) {
        LeafRows rows{
            {corner.data(), corner.size()}, weight ? weight->data() : nullptr, leaf.data(), {}};
        if (bag) rows.bag = std::span(bag->data(), bag->size());
        std::vector<double> value(level.size());
        const auto reduce = reduction_of(reduction);
        {
          GilReleased release;
          leaf_quantiles(rows, {level.data(), level.size()}, value.data(), threads, *reduce);
        }
        return to_numpy<double>(value);
      },
      "corner"_a, "weight"_a.none(), "leaf"_a, "bag"_a.none(), "level"_a, "threads"_a,
      "reduction"_a.none() = nb::none(), "For each leaf, the level-quantile of its rows' kinks.");
}

inline void bind(nb::module_& m) {
  bind_sampling(m);
  bind_units(m);
  bind_gradients(m);
  bind_growers(m);
  bind_rounds(m);
  bind_sparse_grower(m);
  bind_losses(m);
  bind_leaf_values(m);
}

}  // namespace hedgerow::bind_training
