// The columns of a tree's histograms, and how threads divide them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hist/histogram.hpp"
#include "table/binned_view.hpp"

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

}  // namespace hedgerow::hist
