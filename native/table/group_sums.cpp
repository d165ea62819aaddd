// An exact sum has half a kilobyte. Where there are few groups, each has one; otherwise rows are
// sorted by group first, so that one is enough for millions of categories.
#include "table/group_sums.hpp"

#include <algorithm>
#include <vector>

#include "shared/exact_sum.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kFewGroups = 512;  // whose exact sums fit into the second-level cache

void sum_few_groups(std::span<const double> numbers, const std::int64_t* group,
                    std::span<double> sums) {
  std::vector<ExactSum> exact(sums.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    exact[static_cast<std::size_t>(group[i])].add(numbers[i]);
  }
  std::transform(exact.begin(), exact.end(), sums.begin(),
                 [](const ExactSum& sum) { return sum.rounded(); });
}

void sum_many_groups(std::span<const double> numbers, const std::int64_t* group,
                     std::span<double> sums) {
  const std::size_t n = numbers.size();
  std::vector<std::size_t> end(sums.size() + 1);
  for (std::size_t i = 0; i < n; ++i) ++end[static_cast<std::size_t>(group[i]) + 1];
  for (std::size_t k = 0; k < sums.size(); ++k) end[k + 1] += end[k];
  // end[k] is where group k begins, and where it ends after its rows were placed.
  std::vector<double> sorted(n);
  for (std::size_t i = 0; i < n; ++i) {
    sorted[end[static_cast<std::size_t>(group[i])]++] = numbers[i];
  }
  std::size_t i = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    ExactSum sum;
    const bool is_empty = i == end[k];
    for (; i < end[k]; ++i) sum.add(sorted[i]);
    sums[k] = is_empty ? 0.0 : sum.rounded();
  }
}

}  // namespace

void sum_groups(std::span<const double> numbers, const std::int64_t* group,
                std::span<double> sums) {
  const bool are_few = sums.size() <= kFewGroups;
  (are_few ? sum_few_groups : sum_many_groups)(numbers, group, sums);
}

}  // namespace hedgerow
