// Columns as codes, which are bins or ranks of values, and random thresholds between the codes of a
// node.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "cart/bins.hpp"
#include "cart/exact.hpp"
#include "cart/tree.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::cart {

// A table of bins.
struct BinColumns {
  using Code = std::uint8_t;
  static constexpr bool kBinned = true;
  const CartTable& table;

  const Code* codes() const { return table.by_column; }
  double value(int feature, Code code) const { return values(feature)[code]; }
  const double* values(int feature) const {
    return table.values + static_cast<std::size_t>(feature) * kBins;
  }
  // The last code with a value up to `at`, which lies between those of low and high. A linear scan:
  // unlike bisection, it is vectorised.
  std::uint32_t last_up_to(int feature, Code low, Code high, double at) const {
    const double* value = values(feature);
    std::uint64_t n_up_to = 0;
    for (std::size_t code = low; code < high; ++code) n_up_to += value[code] <= at;
    return static_cast<std::uint32_t>(low + n_up_to - 1);
  }
  std::uint32_t last_code(int feature) const {
    return static_cast<std::uint32_t>(table.n_bins[feature] - 1);
  }
  static std::size_t bin_of(Code code) { return code; }
  // Sets the threshold of a split after code `last`.
  void set_threshold(CartSplit& split, double) const {
    split.split_bin = static_cast<std::uint8_t>(split.last);
    split.threshold = table.threshold(split.feature, split.split_bin);
  }
};

// A table of ranks. A category's is its bin.
struct RankColumns {
  using Code = std::uint32_t;
  static constexpr bool kBinned = false;
  const SortedColumns& table;

  const Code* codes() const { return table.rank; }
  double value(int feature, Code code) const { return table.value(feature, code); }
  std::uint32_t last_up_to(int feature, Code low, Code high, double at) const {
    const double* value = table.values + table.value_starts[feature];
    return static_cast<std::uint32_t>(std::upper_bound(value + low, value + high, at) - value - 1);
  }
  std::uint32_t last_code(int) const { return kMissingRank - 1; }
  static std::size_t bin_of(Code code) { return code == kMissingRank ? kMissingBin : code; }
  void set_threshold(CartSplit& split, double threshold) const { split.threshold = threshold; }
};

template <class Code>
void gather(const Code* column, std::span<const std::uint32_t> ids, Code* __restrict codes) {
  constexpr std::size_t kStep = 8;
  const std::uint32_t* id = ids.data();
  std::size_t n = ids.size();
  for (; n >= kStep; n -= kStep, id += kStep, codes += kStep) {
    for (std::size_t i = 0; i < kStep; ++i) codes[i] = column[id[i]];
  }
  for (std::size_t i = 0; i < n; ++i) codes[i] = column[id[i]];
}

// The range of a feature's codes in a node.
template <class Code>
struct CodeRange {
  static constexpr Code kMissing = std::numeric_limits<Code>::max();
  Code low, high;  // of values
  bool has_missing;

  bool has_distinct_values() const { return low < high; }
  bool is_constant() const { return has_missing ? low == kMissing : low == high; }
};

template <class Code>
CodeRange<Code> code_range_of(std::span<const Code> codes) {
  Code low = CodeRange<Code>::kMissing, high = 0, next_to_high = 0;
  for (const Code code : codes) {
    low = std::min(low, code);
    high = std::max(high, code);
    next_to_high = std::max(next_to_high, static_cast<Code>(code + 1));  // of missing ones 0
  }
  return {low, static_cast<Code>(next_to_high - 1), high == CodeRange<Code>::kMissing};
}

// A threshold and the last code up to it.
struct CodeThreshold {
  std::uint32_t last;
  double at;
};

// A random threshold between the smallest and the largest value of a node; `draws` is the node's
// key.
template <class Columns>
CodeThreshold draw_between(const Columns& columns, int feature,
                           const CodeRange<typename Columns::Code>& range, std::uint64_t draws) {
  if (!range.has_distinct_values()) {  // all values left, missing values right
    return {columns.last_code(feature), kEveryNumber};
  }
  const double at = between(columns.value(feature, range.low), columns.value(feature, range.high),
                            draw_threshold(draws, feature));
  return {columns.last_up_to(feature, range.low, range.high, at), at};
}

template <class Columns>
CartSplit split_at(const Columns& columns, int feature, const CodeThreshold& threshold) {
  CartSplit split;
  split.feature = feature;
  split.last = threshold.last;
  columns.set_threshold(split, threshold.at);
  return split;
}

}  // namespace hedgerow::cart
