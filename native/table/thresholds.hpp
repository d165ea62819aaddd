// Where the bins of a numeric feature end: between neighbouring distinct values when they are few,
// otherwise at quantiles of a weighted sample of rows, the same rows for every feature.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/columns.hpp"

namespace hedgerow {

struct ThresholdOptions {
  int max_bins;             // 2 .. 255
  std::size_t sample_size;  // at most this many rows are looked at
  std::uint64_t seed;
};

// Thresholds of each feature, increasing, at most max_bins - 1; none for a categorical feature.
// row_weight is empty (all rows weigh the same) or has a weight >= 0 for each row; a row that
// weighs nothing is not looked at. Missing and infinite values are passed over.
std::vector<std::vector<double>> find_thresholds(std::span<const ColumnView> columns,
                                                 std::size_t n_rows,
                                                 std::span<const double> row_weight,
                                                 const ThresholdOptions& options, int threads);
std::vector<std::vector<double>> find_sparse_thresholds(const SparseView& table,
                                                        std::span<const double> row_weight,
                                                        const ThresholdOptions& options,
                                                        int threads);

}  // namespace hedgerow
