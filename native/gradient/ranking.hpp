// Learning to rank: gradients and hessians of losses that compare the rows of a query. A query is
// processed by one thread in a fixed order, so that results do not depend on the number of
// threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/named.hpp"

namespace hedgerow {

enum class RankLoss {
  ndcg,      // pairs, weighted by the change of NDCG if they were swapped
  map,       // the same with the average precision
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
  std::size_t truncation;  // ndcg and map: pairs include a row ranked among the first so many
  bool normalise;          // see `rank_gradients`
};

// Rows sorted by query: query q has those in [start[q], start[q + 1]).
struct Queries {
  std::span<const std::uint32_t> row;
  std::span<const std::int64_t> start;
  const double* gain;    // in the order of `row`; equal gains make no pair
  const double* scale;   // of each query: factor of pairs; 0: the query has no effect
  const double* weight;  // of each query: factor of gradients
};

// The discounts of the ranks, first to last: 1 / log2(rank + 1), ranks from 1.
std::vector<double> rank_discounts(std::size_t count);

// Writes the gradient and hessian of every row at these scores. Rows with equal scores are ranked
// in their order. Normalising prevents few pairs and few queries from dominating: a pair is
// weighted by the square root of the metric's change, divided by the distance of its scores, and
// the sum L of the gradients' magnitudes in a query becomes log2(1 + L).
void rank_gradients(const Queries& queries, const RankRule& rule, const double* score, double* g,
                    double* h, int threads);

}  // namespace hedgerow
