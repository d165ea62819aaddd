// Offers the features of a histogram's columns to the search for a leaf's best split.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hist/engine.hpp"
#include "hist/histogram.hpp"
#include "hist/joint_histogram.hpp"
#include "hist/split.hpp"
#include "hist/tree_columns.hpp"
#include "table/binned_view.hpp"
#include "table/joint_columns.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

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
