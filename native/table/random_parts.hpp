// Random parts of rows (holdouts and folds): in each stratum, part 0 has the rows with the smallest
// hashes, part 1 the next, and so on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/reduction.hpp"

namespace hedgerow {

// Writes the part of each row. sizes has shape (n_strata, n_parts): the sizes of the parts of all
// workers, which add up to that of the stratum. Hashes are distinct.
void random_parts(std::span<const std::uint64_t> hashes, const std::int64_t* stratum,
                  std::span<const std::int64_t> sizes, std::size_t n_parts, std::int64_t* part,
                  const Reduction& reduction, int threads);

}  // namespace hedgerow
