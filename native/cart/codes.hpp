// Columns as codes: bins, or ranks of values; and random cuts between those of a node.
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
struct Bins {
  using Code = std::uint8_t;
  static constexpr bool kBinned = true;
  const CartTable& table;

  const Code* codes() const { return table.by_column; }
  double value(int feature, Code code) const { return values(feature)[code]; }
  const double* values(int feature) const {
    return table.values + static_cast<std::size_t>(feature) * kBins;
  }
  // The last code of a value up to `at`, which is between those of low and high. All are looked at:
  // that is vectorised, and halving is not.
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
  // Writes down where a cut is made: after bin `last`, or at a number.
  void name(Cut& cut, double) const {
    cut.split_bin = static_cast<std::uint8_t>(cut.last);
    cut.threshold = table.threshold(cut.feature, cut.split_bin);
  }
};

// A table of ranks. A category's is its bin.
struct Ranks {
  using Code = std::uint32_t;
  static constexpr bool kBinned = false;
  const SortedTable& table;

  const Code* codes() const { return table.rank; }
  double value(int feature, Code code) const { return table.value(feature, code); }
  std::uint32_t last_up_to(int feature, Code low, Code high, double at) const {
    const double* value = table.values + table.value_starts[feature];
    return static_cast<std::uint32_t>(std::upper_bound(value + low, value + high, at) - value - 1);
  }
  std::uint32_t last_code(int) const { return kMissingRank - 1; }
  static std::size_t bin_of(Code code) { return code == kMissingRank ? kMissingBin : code; }
  void name(Cut& cut, double threshold) const { cut.threshold = threshold; }
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

// The codes of a feature that are found in a node.
template <class Code>
struct Spread {
  static constexpr Code kMissing = std::numeric_limits<Code>::max();
  Code low, high;  // of values
  bool has_missing;

  bool parts_values() const { return low < high; }
  bool is_constant() const { return has_missing ? low == kMissing : low == high; }
};

template <class Code>
Spread<Code> spread_of(std::span<const Code> codes) {
  Code low = Spread<Code>::kMissing, high = 0, next_to_high = 0;
  for (const Code code : codes) {
    low = std::min(low, code);
    high = std::max(high, code);
    next_to_high = std::max(next_to_high, static_cast<Code>(code + 1));  // of missing ones 0
  }
  return {low, static_cast<Code>(next_to_high - 1), high == Spread<Code>::kMissing};
}

// Where a feature is cut: at a number, and after the code `last`.
struct Place {
  std::uint32_t last;
  double at;
};

// A random number between the smallest and the largest value of a node, of whose draws this is the
// key.
template <class Columns>
Place draw_between(const Columns& columns, int feature,
                   const Spread<typename Columns::Code>& spread, std::uint64_t draws) {
  if (!spread.parts_values()) {  // all values to the left, missing ones to the right
    return {columns.last_code(feature), kEveryNumber};
  }
  const double at = between(columns.value(feature, spread.low), columns.value(feature, spread.high),
                            draw_cut(draws, feature));
  return {columns.last_up_to(feature, spread.low, spread.high, at), at};
}

template <class Columns>
Cut cut_at(const Columns& columns, int feature, const Place& place) {
  Cut cut;
  cut.feature = feature;
  cut.last = place.last;
  columns.name(cut, place.at);
  return cut;
}

}  // namespace hedgerow::cart
