#include "gradient/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/compiler.hpp"
#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "shared/math.hpp"

namespace hedgerow {
namespace {

// Rows that justify a task: some 15 µs in queries of 15 rows.
constexpr std::size_t kRowsPerChunk = 128;
// Rows that are compared with all others between two checks for interrupts: some milliseconds in a
// query of 100,000 rows.
constexpr std::size_t kRowsPerLook = 16;
// Sums over the rows of a query have this number of interleaved parts, whatever the width of the
// instruction set's vectors.
constexpr std::size_t kLanes = 8;
// The loss of a pair depends on s_i − s_j. Twice its curvature for each of the two rows is the
// smallest diagonal upper bound of the hessian, so that steps of whole leaves are not too
// long.
constexpr double kPairCurvature = 2.0;
// Pairs weighted by a metric have no underlying loss, and steps may be longer: between the bound
// and 1, the curvature if one row moves alone. Among 1, 1.25, 1.5 and 2, this had the highest NDCG
// on tables of 200, 400 and 2,000 queries together.
constexpr double kWeighedCurvature = 1.5;
// Added to score differences when pairs are normalised.
constexpr double kNearScores = 0.01;

std::size_t padded(std::size_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// The sum of values[begin … end), both multiples of the lanes.
double lane_sum(const double* values, std::size_t begin, std::size_t end) {
  double lanes[kLanes] = {};
  for (std::size_t j = begin; j < end; j += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[j + lane];
  }
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

// A query's rows in ranking order, padded to whole vectors. Swapping rows i and j, with i before j,
// changes the metric by |gain_i − gain_j| · |before_i + after_j|.
struct Ranked {
  std::vector<std::uint32_t> place;  // of the row in its query
  std::vector<double> score, gain, before, after;
  std::vector<double> rank;  // −1 of padding
  std::vector<double> g, h, pull, curve, size;

  void resize(std::size_t count) {
    place.resize(count);
    std::iota(place.begin(), place.end(), 0u);
    for (auto* column : {&score, &gain, &before, &after, &rank, &g, &h, &pull, &curve, &size}) {
      column->assign(padded(count), 0.0);
    }
    for (std::size_t i = 0; i < count; ++i) rank[i] = static_cast<double>(i);
    std::fill(rank.begin() + static_cast<std::ptrdiff_t>(count), rank.end(), -1.0);
  }
};

// One query, with working memory that the queries of a chunk share.
struct Query {
  const Queries& queries;
  const RankRule& rule;
  const double *score, *discount;
  double *g, *h;
  Ranked ranked = {};

  void differentiate(std::size_t number);

 private:
  void rank(std::size_t begin, std::size_t count);
  void weigh_by_ndcg(std::size_t count);
  void weigh_by_precision(std::size_t count);
  template <bool by_gain, bool normalised>
  void compare(std::size_t i, double scale, bool damps);
  void compare_all(std::size_t count, double scale);
  void take_list(std::size_t count, double scale);
  void write(std::size_t begin, std::size_t count, double weight) const;
};

void Query::differentiate(std::size_t number) {
  const auto begin = static_cast<std::size_t>(queries.start[number]);
  const std::size_t count = static_cast<std::size_t>(queries.start[number + 1]) - begin;
  const double scale = queries.scale[number];
  ranked.resize(count);
  if (scale > 0.0) {
    rank(begin, count);
    if (rule.loss == RankLoss::listwise) {
      take_list(count, scale);
    } else {
      compare_all(count, scale);
    }
  }
  write(begin, count, queries.weight[number]);
}

// Sorts the rows by their scores, if the loss depends on the ranking.
void Query::rank(std::size_t begin, std::size_t count) {
  const std::uint32_t* row = queries.row.data() + begin;
  if (rule.loss == RankLoss::ndcg || rule.loss == RankLoss::map) {
    std::sort(ranked.place.begin(), ranked.place.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double of_a = score[row[a]], of_b = score[row[b]];
      return of_a != of_b ? of_a > of_b : a < b;
    });
  }
  for (std::size_t i = 0; i < count; ++i) {
    ranked.score[i] = score[row[ranked.place[i]]];
    ranked.gain[i] = queries.gain[begin + ranked.place[i]];
  }
}

// A row adds its gain times the discount of its rank to the DCG.
void Query::weigh_by_ndcg(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    ranked.before[i] = discount[i];
    ranked.after[i] = -discount[i];
  }
}

// With c_i relevant rows up to rank i, the average precision is the sum of c_i / i over relevant
// rows. A swap of i and j moves the relevant one's term and adds ∓1 / k to those between.
void Query::weigh_by_precision(std::size_t count) {
  double n_relevant = 0.0, inverse_ranks = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double rank = static_cast<double>(i) + 1.0, relevant = ranked.gain[i];
    n_relevant += relevant;
    ranked.after[i] = inverse_ranks - n_relevant / rank;
    inverse_ranks += relevant / rank;
    ranked.before[i] = (n_relevant + 1.0 - relevant) / rank - inverse_ranks;
  }
}

// Compares row i with all rows ranked after it.
template <bool by_gain, bool normalised>
void Query::compare(std::size_t i, double scale, bool damps) {
  const std::size_t begin = (i + 1) / kLanes * kLanes, end = ranked.score.size();
  const double sigma = rule.sigma, rank = static_cast<double>(i), near = damps ? kNearScores : 1.0;
  const double score_i = ranked.score[i], gain_i = ranked.gain[i], before = ranked.before[i];
  const double damping = damps ? 1.0 : 0.0;
  const double curvature = sigma * (by_gain ? kWeighedCurvature : kPairCurvature);
  const double *s = ranked.score.data(), *gain = ranked.gain.data();
  const double *after = ranked.after.data(), *ranks = ranked.rank.data();
  double *g_of = ranked.g.data(), *h_of = ranked.h.data(), *size = ranked.size.data();
  double *pull = ranked.pull.data(), *curve = ranked.curve.data();
  HEDGEROW_INDEPENDENT_ITERATIONS
  for (std::size_t j = begin; j < end; ++j) {
    const double gap = gain_i - gain[j], apart = score_i - s[j];
    const double sign = gap > 0.0 ? 1.0 : -1.0;
    double weight = by_gain ? scale * std::fabs(gap) * std::fabs(before + after[j]) : scale;
    if constexpr (by_gain && normalised) {
      weight = std::sqrt(weight) / (near + damping * std::fabs(apart));
    }
    weight = ranks[j] > rank && gap != 0.0 ? weight : 0.0;
    const double wrong = sigmoid(-sigma * sign * apart);
    const double force = sigma * weight * wrong;
    pull[j] = sign * force;
    curve[j] = curvature * force * (1.0 - wrong);
    size[j] += force;
    g_of[j] += pull[j];
    h_of[j] += curve[j];
  }
  ranked.g[i] -= lane_sum(pull, begin, end);
  ranked.h[i] += lane_sum(curve, begin, end);
}

void Query::compare_all(std::size_t count, double scale) {
  if (rule.loss == RankLoss::ndcg) weigh_by_ndcg(count);
  if (rule.loss == RankLoss::map) weigh_by_precision(count);
  const bool by_gain = rule.loss != RankLoss::pairwise;
  // If all scores are equal there is no distance to divide by.
  const bool damps = ranked.score[0] != ranked.score[count - 1];
  std::size_t last = count;  // rows from here on have one gain: nothing to compare
  while (last > 0 && ranked.gain[last - 1] == ranked.gain[count - 1]) --last;
  const std::size_t first = by_gain ? std::min(rule.truncation, last) : last;
  const auto compare_row = !by_gain         ? &Query::compare<false, false>
                           : rule.normalise ? &Query::compare<true, true>
                                            : &Query::compare<true, false>;
  for (std::size_t i = 0; i < first; ++i) {
    if (i % kRowsPerLook == 0) check_interrupt();
    (this->*compare_row)(i, scale, damps);
  }
  if (!rule.normalise) return;
  const double sum = 2.0 * lane_sum(ranked.size.data(), 0, ranked.size.size());
  if (sum <= 0.0) return;
  const double factor = log1p(sum) / (std::numbers::ln2 * sum);
  for (double& g_of : ranked.g) g_of *= factor;
  for (double& h_of : ranked.h) h_of *= factor;
}

void Query::take_list(std::size_t count, double scale) {
  const double largest = *std::max_element(
      ranked.score.begin(), ranked.score.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; ++i) ranked.pull[i] = exp(ranked.score[i] - largest);
  const double total = lane_sum(ranked.pull.data(), 0, ranked.pull.size());
  for (std::size_t i = 0; i < count; ++i) {
    const double p = ranked.pull[i] / total;
    ranked.g[i] = scale * (p - ranked.gain[i]);
    ranked.h[i] = scale * p * (1.0 - p);
  }
}

void Query::write(std::size_t begin, std::size_t count, double weight) const {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = queries.row[begin + ranked.place[i]];
    g[row] = weight * ranked.g[i];
    h[row] = weight * ranked.h[i];
  }
}

