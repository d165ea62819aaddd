// Mapping columns to bins, written by column and by row in one pass over the
// table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "table/columns.hpp"
#include "table/place.hpp"

namespace hedgerow {

// How values become bins: feature f has thresholds [threshold_starts[f], threshold_starts[f + 1])
// or, if it is categorical, the corresponding range of category_bins, indexed by code.
struct BinRules {
  std::span<const double> thresholds;
  std::span<const std::int64_t> threshold_starts;
  std::span<const std::uint8_t> category_bins;
  std::span<const std::int64_t> category_starts;
};

// The two layouts of docs/architecture.md. by_row may be null: then only by_column is written.
struct BinLayouts {
  std::uint8_t* by_column;
  std::uint8_t* by_row;
  std::size_t n_rows;
  std::size_t n_features;
  std::size_t n_columns;  // of by_row: fewer than features where some share
  std::size_t width;
  std::size_t stride;
};

// Rows of the layouts that are written.
struct RowStretch {
  std::size_t first, count;
};

// Both give every feature its own column of by_row, and return whether every value was finite or
// missing; the bins of infinite values are undefined. The rows of a dense table may be a stretch of
// those of the layouts.
bool map_to_bins(std::span<const ColumnView> columns, const BinRules& rules, const BinLayouts& out,
                 RowStretch stretch, int threads);
bool map_sparse_to_bins(const SparseView& table, const BinRules& rules, const BinLayouts& out,
                        int threads);

// Maps the stored values of a sparse table: a bin for each entry. Returns whether all were finite
// or missing.
bool map_stored_to_bins(const SparseView& table, const BinRules& rules, std::uint8_t* bins,
                        int threads);

// Fills by_row from by_column, with every feature at its place.
void interleave(const BinLayouts& out, std::span<const Place> places, int threads);

}  // namespace hedgerow
