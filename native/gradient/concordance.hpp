// Concordance: how often predictions order two rows in the same way as their event times.
#pragma once
#include <cstdint>
#include <span>

namespace hedgerow {

// Pairs of rows, times the weights of both.
struct PairCounts {
  double larger = 0.0, equal = 0.0, smaller = 0.0;
};

// Compares the prediction of each row of `first` with those of the first `beyond` rows of `last`,
// whose events came later: is it larger, equal or smaller? `rank` numbers the distinct predictions
// from 0; `beyond` does not decrease. O(n log n), by a Fenwick tree.
PairCounts count_pairs(std::span<const std::int64_t> rank, const double* weight,
                       std::span<const std::int64_t> first, std::span<const std::int64_t> beyond,
                       std::span<const std::int64_t> last);

}  // namespace hedgerow
