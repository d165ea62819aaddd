// The columns that a tree's histograms are built of, and how threads share them.
#pragma once
#include <cstddef>
#include <vector>

#include "hist/histogram.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::hist {

class TreeColumns {
 public:
  // A feature of which fewer than `fewest_rows` are outside one bin cannot split anything.
  TreeColumns(const BinnedView& bins, std::size_t fewest_rows);

  // Takes the columns of those of a tree's features that could split its rows; of one at least, for
  // the sum of all rows.
  void select(const std::vector<int>& features);

  const std::vector<int>& columns() const { return columns_; }
  // The features of a column of the table, and how many codes it has, missing aside.
  const std::vector<std::size_t>& features_of(int column) const {
    return features_of_[static_cast<std::size_t>(column)];
  }
  int n_codes(int column) const { return n_codes_[static_cast<std::size_t>(column)]; }
  // How many codes a column of the tree's has on average.
  std::size_t mean_codes() const;
  // Divides the tree's columns into groups of nearly equal size within blocks: at most `widest`
  // columns per group, and if possible `per_block` groups per block.
  std::vector<ColumnGroup> make_groups(std::size_t per_block,
                                       std::size_t widest = kGroupWidth) const;

 private:
  const BinnedView& bins_;
  std::vector<std::vector<std::size_t>> features_of_;  // of each column
  std::vector<int> n_codes_;
  std::vector<bool> can_split_;  // of each feature
  std::vector<int> columns_;     // in increasing order
};

}  // namespace hedgerow::hist
