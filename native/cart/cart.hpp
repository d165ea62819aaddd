// CART: fully grown trees, as decision trees and forests need them.
//
// How the parts of this folder fit together:
//   cart.hpp       rules, tables, targets, and the function that grows a tree on bins
//   exact.hpp      the same on sorted columns; forest.hpp grows many trees, each on its own sample
//   grower.hpp     CartGrower, the growth loop; it lists the functions that an engine provides
//   engines        CodeEngine (cart.cpp) on bins or ranks, ListEngine (exact.cpp) on sorted lists,
//                  ByRowEngine (by_row_engine.hpp) for small nodes with random thresholds
//   kinds.hpp      how rows of classes or numbers are summed; candidate_search.hpp scores splits,
//                  gain_ratio.hpp compares the features' best ones as C4.5 does
//   bins.hpp, sums.hpp, median.hpp
//                  how an engine scans a feature: a histogram, or a sorted list by impurities of
//                  sums or by the absolute error (deviation.hpp)
//
// A row has a fixed-point weight with a count of one above it, and adds either that weight to the
// sum of its class or its numbers to the sums of the outputs. Sums are integers, so a tree does not
// depend on the order of additions, and one side of a split is exactly the node minus the other
// side.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/named.hpp"

namespace hedgerow::cart {

enum class Impurity {
  quadratic,  // Gini of classes, variance of numbers
  entropy,
  gain_ratio,  // entropy; features are compared by gain ratio (gain_ratio.hpp)
  error,       // share of the rows that are not of the largest class; one output only
  absolute,    // mean distance of numbers from their median; on sorted columns only
};

inline bool is_entropy(Impurity impurity) {
  return impurity == Impurity::entropy || impurity == Impurity::gain_ratio;
}

inline constexpr Named<Impurity> kCriteria[] = {
    {"gini", Impurity::quadratic},  {"squared_error", Impurity::quadratic},
    {"entropy", Impurity::entropy}, {"gain_ratio", Impurity::gain_ratio},
    {"error", Impurity::error},     {"absolute_error", Impurity::absolute}};

struct CartRules {
  Impurity impurity = Impurity::quadratic;
  int max_depth = 0;   // 0: no limit
  int max_leaves = 0;  // 0: no limit, depth first; otherwise the best leaf is split first
  std::int64_t min_samples_split = 2;
  std::int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0.0;
  double min_impurity_decrease = 0.0;
  int max_features = 0;            // features tried at a node, constant ones included; 0: all
  bool random_thresholds = false;  // one random threshold per feature (extremely randomised trees)
  std::uint64_t seed = 0;
};

inline constexpr std::size_t kRowAlignment = 32;  // row_bytes is a multiple of this

// BinColumns by column, as in docs/architecture.md.
struct CartTable {
  const std::uint8_t* by_column;
  std::size_t n_rows;
  int n_features;
  const std::int32_t* n_bins;
  const bool* is_categorical;
  const double* thresholds;
  const std::int64_t* threshold_starts;
  // For random thresholds: value(feature, bin) at kBins · feature + bin, and the bins row by row,
  // padded to row_bytes with at least one byte to spare.
  const double* values = nullptr;
  const std::uint8_t* by_row = nullptr;
  std::size_t row_bytes = 0;

  const std::uint8_t* column(int feature) const {
    return by_column + static_cast<std::size_t>(feature) * n_rows;
  }
  // The threshold of a split after this bin; after the last bin, the largest number.
  double threshold(int feature, int bin) const;
  // A representative value of a bin: the middle of its edges, of which the outer bins have one.
  double value(int feature, int bin) const {
    const double* edge = thresholds + threshold_starts[feature];
    const int last = n_bins[feature] - 1;
    if (last == 0) return 0.0;
    return 0.5 * edge[std::max(bin - 1, 0)] + 0.5 * edge[std::min(bin, last - 1)];
  }
  // Among the bins whose threshold separates bins `low` and `high`, the one whose threshold is
  // nearest to the middle between them.
  std::uint8_t middle_bin(int feature, int low, int high) const;
};

// The format of fixed-point weights: the weight in units of weight_unit, plus 1 << count_shift.
struct FixedPointWeights {
  double weight_unit = 1.0;
  int count_shift = 32;

  std::int64_t units(std::uint64_t sum) const {
    return static_cast<std::int64_t>(sum & ((std::uint64_t{1} << count_shift) - 1));
  }
  double weight(std::uint64_t sum) const { return static_cast<double>(units(sum)); }
  std::int64_t count(std::uint64_t sum) const {
    return static_cast<std::int64_t>(sum >> count_shift);
  }
};

// The target: a class or n_values numbers per row. Number v of row i is numbers[i · n_values + v]
// in units of number_unit[v], times the weight, minus an offset that is added back to leaf values.
struct CartTarget {
  const std::uint16_t* label = nullptr;
  const std::int64_t* numbers = nullptr;
  const double* raw = nullptr;  // the original numbers, to detect pure nodes
  int n_values = 0;             // classes, or numbers per row
  int n_outputs = 1;            // that the values belong to
  const double* number_unit = nullptr;
  const double* number_scale = nullptr;  // number_unit relative to the largest of them
  const double* offset = nullptr;
  // For the absolute error: rows sorted by number v, and the rank of each row's number among the
  // distinct ones, from v · n_rows on.
  const std::uint32_t* number_order = nullptr;
  const std::uint32_t* number_rank = nullptr;
  const std::uint64_t* fixed_weight = nullptr;  // of each row; 0 if it is not in the tree's sample
  FixedPointWeights weights;
  int packed_bits = 0;     // of a weight, if one word holds the sums of two classes; else 0
  double gain_unit = 1.0;  // of an impurity decrease computed from integer sums

  bool has_classes() const { return label != nullptr; }
};

// A tree as flat arrays in preorder (best first: in the order of splits).
struct CartTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> split_bin, missing_left;
  std::vector<double> threshold;
  std::vector<double> value;                 // n_values per node: class fractions, means or medians
  std::vector<double> gain, cover;           // decrease of the weighted impurity; weight
  std::vector<std::int64_t> count;           // rows
  std::vector<std::uint32_t> category_bits;  // eight words per set

  int n_nodes() const { return static_cast<int>(feature.size()); }
};

// Grows a tree on `rows`, which are in increasing order. tree_id is the key of its random numbers.
CartTree grow_cart(const CartTable& table, const CartTarget& target, const CartRules& rules,
                   std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads);

}  // namespace hedgerow::cart
