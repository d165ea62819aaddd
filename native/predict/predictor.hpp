// Prediction: rows → scores or leaves. A Predictor is built once from an ensemble's arrays and
// stores each tree in two forms: for blocks of rows flat (flat_tree.hpp) or, if nodes share tests,
// as a table (table_tree.hpp); and as nodes to step through (step_tree.hpp) for few rows and for
// larger trees.
//
// The score of a row is the start value plus the leaf values in the order of the trees: it does not
// depend on batch, threads, form or instruction set. Sums are of doubles, or of floats if the model
// comes from a library that sums floats.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "predict/stored_rows.hpp"
#include "table/strided.hpp"

namespace hedgerow::predict {

// The arrays of one tree, as described in docs/architecture.md.
struct TreeArrays {
  std::size_t n_nodes;
  const std::int32_t* feature;
  const double* threshold;
  const std::int32_t* left;
  const std::int32_t* right;
  const bool* missing_left;
  const std::int32_t* category_set;
  const double* value;  // n_values a node
  const std::uint32_t* category_bits;
  std::size_t n_values = 1;

  bool is_leaf(std::size_t node) const { return feature[node] < 0; }
  bool is_categorical(std::size_t node) const { return category_set[node] >= 0; }
  const std::uint32_t* bits(std::size_t node) const {
    return category_bits + 8 * std::ptrdiff_t{category_set[node]};
  }
};

struct LinearTerms;

struct EnsembleArrays {
  TreeArrays nodes;  // of all trees, one after another
  std::span<const std::int64_t> tree_offset;
  std::span<const std::int32_t> tree_output;
  std::span<const double> base_score;
  const LinearTerms* linear = nullptr;  // the slopes of the nodes, if leaves have any
  bool has_float_sums = false;          // every sum is rounded to float; not with slopes

  // A node has one value, for the output of the tree, or one for each output.
  std::size_t n_trees() const { return tree_output.size(); }
  TreeArrays tree(std::size_t t) const;
};

// Which trees to add, and where to write the sums. Stage s adds `stage_trees` trees to stage s − 1;
// its scores (rows × outputs) are written to `stages` + s · `stage_stride`.
struct Stages {
  std::size_t first_tree, stage_trees, n_stages;
  Strided<const double> start;  // scores before the first stage; the base score if it has no data
  Strided<double> stages;
  std::ptrdiff_t stage_stride;
};

struct Forest;

class Predictor {
 public:
  explicit Predictor(const EnsembleArrays& ensemble);
  ~Predictor();

  std::size_t n_trees() const;
  std::size_t n_outputs() const;

  // Rows are Strided<const T> or StoredRows<T>, of float or double.
  template <class Rows>
  void predict(const Rows& rows, std::size_t n_rows, const Stages& stages, int threads) const;

  // leaves(row, tree): the leaf of the row, as a node number within the tree.
  template <class Rows>
  void apply(const Rows& rows, std::size_t n_rows, Strided<std::int32_t> leaves, int threads) const;

 private:
  std::unique_ptr<const Forest> forest_;
};

// Adds a tree to the scores of training rows, whose bins are by_column[feature · n_rows + row]:
// to those listed in `rows`, in increasing order, or to all.
void add_tree_binned(const TreeArrays& tree, const std::uint8_t* split_bin,
                     const std::uint8_t* by_column, std::size_t n_rows,
                     std::optional<std::span<const std::int32_t>> rows, double* scores,
                     int threads);

}  // namespace hedgerow::predict