std::size_t largest(std::span<const std::int64_t> start) {
  std::int64_t most = 0;
  for (std::size_t q = 1; q < start.size(); ++q) most = std::max(most, start[q] - start[q - 1]);
  return static_cast<std::size_t>(most);
}

}  // namespace

std::vector<double> rank_discounts(std::size_t count) {
  std::vector<double> discount(count);
  for (std::size_t i = 0; i < count; ++i) {
    discount[i] = std::numbers::ln2 / log(static_cast<double>(i) + 2.0);
  }
  return discount;
}

void rank_gradients(const Queries& queries, const RankRule& rule, const double* score, double* g,
                    double* h, int threads) {
  const std::size_t n_queries = queries.start.size() - 1;
  const std::size_t n_chunks = std::min(n_queries, queries.row.size() / kRowsPerChunk + 1);
  const std::vector<double> discount = rank_discounts(largest(queries.start));
  parallel_for(threads, n_chunks, [&](std::size_t chunk) {
    Query query{queries, rule, score, discount.data(), g, h};
    const std::size_t end = n_queries * (chunk + 1) / n_chunks;
    for (std::size_t q = n_queries * chunk / n_chunks; q < end; ++q) {
      check_interrupt();
      query.differentiate(q);
    }
  });
}

}  // namespace hedgerow
