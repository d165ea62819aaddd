// Learning to rank: gradients and hessians of losses that compare the rows of a query with each
// other. One thread works on a query, in a fixed order, so that the numbers do not depend on how
// many threads there are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/named.hpp"

namespace hedgerow {

enum class RankLoss {
  ndcg,      // pairs, weighed by what swapping them would do to the NDCG
  map,       // the same of the average precision
  pairwise,  // log(1 + e^−σ(s_i − s_j)) of every pair
  listwise,  // cross-entropy between `gain` and softmax(s)
};

inline constexpr Named<RankLoss> kRankLosses[] = {{"ndcg", RankLoss::ndcg},
                                                  {"map", RankLoss::map},
                                                  {"pairwise", RankLoss::pairwise},
                                                  {"listwise", RankLoss::listwise}};

struct RankRule {
  RankLoss loss;
  double sigma;            // how steep the loss of a pair is
  std::size_t truncation;  // pairs have a row among so many that are ranked first; ndcg and map
  bool normalise;          // see `rank_gradients`
};

// Rows sorted by query: query q has those in [start[q], start[q + 1]).
struct Queries {
  std::span<const std::uint32_t> row;
  std::span<const std::int64_t> start;
  const double* gain;    // in the order of `row`; equal gains make no pair
  const double* scale;   // of each query: what pairs are multiplied by; 0: it teaches nothing
  const double* weight;  // of each query: what its gradients are multiplied by
};

// What the rows of a ranking count, first to last: 1 / log2(rank + 1), ranks from 1 on.
std::vector<double> rank_discounts(std::size_t count);

// Writes gradient and hessian of every row at these scores. Rows of equal score are ranked in their
// order. What normalising does keeps few pairs, and few queries, from outweighing all others: a
// pair counts by the root of what swapping it would change, and the less the farther apart its
// scores are; and the sum L of the forces in a query becomes log2(1 + L).
void rank_gradients(const Queries& queries, const RankRule& rule, const double* score, double* g,
                    double* h, int threads);

}  // namespace hedgerow
