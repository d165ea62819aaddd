// Forests of deep trees over bins: prediction, out-of-bag sums, permutation importance.
//
// A forest comes packed (docs/architecture.md): nodes in preorder, and of each only what cannot be
// derived. To predict it is unfolded into nodes of eight bytes; a row is turned into bins once
// (codes.hpp), and a block of rows walks one tree after another, so that tree and rows stay in the
// cache. Sums are in the order of the trees: the same whatever the rows around, or the threads.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "predict/codes.hpp"
#include "predict/predictor.hpp"

namespace hedgerow::predict {

// How values become bins: of feature f, the thresholds [threshold_starts[f], [f + 1]).
struct BinEdges {
  std::span<const double> thresholds;
  std::span<const std::int64_t> threshold_starts;
  std::span<const bool> is_categorical;

  std::size_t n_features() const { return is_categorical.size(); }
};

// F is the integer that holds a feature's number; -1 is a leaf. What inner nodes or leaves have is
// stored for them alone, in the nodes' order.
template <class F>
struct PackedTrees {
  std::span<const std::int64_t> tree_offset;  // among the nodes
  std::span<const F> feature;
  std::span<const std::uint8_t> split_bin;       // inner nodes
  std::span<const bool> missing_left;            // inner nodes
  std::span<const std::uint32_t> category_bits;  // eight words for each test of a category
};

// The children of nodes in preorder, by their features; -1 for a leaf. Of a tree that has come
// apart, the numbers stay within it and mean nothing.
template <class F>
void preorder_links(std::span<const F> feature, std::int32_t* left, std::int32_t* right);

// The nodes of a tree in preorder.
std::vector<std::int32_t> preorder(std::span<const std::int32_t> left,
                                   std::span<const std::int32_t> right);

// Which rows a tree did not draw: bit row & 7 of byte row >> 3, `stride` bytes a tree.
struct BagBits {
  const std::uint8_t* bits;
  std::size_t stride;

  bool is_out(std::size_t tree, std::size_t row) const {
    return bits[tree * stride + (row >> 3)] >> (row & 7) & 1;
  }
};

// What a wrong or right prediction of a leaf costs: classes by error, numbers by squared error.
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

  // Adds the values (n_leaves × n_values) of trees [first, last) to `sums` (rows × n_values).
  template <class T>
  void add(Strided<const T> rows, std::size_t n_rows, std::size_t first, std::size_t last,
           const double* values, std::size_t n_values, double* sums, int threads) const;

  // leaves(row, tree): the number of the leaf, counted over all trees.
  template <class T>
  void apply(Strided<const T> rows, std::size_t n_rows, Strided<std::int32_t> leaves,
             int threads) const;

  // Adds to each row the values of the trees that did not draw it, and counts them.
  template <class T>
  void add_out_of_bag(Strided<const T> rows, std::size_t n_rows, const BagBits& out_of_bag,
                      const double* values, std::size_t n_values, double* sums,
                      std::int32_t* n_summed, int threads) const;

  // Mean loss of each tree on the rows that it did not draw, in increases[tree × (n_features + 1)],
  // and after it, by how much it increases when the values of each feature are shuffled among those
  // rows.
  template <class T>
  void permute(Strided<const T> rows, std::size_t n_rows, const BagBits& out_of_bag,
               const LeafLoss& loss, std::uint64_t seed, double* increases, int threads) const;

 private:
  // Siblings are adjacent; a leaf leads to itself. `test` is a split bin and, above it, which of a
  // row's codes it is for; or, for a test of a category, its place among them.
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
  void fill(Strided<const T> rows, std::size_t first_row, std::size_t n_rows, Codes& codes) const;
  template <bool kCategories>
  std::uint32_t next(std::uint32_t node, const std::uint8_t* codes) const;
  template <bool kCategories>
  void walk(const std::uint8_t* group, Walkers& walkers) const;
  void walk(const std::uint8_t* group, Walkers& node) const;
  void walk_block(std::uint32_t root, const Codes& codes, std::size_t n_rows,
                  std::uint32_t* leaf) const;
  template <class T, class Sink>
  void visit_row(Strided<const T> rows, std::size_t row, std::size_t first, std::size_t last,
                 const Sink& sink) const;
  template <class T, class Sink>
  void visit(Strided<const T> rows, std::size_t n_rows, std::size_t first, std::size_t last,
             int threads, const Sink& sink) const;
  template <class T>
  void permute_tree(Strided<const T> rows, std::span<const std::uint32_t> out_of_bag,
                    std::size_t tree, const LeafLoss& loss, std::uint64_t seed,
                    double* increases) const;

  std::vector<PackedNode> nodes_;
  std::vector<std::uint32_t> leaf_;  // of each node: its number among all leaves, if it is one
  std::vector<std::uint32_t> roots_;
  std::vector<PackedCategoryTest> tests_;
  std::vector<Coding> edges_;
  std::vector<double> double_splits_;
  std::vector<float> float_splits_;
  std::size_t n_leaves_ = 0;
};

}  // namespace hedgerow::predict
