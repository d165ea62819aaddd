// Where the bins of a feature are in by_row and in histograms. Most features have a column to
// themselves, and codes are bins. Features share a column in two ways, which can be combined:
//   - in a bundle (table/bundle.hpp), of exclusive features;
//   - in a joint column (table/joint_columns.hpp), of features or bundles with few bins.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

struct Place {
  std::int32_t column;  // of by_row
  // The code of its first bin in a bundle, and its bin of the number 0; −1: it is not bundled.
  std::int32_t first = 0;
  std::int32_t zero_bin = -1;
  // The code of its column is Σ digit · stride, 0 ≤ digit < radix, over the features and bundles of
  // the column, and its digit is its bin, or the code of its bundle; radix 0: the column is not
  // joint. If a feature has missing values, its last digit stands for them.
  std::int32_t stride = 0;
  std::int32_t radix = 0;

  bool is_bundled() const { return zero_bin >= 0; }
  bool is_joint() const { return radix > 0; }
  bool is_shared() const { return is_bundled() || is_joint(); }
  // The code in its bundle of a bin other than zero_bin; code 0 means that all features of the
  // bundle are zero.
  int code(int bin) const { return first + bin - (bin > zero_bin); }
};

// The features of each column, in increasing order.
std::vector<std::vector<std::size_t>> members_of(std::span<const Place> places,
                                                 std::size_t n_columns);

}  // namespace hedgerow
