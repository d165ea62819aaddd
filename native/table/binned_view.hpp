// A view of a binned table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "shared/bins.hpp"
#include "table/place.hpp"

namespace hedgerow {

inline constexpr int kGroupWidth = 16;  // columns whose accumulators share the first-level cache
// Distance between the histograms of two columns. With a power of two, the same bin of all columns,
// such as that of zeros in a sparse table, would map to one set of the cache, which has fewer
// lines.
inline constexpr int kColumnStride = kBins + 8;

// A view of Python's BinnedMatrix; docs/architecture.md describes the arrays.
struct BinnedView {
  const std::uint8_t* by_column;
  const std::uint8_t* by_row;
  const std::int32_t* n_bins;
  const bool* is_categorical;
  std::span<const Place> places;  // of the features in by_row
  std::size_t n_rows;
  int n_features;
  int n_columns;  // of by_row
  int width;      // columns in a block of by_row
  int stride;     // bytes of a row in a block

  const std::uint8_t* column(int feature) const {
    return by_column + static_cast<std::size_t>(feature) * n_rows;
  }
  const std::uint8_t* block(int index) const {
    return by_row + static_cast<std::size_t>(index) * n_rows * stride;
  }
};

}  // namespace hedgerow
