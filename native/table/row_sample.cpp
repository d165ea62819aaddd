#include "table/row_sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "shared/random.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kMaxSample = std::size_t{1} << 31;  // sorting counts in 32 bits

// The `n_sampled` rows of smallest rank, in order, among the n_weighty rows with weight. Only ranks
// that are likely to be small enough are collected: six standard deviations more than needed, so
// that a second pass is almost never necessary.
std::vector<std::int64_t> rows_of_smallest_rank(std::size_t n_rows, std::size_t n_weighty,
                                                std::size_t n_sampled, std::uint64_t seed,
                                                std::span<const double> row_weight) {
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> ranks;
  for (double margin = 6;; margin *= 4) {
    const double share = (n_sampled + margin * std::sqrt(n_sampled + 1.0)) / n_weighty;
    const std::uint64_t bound = share < 1 ? static_cast<std::uint64_t>(share * 0x1p64) : ~0ull;
    rows.clear();
    ranks.clear();
    for (std::size_t row = 0; row < n_rows; ++row) {
      const std::uint64_t rank = hash_u64(seed, Purpose::bin_sample, 0, row);
      if (rank > bound || (!row_weight.empty() && !(row_weight[row] > 0))) continue;
      rows.push_back(static_cast<std::int64_t>(row));
      ranks.push_back(rank);
    }
    if (ranks.size() >= n_sampled) break;
  }
  if (n_sampled == 0) return {};
  std::vector<std::uint64_t> order(ranks);
  std::ranges::nth_element(order, order.begin() + (n_sampled - 1));
  std::size_t n_kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (ranks[i] <= order[n_sampled - 1]) rows[n_kept++] = rows[i];
  rows.resize(n_kept);
  return rows;
}

// Weights as integers, whose sums do not depend on the order. 2^62 bounds every sum, and tiny
// weights become 1.
std::vector<std::uint64_t> integer_weights(std::span<const double> row_weight,
                                           const Sample& sample) {
  double largest = 0;
  for (std::size_t i = 0; i < sample.size; ++i)
    largest = std::max(largest, row_weight[sample.row(i)]);
  const double scale =
      0x1p62 /
      static_cast<double>(std::bit_ceil(std::max<std::size_t>(sample.size, std::size_t{1} << 16)));
  std::vector<std::uint64_t> weights(sample.size);
  for (std::size_t i = 0; i < sample.size; ++i)
    weights[i] = static_cast<std::uint64_t>(
        std::max(1.0, std::floor(row_weight[sample.row(i)] / largest * scale)));
  return weights;
}

}  // namespace

Sample choose_sample(std::size_t n_rows, std::span<const double> row_weight, std::size_t size,
                     std::uint64_t seed) {
  Sample sample;
  sample.n_weighty = n_rows;
  if (!row_weight.empty())
    sample.n_weighty = std::ranges::count_if(row_weight, [](double w) { return w > 0; });
  sample.size = std::min({sample.n_weighty, size, kMaxSample});
  if (sample.size < n_rows)
    sample.rows = rows_of_smallest_rank(n_rows, sample.n_weighty, sample.size, seed, row_weight);
  if (!row_weight.empty()) sample.weights = integer_weights(row_weight, sample);
  return sample;
}

}  // namespace hedgerow
