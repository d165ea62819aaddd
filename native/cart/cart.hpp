// Trees grown to the end, as CART and forests grow them: one call grows one tree, from bins here
// and from sorted columns in cart_exact.hpp.
//
// A row is worth a ticket, its weight in fixed point with a count of one above it, and adds either
// its ticket to the sums of its class or its numbers to the sums of the outputs. Sums are integers,
// so a tree does not depend on the order of additions, and one side of a cut is exactly the node
// less the other side.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

enum class Impurity {
  quadratic,  // Gini of classes, variance of numbers
  entropy,
  absolute,  // mean distance of numbers from their median; of sorted columns alone
};

struct CartRules {
  Impurity impurity = Impurity::quadratic;
  int max_depth = 0;   // 0: no limit
  int max_leaves = 0;  // 0: no limit, and depth first; otherwise the best leaf is split first
  std::int64_t min_samples_split = 2;
  std::int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0.0;
  double min_impurity_decrease = 0.0;
  int max_features = 0;      // tried at a node, those that are constant there included; 0: all
  bool random_cuts = false;  // one cut a feature, drawn at random (extremely randomised trees)
  std::uint64_t seed = 0;
};

inline constexpr std::size_t kRowLanes = 32;  // row_bytes is a multiple of this

// Bins by column, as in docs/architecture.md.
struct CartTable {
  const std::uint8_t* by_column;
  std::size_t n_rows;
  int n_features;
  const std::int32_t* n_bins;
  const bool* is_categorical;
  const double* thresholds;
  const std::int64_t* threshold_starts;
  // For random cuts: value(feature, bin) at kBins · feature + bin, and the bins row by row, filled
  // up to row_bytes with at least one byte to spare.
  const double* values = nullptr;
  const std::uint8_t* by_row = nullptr;
  std::size_t row_bytes = 0;

  const std::uint8_t* column(int feature) const {
    return by_column + static_cast<std::size_t>(feature) * n_rows;
  }
  // The number that a cut after this bin is made at. All numbers are in bins up to the last.
  double threshold(int feature, int bin) const;
  // About where a bin's values lie: the middle of its ends, of which the outer bins have one.
  double value(int feature, int bin) const {
    const double* edge = thresholds + threshold_starts[feature];
    const int last = n_bins[feature] - 1;
    if (last == 0) return 0.0;
    return 0.5 * edge[std::max(bin - 1, 0)] + 0.5 * edge[std::min(bin, last - 1)];
  }
  // Of the bins that part `low` from `high`, the one that ends nearest to the middle of the gap.
  std::uint8_t middle_bin(int feature, int low, int high) const;
};

// Fixed point: a ticket is the weight in units of weight_unit plus 1 << count_shift.
struct Tickets {
  double weight_unit = 1.0;
  int count_shift = 32;

  double weight(std::uint64_t sum) const {
    return static_cast<double>(
        static_cast<std::int64_t>(sum & ((std::uint64_t{1} << count_shift) - 1)));
  }
  std::int64_t count(std::uint64_t sum) const {
    return static_cast<std::int64_t>(sum >> count_shift);
  }
};

// What is learned: classes, or n_values numbers a row. Number v of row i is
// numbers[i · n_values + v] in units of number_unit[v], weight multiplied in, less the offset
// that values get back.
struct CartTarget {
  const std::uint16_t* label = nullptr;
  const std::int64_t* numbers = nullptr;
  const double* raw = nullptr;  // the numbers as they were, to see when all of a node are equal
  int n_values = 0;             // classes, or numbers a row
  int n_outputs = 1;            // into which the values fall
  const double* number_unit = nullptr;
  const double* number_scale = nullptr;  // the same in units of the largest of them
  const double* offset = nullptr;
  // For the absolute error: rows by number v, and the rank of each row's among the distinct ones,
  // from place v · n_rows on.
  const std::uint32_t* number_order = nullptr;
  const std::uint32_t* number_rank = nullptr;
  const std::uint64_t* ticket = nullptr;  // 0 for rows that the tree did not draw
  Tickets tickets;
  int packed_bits = 0;     // of a weight, if one word holds the sums of two classes; else 0
  double gain_unit = 1.0;  // of a fall of impurity that is computed from numbers and tickets as is

  bool has_classes() const { return label != nullptr; }
};

// A tree as flat arrays in preorder (best first: in the order of splits).
struct CartTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> split_bin, missing_left;
  std::vector<double> threshold;
  std::vector<double> value;        // n_values a node: shares of the classes, means or medians
  std::vector<double> gain, cover;  // fall of the weighted impurity, weight
  std::vector<std::int64_t> count;  // rows
  std::vector<std::uint32_t> category_bits;  // eight words a set

  int n_nodes() const { return static_cast<int>(feature.size()); }
};

// Grows a tree on `rows`, which are in increasing order. tree_id tells apart the draws of trees.
CartTree grow_cart(const CartTable& table, const CartTarget& target, const CartRules& rules,
                   std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads);

}  // namespace hedgerow
