// What other rows say of a row's category. Rows lie on a circle, and a row is told of the rows of
// its category that come shortly before it: never of itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

// For each row, in the order of the circle, the sum of what the `window` rows before it hold that
// are of its category; 0 if it has none (its code is not in 0 … totals.size() − 1). `amount` is
// empty (each row holds 1) or has a number for each row; their sizes must add up to less than 2^63,
// so that rows can leave the window exactly. window < codes.size(); totals is working memory.
void sums_before(std::span<const std::int32_t> codes, std::span<const std::int64_t> amount,
                 std::size_t window, std::span<double> sums, std::span<std::int64_t> totals);

}  // namespace hedgerow
