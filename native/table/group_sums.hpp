// Sums of the rows of each class or category.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hedgerow {

// sums[k] = the exact sum of the numbers of group k, rounded once.
void sum_groups(std::span<const double> numbers, const std::int64_t* group, std::span<double> sums);

}  // namespace hedgerow
