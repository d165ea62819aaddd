// Bins of nearly equal hessian: the candidate splits of XGBoost's weighted quantile sketch (Chen
// and Guestrin, 2016, section 3.3), computed exactly from sorted columns instead of approximately
// from a stream. Where the second derivatives of the loss are large, bins are narrow.
//
// The guarantee: a bin has at most 2 / max_bins of the total hessian, or a single value. (Hessians
// are rounded to 2^-32 of the power of 2 above the largest of all rows; the capacity of a bin may
// be 64 of these units more.) In most columns it is close to 1 / max_bins: bins are filled in the
// order of values up to a capacity, and the smallest of a few capacities is taken for which
// max_bins bins suffice. Two neighbouring bins exceed the capacity together, so for 2 / max_bins
// they always do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

// Columns sorted by value (table/presort.hpp).
struct RankedColumns {
  const std::uint32_t* order;        // (n_features, n_rows): rows by value, missing values last
  const std::uint32_t* rank;         // (n_features, n_rows): of each row's value
  const double* values;              // the distinct values of all numeric columns
  const std::int64_t* value_starts;  // where those of each column start, and the end
  const bool* is_categorical;
  std::size_t n_features, n_rows;

  std::span<const std::uint32_t> order_of(std::size_t feature) const {
    return {order + feature * n_rows, n_rows};
  }
  std::span<const std::uint32_t> ranks(std::size_t feature) const {
    return {rank + feature * n_rows, n_rows};
  }
  std::span<const double> values_of(std::size_t feature) const {
    return {values + value_starts[feature], values + value_starts[feature + 1]};
  }
};

// A fine division of the numeric columns, made once where bins are made for every tree: the hessian
// of a cell is summed, and the bin of a cell looked up, in the order of the rows, whereas the
// sorted column leads to rows all over the memory. A cell is a value, or several in a column of
// many.
struct ValueCells {
  std::vector<std::uint16_t> code;                // (n_features, n_rows); missing: after the last
  std::vector<std::vector<std::uint32_t>> first;  // rank of the first value of each cell
};

ValueCells divide_into_cells(const RankedColumns& columns, int threads);

// Writes the bin of each value to `bins`, (n_features, n_rows), and returns the thresholds of each
// feature. Rows of hessian 0 have no influence, unless all are 0. Categories keep their bins. If
// there are cells, bins are made of them, unless one of several values is too heavy for a bin.
std::vector<std::vector<double>> sketch_bins(const RankedColumns& columns, const ValueCells* cells,
                                             std::span<const double> hessian, int max_bins,
                                             std::uint8_t* bins, int threads);

}  // namespace hedgerow
