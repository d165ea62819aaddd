// Partition: a node's rows are divided into left and right, keeping their order.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hist/histogram.hpp"
#include "hist/split.hpp"

namespace hedgerow::hist {

// Rows of a task: a multiple of 64, the rows of a word of `marks`.
inline constexpr std::size_t kPartitionChunk = 4096;

// First pass over rows [begin, end) of the set, a task's: sets bit i of marks if row i goes left,
// and returns how many do. begin is a multiple of 64.
std::size_t mark_left(const BinnedView& bins, const Split& split, const RowSet& rows,
                      std::size_t begin, std::size_t end, std::uint64_t* marks);

// Second pass: writes the marked rows of [begin, end), of which there are n_left, to `left` and the
// others to `right`.
void divide(const RowSet& rows, std::size_t begin, std::size_t end, const std::uint64_t* marks,
            std::size_t n_left, std::uint32_t* left, std::uint32_t* right);

}  // namespace hedgerow::hist
