// Offers the features of a histogram's columns to the search for a leaf's best split.
#pragma once
#include <algorithm>
#include <cstddef>

#include "hist/engine.hpp"
#include "hist/histogram.hpp"
#include "hist/split.hpp"
#include "hist/tree_columns.hpp"
#include "table/binned_view.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::hist {

// Room for the histogram of a bundled feature, which has no missing values: a scan may read eight
// entries beyond its bins.
using FeatureRoom = GradientSum[kBins + 8];

struct FeatureScan {
  const BinnedView& bins;
  const TreeColumns& columns;
  const Constraints& constraints;

  // The histogram of a feature in a node. That of a bundled feature is extracted into `room`: its
  // bins are contiguous in the column's histogram, and all other rows of the node are in its zero
  // bin.
  FeatureHistogram histogram(std::size_t feature, const GradientSum& node, GradientSum* column,
                             GradientSum* room) const {
    const Place& place = bins.places[feature];
    const int n_bins = bins.n_bins[feature], index = static_cast<int>(feature);
    const double weight = constraints.weight(feature);
    if (!place.is_shared()) return {column, index, n_bins, bins.is_categorical[feature], weight};
    std::fill_n(room + n_bins, 8, GradientSum{0, 0});  // a scan may read this far
    GradientSum zeros = node;
    for (int bin = 0; bin < n_bins; ++bin) {
      if (bin == place.zero_bin) continue;
      room[bin] = column[place.code(bin)];
      zeros = zeros - room[bin];
    }
    room[place.zero_bin] = zeros;
    return {room, index, n_bins, false, weight};
  }

  // Offers the features of a column.
  void offer(const SplitSearch& search, int column, GradientSum* sums,
             const AllowedFeatures& allowed, GradientSum* room, Split& best) const {
    for (const std::size_t feature : columns.features_of(column)) {
      if (allowed[feature]) search.offer(histogram(feature, search.node(), sums, room), best);
    }
  }
};

}  // namespace hedgerow::hist
