#include "gradient/concordance.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hedgerow {
namespace {

// Sums over ranks: node k of the tree (Fenwick's) has the sum over the k & −k ranks up to it.
class RankSums {
 public:
  explicit RankSums(std::size_t n_ranks) : node_(n_ranks + 1, 0.0) {}

  void add(std::int64_t rank, double weight) {
    for (auto k = static_cast<std::size_t>(rank) + 1; k < node_.size(); k += k & -k) {
      node_[k] += weight;
    }
  }

  double below(std::int64_t rank) const {
    double sum = 0.0;
    for (auto k = static_cast<std::size_t>(rank); k > 0; k -= k & -k) sum += node_[k];
    return sum;
  }

 private:
  std::vector<double> node_;
};

}  // namespace

PairCounts count_pairs(std::span<const std::int64_t> rank, const double* weight,
                       std::span<const std::int64_t> first, std::span<const std::int64_t> beyond,
                       std::span<const std::int64_t> last) {
  const auto weight_of = [&](std::int64_t row) { return weight ? weight[row] : 1.0; };
  const auto rank_of = [&](std::int64_t row) { return rank[static_cast<std::size_t>(row)]; };
  const auto n_ranks =
      rank.empty() ? 0 : static_cast<std::size_t>(*std::max_element(rank.begin(), rank.end())) + 1;
  RankSums sums(n_ranks);
  PairCounts counts;
  double total = 0.0;
  std::size_t added = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (; added < static_cast<std::size_t>(beyond[i]); ++added) {
      sums.add(rank_of(last[added]), weight_of(last[added]));
      total += weight_of(last[added]);
    }
    const double w = weight_of(first[i]), below = sums.below(rank_of(first[i]));
    const double up_to = sums.below(rank_of(first[i]) + 1);
    counts.larger += w * below;
    counts.equal += w * (up_to - below);
    counts.smaller += w * (total - up_to);
  }
  return counts;
}

}  // namespace hedgerow
