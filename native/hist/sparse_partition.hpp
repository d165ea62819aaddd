// Divides the rows of a sparse table's leaves. Of the split's feature, a column of bins is filled
// in from its list of rows and restored afterwards, so that rows are divided as in any other table.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hist/leaf_storage.hpp"
#include "table/sparse_bins.hpp"

namespace hedgerow::hist {

class SparsePartition {
 public:
  SparsePartition(const SparseBins& bins, int threads);

  RowRange begin(const Bag& bag);
  RowSet rows(const RowRange& leaf) const { return rows_.rows(leaf); }
  // Divides the rows of a leaf whose children have counted theirs.
  void divide(const RowRange& leaf, const Split& split, RowRange& left, RowRange& right);
  // Writes the leaf number of every row.
  void number_rows(const GrownTree& tree, std::span<const NumberedRows> leaves,
                   std::uint16_t* leaf_of_row);

 private:
  void fill_column(std::size_t feature);
  void restore_column(std::size_t feature);
  void number_rows_outside_bag(const GrownTree& tree, std::uint16_t* leaf_of_row);

  SparseBins bins_;
  // Two columns, of which the first is empty: vectors of bytes are read from before a column.
  std::vector<std::uint8_t> columns_;
  std::uint8_t* column_;
  std::uint8_t zero_bin_ = 0;  // what the column holds between divisions
  BinnedView view_;            // of the columns
  RowPartition rows_;
  Bag bag_;
};

}  // namespace hedgerow::hist
