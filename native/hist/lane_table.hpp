// A small table for LaneEngine: eight features side by side, and rows that list few of their bins.
//
// The histograms of eight features are interleaved: the entries of a bin, one of each feature, are
// next to each other, so that a scan adds up and scores eight features at a time. Features are
// grouped by their number of bins, and a histogram has no more entries than there are bins. A row
// lists its entries, except those of the commonest bins of features: the sum of that bin is the
// node's minus those of the other bins, exactly, because sums are integers.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared/fixed_point.hpp"
#include "shared/growth_params.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

inline constexpr std::size_t kLanes = 8;

// Features whose histograms are interleaved.
struct LaneGroup {
  std::size_t first = 0;             // its first entry in a histogram of its section
  std::size_t n_bins = 0;            // of the feature with the most
  std::array<int, kLanes> features;  // −1: none
  std::array<std::uint8_t, kLanes> commonest = {};

  LaneGroup() { features.fill(-1); }
  std::size_t n_entries() const { return n_bins * kLanes; }
};

// The groups that a thread adds up and scans.
struct LaneSection {
  std::vector<LaneGroup> groups;
  std::size_t n_entries = 0, n_items = 0;
  std::size_t first_entry = 0;            // in a histogram of all sections
  std::vector<std::uint32_t> row_starts;  // the first item of each row, and the end of all
  std::vector<std::uint16_t> items;       // the first word of an entry, which has two; and one more
};

struct LaneTable {
  std::vector<LaneSection> sections;
  std::size_t n_entries = 0, n_groups = 0;
  std::size_t items_per_row = 0;

  // The sections for a number of threads; none if the table or the parameters need another engine,
  // or would gain nothing: ScalarEngine's rows have a byte for each column, and it scans one
  // feature after another.
  static std::optional<LaneTable> make(const BinnedView& bins, const GrowthParams& params,
                                       const Constraints& constraints, int threads);
};

}  // namespace hedgerow::hist
