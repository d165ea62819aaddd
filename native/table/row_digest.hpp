// A digest of rows, to notice that data are not those of an earlier fit.
//
// It is the sum of a hash of each row and its number, so that workers can digest their own rows and
// add up the results. It guards against mistakes, not against forgery.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

using RowDigest = std::array<std::uint64_t, 2>;

struct ByteColumns {
  const std::uint8_t* values;  // (n_columns, n_rows)
  std::size_t n_columns, n_rows;
};

RowDigest digest_rows(const ByteColumns& bytes, std::span<const std::uint64_t* const> words,
                      std::uint64_t first_row, int threads);

}  // namespace hedgerow
