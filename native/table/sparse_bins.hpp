// A sparse table in bins: each feature lists the rows in which its bin is not that of 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

struct SparseBins {
  std::span<const std::int64_t> starts;  // of each feature's entries, and the end of all
  const std::uint32_t* rows;             // of each entry, increasing within a feature
  const std::uint8_t* bins;              // of each entry
  std::span<const std::int32_t> n_bins;
  std::span<const std::int32_t> zero_bin;
  std::size_t n_rows;

  std::size_t n_features() const { return n_bins.size(); }
  std::size_t begin(std::size_t feature) const { return static_cast<std::size_t>(starts[feature]); }
  std::size_t end(std::size_t feature) const { return begin(feature + 1); }
};

}  // namespace hedgerow
