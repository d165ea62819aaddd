// The histogram of a joint column (table/joint_columns.hpp), summed up to those of its digits.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hedgerow::hist {

// Sums up codes that have `radix` values of their highest digit, `stride` codes each: `of_digit`
// becomes the sum of each value, and `rest` the sums over the values, which are the codes without
// that digit. A sum has 2, 4, 8 or 16 words. `rest` may be `codes`; it is not written if the stride
// is 1, where nothing remains.
void sum_digit(std::size_t words, std::size_t stride, std::size_t radix, const std::uint64_t* codes,
               std::uint64_t* rest, std::uint64_t* of_digit);

}  // namespace hedgerow::hist
