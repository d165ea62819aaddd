// Bundles: exclusive features, of which at most one is nonzero in each row, share a column of
// by_row. One byte encodes the feature and its bin. One-hot columns become one column, and so do
// those of a sparse table; one histogram update then serves the whole bundle. Nothing is
// approximated: the zero bin is exactly the node's sum minus the other bins.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

// The position of a feature's bins in by_row and in histograms.
struct Place {
  std::int32_t column;    // of by_row
  std::int32_t first;     // code of its first bin
  std::int32_t zero_bin;  // −1: the feature is not bundled, and codes are bins

  bool is_shared() const { return zero_bin >= 0; }
  // The code of a bin other than zero_bin; code 0 means that all features of the bundle are zero.
  int code(int bin) const { return first + bin - (bin > zero_bin); }
};

struct ColumnBins {
  const std::uint8_t* by_column;
  std::size_t n_rows;
  std::span<const std::int32_t> n_bins;
};

// Finds bundles. zero_bin is the bin of the value 0, or −1 for a feature that must not be
// bundled.
std::vector<Place> place_features(const ColumnBins& bins, std::span<const std::int32_t> zero_bin);

// The features of each column, in increasing order.
std::vector<std::vector<std::size_t>> members_of(std::span<const Place> places,
                                                 std::size_t n_columns);

}  // namespace hedgerow
