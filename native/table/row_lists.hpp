// The rows of a sparse table, as they come from outside: lists of columns, which may refer to
// columns that do not exist, be in any order, and name a column twice.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

struct RowListsState {
  bool are_valid = true;   // starts increase from 0, and columns exist
  bool are_sorted = true;  // columns increase in every row; so none is there twice
  bool are_unique = true;  // no row names a column twice
};

// Looks through rows of which row i has columns[starts[i]] … columns[starts[i + 1] − 1]. What is
// said about the order is meaningless if the lists are not valid.
RowListsState examine_row_lists(std::span<const std::int32_t> starts,
                                std::span<const std::int32_t> columns, std::size_t n_columns,
                                int threads);

}  // namespace hedgerow
