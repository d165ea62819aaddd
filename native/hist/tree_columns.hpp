// The columns of a tree's histograms: how threads divide them, and how their features are offered
// to the search for a leaf's best split.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hist/engine.hpp"
#include "hist/histogram.hpp"
#include "hist/joint_histogram.hpp"
#include "hist/split.hpp"
#include "table/binned_view.hpp"
#include "table/joint_columns.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

// Whether the rows of a feature can be divided so that both sides have at least `min_rows` rows (or
// all, if there are fewer), that is whether at least as many are outside the largest bin.
bool can_split(const std::uint8_t* bins, std::size_t n_rows, std::size_t min_rows);

// A digit of a joint column's codes, and those of its features that can be split: one, or some of a
// bundle.
struct Digit {
  int stride, radix;
  std::vector<std::size_t> features;
};

class TreeColumns {
 public:
  // A feature with fewer than `min_rows` rows outside one bin cannot be split.
  TreeColumns(const BinnedView& bins, std::size_t min_rows);
  // For a table of which `bins` has only some rows, the caller knows which features can be split.
  TreeColumns(const BinnedView& bins, std::vector<bool> can_split);

  // Selects the columns of those of a tree's features that can be split, and at least one column,
  // for the sum of all rows.
  void select(const std::vector<int>& features);

  const std::vector<int>& columns() const { return columns_; }
  // The features of a column of the table that can be split, if it is not joint.
  const std::vector<std::size_t>& features_of(int column) const {
    return features_of_[static_cast<std::size_t>(column)];
  }
  // The digits of a joint column, in decreasing order of their strides; none of another column.
  const std::vector<Digit>& digits_of(int column) const {
    return digits_of_[static_cast<std::size_t>(column)];
  }
  // The number of codes of a column, without the missing bin.
  int n_codes(int column) const { return n_codes_[static_cast<std::size_t>(column)]; }
  // The mean number of codes of the tree's columns.
  std::size_t mean_codes() const;
  // Divides the tree's columns into groups of nearly equal size within blocks: at most `widest`
  // columns per group, and if possible `per_block` groups per block.
  std::vector<ColumnGroup> make_groups(std::size_t per_block,
                                       std::size_t widest = kGroupWidth) const;
  // Divides them between columns that differ in their owners, which are given in increasing order.
  std::vector<ColumnGroup> groups_of(std::span<const std::size_t> owner_of) const;

 private:
  ColumnGroup group(std::size_t begin, std::size_t end) const;
  Digit& digit_at(const Place& place);

  const BinnedView& bins_;
  std::vector<std::vector<std::size_t>> features_of_;  // of each column
  std::vector<std::vector<Digit>> digits_of_;
  std::vector<int> n_codes_;
  std::vector<bool> can_split_;  // of each feature
  std::vector<int> columns_;     // in increasing order
};

// Room for the histograms of features that share a column: that of a bundled feature, the codes of
// a joint column without its highest digits, and the histogram of a digit. A scan may read eight
// entries beyond the bins.
inline constexpr std::size_t kBundledRoom = kBins + 8, kCodesRoom = kBins / 2,
                             kDigitRoom = kLargestRadix + 8;
using FeatureRoom = GradientSum[kBundledRoom + kCodesRoom + kDigitRoom];

struct FeatureScan {
  const BinnedView& bins;
  const TreeColumns& columns;
  const Constraints& constraints;

  // The histogram of a feature in a node. `sums` is that of its column, or of its digit in a joint
  // column. That of a bundled feature is extracted into `room`: its bins are contiguous, and all
  // other rows of the node are in its zero bin.
  FeatureHistogram histogram(std::size_t feature, const GradientSum& node, GradientSum* sums,
                             GradientSum* room) const {
    const Place& place = bins.places[feature];
    const int n_bins = bins.n_bins[feature], index = static_cast<int>(feature);
    const bool is_categorical = bins.is_categorical[feature];
    const double weight = constraints.weight(feature);
    if (place.is_bundled()) {
      std::fill_n(room + n_bins, 8, GradientSum{0, 0});  // a scan may read this far
      GradientSum zeros = node;
      for (int bin = 0; bin < n_bins; ++bin) {
        if (bin == place.zero_bin) continue;
        room[bin] = sums[place.code(bin)];
        zeros = zeros - room[bin];
      }
      room[place.zero_bin] = zeros;
      return {room, {0, 0}, index, n_bins, false, weight};
    }
    if (!place.is_joint()) {
      return {sums, sums[kMissingBin], index, n_bins, is_categorical, weight};
    }
    const GradientSum missing = place.radix > n_bins ? sums[n_bins] : GradientSum{0, 0};
    std::fill_n(sums + n_bins, 8, GradientSum{0, 0});
    return {sums, missing, index, n_bins, is_categorical, weight};
  }

  // Calls use(feature) for the features of a column.
  template <class Use>
  void for_each_feature(int column, Use use) const {
    for (const std::size_t feature : columns.features_of(column)) use(feature);
    for (const Digit& digit : columns.digits_of(column)) {
      for (const std::size_t feature : digit.features) use(feature);
    }
  }

  // Calls use(histogram) for the allowed features of a column, whose histogram in a node is `sums`.
  template <class Use>
  void for_each_histogram(const GradientSum& node, int column, GradientSum* sums,
                          const AllowedFeatures& allowed, GradientSum* room, Use use) const {
    const auto visit = [&](const std::vector<std::size_t>& features, GradientSum* of_features) {
      for (const std::size_t feature : features) {
        if (allowed[feature]) use(histogram(feature, node, of_features, room));
      }
    };
    const std::vector<Digit>& digits = columns.digits_of(column);
    if (digits.empty()) return visit(columns.features_of(column), sums);
    GradientSum *rest = room + kBundledRoom, *of_digit = rest + kCodesRoom;
    const GradientSum* codes = sums;
    for (const Digit& digit : digits) {
      sum_digit(sizeof(GradientSum) / sizeof(std::uint64_t), static_cast<std::size_t>(digit.stride),
                static_cast<std::size_t>(digit.radix),
                reinterpret_cast<const std::uint64_t*>(codes),
                reinterpret_cast<std::uint64_t*>(rest), reinterpret_cast<std::uint64_t*>(of_digit));
      visit(digit.features, of_digit);
      codes = rest;
    }
  }

  // Offers the features of a column.
  void offer(const SplitSearch& search, int column, GradientSum* sums,
             const AllowedFeatures& allowed, GradientSum* room, Split& best) const {
    for_each_histogram(search.node(), column, sums, allowed, room,
                       [&](const FeatureHistogram& histogram) { search.offer(histogram, best); });
  }

  // Turns the histogram of a parent's column into that of its other child, the node of the search,
  // and offers its features.
  void offer_sibling(const SplitSearch& search, int column, GradientSum* parent,
                     const GradientSum* child, const AllowedFeatures& allowed, GradientSum* room,
                     Split& best) const {
    const std::vector<std::size_t>& features = columns.features_of(column);
    if (features.size() == 1 && !bins.places[features[0]].is_shared() && allowed[features[0]]) {
      search.offer_sibling(histogram(features[0], search.node(), parent, room), child, best);
    } else {
      subtract_histogram(columns.n_codes(column), child, parent);
      offer(search, column, parent, allowed, room, best);
    }
  }
};

}  // namespace hedgerow::hist
