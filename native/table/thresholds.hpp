// The thresholds of numeric features: midpoints of neighbouring distinct values if these are few,
// otherwise quantiles of a weighted sample of rows, the same rows for every feature.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/columns.hpp"

namespace hedgerow {

struct ThresholdOptions {
  int max_bins;             // 2 .. 255
  std::size_t sample_size;  // maximum number of rows that are read
  std::uint64_t seed;
};

// Thresholds of each feature, increasing, at most max_bins - 1; none for a categorical feature.
// row_weight is empty (all weights are equal) or has a weight >= 0 for each row; rows of weight 0
// are ignored. So are missing and infinite values.
std::vector<std::vector<double>> find_thresholds(std::span<const ColumnView> columns,
                                                 std::size_t n_rows,
                                                 std::span<const double> row_weight,
                                                 const ThresholdOptions& options, int threads);
std::vector<std::vector<double>> find_sparse_thresholds(const SparseView& table,
                                                        std::span<const double> row_weight,
                                                        const ThresholdOptions& options,
                                                        int threads);

}  // namespace hedgerow
