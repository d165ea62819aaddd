// Columns to bytes: every value's bin, written column by column and row by row in one pass over the
// table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "table/bundle.hpp"
#include "table/columns.hpp"

namespace hedgerow {

// How values become bins; feature f owns thresholds[threshold_starts[f] .. threshold_starts[f +
// 1]), or, if it is categorical, the like range of category_bins, which its codes index.
struct BinRules {
  std::span<const double> thresholds;
  std::span<const std::int64_t> threshold_starts;
  std::span<const std::uint8_t> category_bins;
  std::span<const std::int64_t> category_starts;
};

// The two layouts of docs/architecture.md. by_row may be null: then it is not wanted.
struct BinLayouts {
  std::uint8_t* by_column;
  std::uint8_t* by_row;
  std::size_t n_rows;
  std::size_t n_features;
  std::size_t n_columns;  // of by_row: fewer than features where some share
  std::size_t width;
  std::size_t stride;
};

// Both give every feature a column of by_row, and return whether every value was finite or missing;
// if not, the infinite ones' bins are void.
bool map_to_bins(std::span<const ColumnView> columns, const BinRules& rules, const BinLayouts& out,
                 int threads);
bool map_sparse_to_bins(const SparseView& table, const BinRules& rules, const BinLayouts& out,
                        int threads);

// Fills by_row from by_column, every feature in its place.
void interleave(const BinLayouts& out, std::span<const Place> places, int threads);

}  // namespace hedgerow
