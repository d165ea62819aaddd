// Target statistics: sums over other rows of the same category. Rows are arranged in a circle, and
// the sum of a row covers the rows of its category shortly before it, never itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

// The rows in increasing order of their places, which are random numbers of 64 bits; rows at the
// same place in the order of the table.
void order_by_place(std::span<const std::uint64_t> places, std::span<std::int64_t> order,
                    int threads);

// For each row, in the order of the circle, the sum of `amount` over the other rows of its category
// whose places are at most `window` before its own; 0 if it has no category (its code is not in
// 0 … totals.size() − 1). Places are increasing, on a circle of length 2^64. `amount` is empty (all
// 1) or has a number for each row; their magnitudes must add up to less than 2^63, so that
// subtraction is exact. totals is working memory.
void sums_before(std::span<const std::int32_t> codes, std::span<const std::int64_t> amount,
                 std::span<const std::uint64_t> places, std::uint64_t window,
                 std::span<double> sums, std::span<std::int64_t> totals);

}  // namespace hedgerow
