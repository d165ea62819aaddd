// Exclusive features share a column of by_row: where one of them is not zero, the others are, so
// one byte says which of them it is and its bin. One-hot columns become one, and so do the columns
// of a sparse table; histograms then cost one update where they would cost one a feature. Nothing
// is approximated: the bin of zeros is the node's sum less the others, to the last bit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

// Where a feature's bins stand in by_row, and so in histograms.
struct Place {
  std::int32_t column;    // of by_row
  std::int32_t first;     // code of its first bin
  std::int32_t zero_bin;  // −1: the feature has the column to itself, and a code is a bin

  bool is_shared() const { return zero_bin >= 0; }
  // The code of a bin other than zero_bin, which has none: code 0 says that all are zero.
  int code(int bin) const { return first + bin - (bin > zero_bin); }
};

struct ColumnBins {
  const std::uint8_t* by_column;
  std::size_t n_rows;
  std::span<const std::int32_t> n_bins;
};

// Finds features that may share a column. zero_bin is the bin of the value 0, or −1 for a feature
// that is to keep a column of its own.
std::vector<Place> place_features(const ColumnBins& bins, std::span<const std::int32_t> zero_bin);

// The features of each column, in increasing order.
std::vector<std::vector<std::size_t>> members_of(std::span<const Place> places,
                                                 std::size_t n_columns);

}  // namespace hedgerow
