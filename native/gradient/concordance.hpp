// How often a prediction puts two rows in the order in which they are known to have ended.
#pragma once
#include <cstdint>
#include <span>

namespace hedgerow {

// Pairs of rows, times the weights of both.
struct PairCounts {
  double larger = 0.0, equal = 0.0, smaller = 0.0;
};

// Compares each row of `first` with the `beyond` first rows of `last`, those that ended after it:
// whether it has the larger prediction. `rank` numbers the distinct predictions from 0 on; `beyond`
// does not decrease. O(n log n), by a tree of partial sums.
PairCounts count_pairs(std::span<const std::int64_t> rank, const double* weight,
                       std::span<const std::int64_t> first, std::span<const std::int64_t> beyond,
                       std::span<const std::int64_t> last);

}  // namespace hedgerow
