// Packed forests, deep trees over bins: prediction, out-of-bag sums, permutation importance.
//
// A packed forest (docs/architecture.md) stores nodes in preorder, without what can be derived. For
// prediction it is unpacked into nodes of eight bytes; each row is binned once (codes.hpp), and a
// block of rows walks down one tree after another, so that tree and rows stay in the cache. Sums
// are in the order of the trees, independent of batches and threads.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "predict/codes.hpp"
#include "predict/predictor.hpp"
#include "predict/stored_rows.hpp"

namespace hedgerow::predict {

// How values become bins: feature f has thresholds [threshold_starts[f], threshold_starts[f + 1]).
struct BinEdges {
  std::span<const double> thresholds;
  std::span<const std::int64_t> threshold_starts;
  std::span<const bool> is_categorical;

  std::size_t n_features() const { return is_categorical.size(); }
};

// F is the integer type of features; -1 is a leaf. Properties of inner nodes or of leaves are
// stored for these only, in the order of nodes.
template <class F>
struct PackedTrees {
  std::span<const std::int64_t> tree_offset;  // among the nodes
  std::span<const F> feature;
  std::span<const std::uint8_t> split_bin;       // inner nodes
  std::span<const bool> missing_left;            // inner nodes
  std::span<const std::uint32_t> category_bits;  // eight words for each test of a category
};

// The children of nodes in preorder, from their features; -1 for a leaf. For an invalid tree the
// numbers are meaningless, but within range.
template <class F>
void preorder_links(std::span<const F> feature, std::int32_t* left, std::int32_t* right);

// The nodes of a tree in preorder.
std::vector<std::int32_t> preorder(std::span<const std::int32_t> left,
                                   std::span<const std::int32_t> right);

// The out-of-bag rows of each tree: bit row & 7 of byte row >> 3, `stride` bytes per tree.
struct BagBits {
  const std::uint8_t* bits;
  std::size_t stride;

  bool is_out(std::size_t tree, std::size_t row) const {
    return bits[tree * stride + (row >> 3)] >> (row & 7) & 1;
  }
};

// The loss of a leaf's prediction: the error of classes, or the squared error of numbers.
struct LeafLoss {
  std::size_t n_outputs;
  const std::int32_t* vote = nullptr;   // leaves × outputs
  const std::int32_t* label = nullptr;  // rows × outputs
  const double* value = nullptr;
  const double* target = nullptr;

  double operator()(std::size_t leaf, std::size_t row) const;
};

class PackedForest {
 public:
  template <class F>
  PackedForest(const PackedTrees<F>& trees, const BinEdges& edges);

  std::size_t n_trees() const { return roots_.size(); }
  std::size_t n_leaves() const { return n_leaves_; }
  std::size_t n_features() const { return edges_.size(); }

  // Rows are Strided<const T> or StoredRows<T>, of float or double.

  // Adds the values (n_leaves × n_values) of trees [first, last) to `sums` (rows × n_values).
  template <class Rows>
  void add(const Rows& rows, std::size_t n_rows, std::size_t first, std::size_t last,
           const double* values, std::size_t n_values, double* sums, int threads) const;

  // leaves(row, tree): the leaf number, counted over all trees.
  template <class Rows>
  void apply(const Rows& rows, std::size_t n_rows, Strided<std::int32_t> leaves, int threads) const;

  // Adds to each row the values of the trees for which it is out of bag, and counts them.
  template <class Rows>
  void add_out_of_bag(const Rows& rows, std::size_t n_rows, const BagBits& out_of_bag,
                      const double* values, std::size_t n_values, double* sums,
                      std::int32_t* n_summed, int threads) const;

  // The mean out-of-bag loss of each tree, in increases[tree × (n_features + 1)], followed by the
  // increase of that loss when the values of each feature are shuffled among the out-of-bag
  // rows.
  template <class T>
  void permute(Strided<const T> rows, std::size_t n_rows, const BagBits& out_of_bag,
               const LeafLoss& loss, std::uint64_t seed, double* increases, int threads) const;

 private:
  // Siblings are adjacent; a leaf leads to itself. `test` is a split bin and, above it, the index
  // of the row's code; for a categorical test, its index among these.
  struct PackedNode {
    static constexpr std::uint32_t kCategorical = 1u << 31;
    std::uint32_t left;
    std::uint32_t test;
  };

  struct PackedCategoryTest {
    std::uint32_t feature;
    std::uint32_t missing_left;
    std::uint32_t bits[8];
  };

  struct Coding {
    bool is_categorical;
    RankTree for_double, for_float;
  };

  // Paths that are followed side by side: their cache misses overlap.
  static constexpr std::size_t kWalkers = 8;
  using Walkers = std::array<std::uint32_t, kWalkers>;

  class Codes;
  template <class T>
  const T* tables() const;
  template <class T>
  void fill(const Strided<const T>& rows, std::size_t first_row, std::size_t n_rows,
            Codes& codes) const;
  template <class T>
  void fill(const StoredRows<T>& rows, std::size_t first_row, std::size_t n_rows,
            Codes& codes) const;
  template <class T>
  void clear(const StoredRows<T>& rows, std::size_t first_row, std::size_t n_rows,
             Codes& codes) const;
  template <bool kCategories>
  std::uint32_t next(std::uint32_t node, const std::uint8_t* codes) const;
  template <bool kCategories>
  void walk(const std::uint8_t* group, Walkers& walkers) const;
  void walk(const std::uint8_t* group, Walkers& node) const;
  void walk_block(std::uint32_t root, const Codes& codes, std::size_t n_rows,
                  std::uint32_t* leaf) const;
  template <class Rows, class Sink>
  void visit_row(const Rows& rows, std::size_t row, std::size_t first, std::size_t last,
                 const Sink& sink) const;
  template <class Rows, class Sink>
  void visit(const Rows& rows, std::size_t n_rows, std::size_t first, std::size_t last, int threads,
             const Sink& sink) const;
  template <class T>
  void permute_tree(Strided<const T> rows, std::span<const std::uint32_t> out_of_bag,
                    std::size_t tree, const LeafLoss& loss, std::uint64_t seed,
                    double* increases) const;

  std::vector<PackedNode> nodes_;
  std::vector<std::uint32_t> leaf_;  // of each node: its leaf number, if it is a leaf
  std::vector<std::uint32_t> roots_;
  std::vector<PackedCategoryTest> tests_;
  std::vector<Coding> edges_;
  std::vector<std::uint8_t> zero_code_;  // of each feature
  std::vector<double> double_splits_;
  std::vector<float> float_splits_;
  std::size_t n_leaves_ = 0;
};

}  // namespace hedgerow::predict
