// The sample of rows that quantiles are computed from: chosen by a hash of (seed, row), with
// integer weights.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hedgerow {

struct Sample {
  std::size_t size = 0;
  std::size_t n_weighty = 0;           // rows with weight: those that could have been chosen
  std::vector<std::int64_t> rows;      // empty: every row
  std::vector<std::uint64_t> weights;  // one per sampled row; empty: all weights are 1

  std::size_t row(std::size_t i) const { return rows.empty() ? i : rows[i]; }
  std::uint64_t weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }
};

// At most `size` rows with weight: those with the smallest hashes. row_weight is empty (all weights
// are equal) or has a weight >= 0 for each row.
Sample choose_sample(std::size_t n_rows, std::span<const double> row_weight, std::size_t size,
                     std::uint64_t seed);

}  // namespace hedgerow
