// Bundles: exclusive features, of which at most one is nonzero in each row, share a column of
// by_row. One byte encodes the feature and its bin. One-hot columns become one column, and so do
// those of a sparse table; one histogram update then serves the whole bundle. Nothing is
// approximated: the zero bin is exactly the node's sum minus the other bins.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/place.hpp"

namespace hedgerow {

struct ColumnBins {
  const std::uint8_t* by_column;
  std::size_t n_rows;
  std::span<const std::int32_t> n_bins;
};

// Finds bundles. zero_bin is the bin of the value 0, or −1 for a feature that must not be
// bundled.
std::vector<Place> bundle_features(const ColumnBins& bins, std::span<const std::int32_t> zero_bin);

}  // namespace hedgerow
