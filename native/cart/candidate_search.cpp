// Scoring candidate splits. This is the part of growing a CART tree that gains from wide vectors,
// so it is in a file of its own, which is compiled for each instruction-set level.
#include "cart/candidate_search.hpp"

namespace hedgerow::cart {
namespace {

template <std::size_t lanes, class Each>
inline __attribute__((always_inline)) void for_blocks(std::size_t n_full, Each each) {
  for (std::size_t start = 0; start < n_full; start += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) each(start + lane);
  }
}

template <std::size_t lanes, class Number>
Number highest(std::size_t n, const Number* scores, Number none) {
  Number top[lanes];
  std::fill_n(top, lanes, none);
  for (std::size_t start = 0; start < n; start += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Number score = scores[start + lane];
      top[lane] = score > top[lane] ? score : top[lane];
    }
  }
  return *std::max_element(top, top + lanes);
}

}  // namespace

template <class Kind>
void CandidateSearch<Kind>::score_and_compare(std::size_t n) {
  if constexpr (!Kind::kHasNumbers) {
    if (totals_->impurity == Impurity::error) return compare_errors(n);
  }
  n == 1 ? evaluate_blocks<1>(n) : evaluate_blocks<kLanes>(n);
}

template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::evaluate_blocks(std::size_t n) {
  const std::size_t n_full = (n + lanes - 1) / lanes * lanes;
  weigh<lanes>(n_full);
  if (is_entropy(totals_->impurity)) {
    score_entropy<lanes>(n, n_full);
  } else {
    score_quadratic<lanes>(n_full);
  }
  if (min_count_ > 1) rule_out_few<lanes>(n_full, score_.data(), kNoScore);
  if (min_weight_ > 0.0) rule_out_light<lanes>(n_full, score_.data(), kNoScore);
  std::fill(score_.data() + n, score_.data() + n_full, kNoScore);
  if (!beats({highest<lanes>(n_full, score_.data(), kNoScore), 0.0}, best_)) return;
  for (std::size_t i = 0; i < n; ++i) challenge(i, {score_[i], 0.0});
}

// Candidate i is the best so far if it beats the one before.
template <class Kind>
void CandidateSearch<Kind>::challenge(std::size_t i, const Score& score) {
  if (!beats(score, best_)) return;
  best_ = score;
  best_weight_ = weight_[i];
  best_position_ = position_[i];
  best_missing_left_ = missing_left_;
  found_ = true;
}

// Trees by the error often cut off a few rows of a large node, and are deep: most blocks should
// cost no more than the comparison of integers.
template <class Kind>
void CandidateSearch<Kind>::compare_errors(std::size_t n)
  requires(!Kind::kHasNumbers)
{
  n = keep_fewest_errors(n);
  if (n == 0) return;
  const std::size_t n_full = (n + kLanes - 1) / kLanes * kLanes;
  weigh<kLanes>(n_full);
  score_quadratic<kLanes>(n_full);
  std::fill(score_.data() + n, score_.data() + n_full, kNoScore);
  const double most = highest<kLanes>(n_full, score_.data(), kNoScore);
  for (std::size_t i = 0; i < n; ++i) {
    if (score_[i] >= most * kNearly) challenge(i, {static_cast<double>(correct_[i]), score_[i]});
  }
}

// Moves the candidates with the fewest errors to the front, unless the best so far has fewer, and
// returns their number.
template <class Kind>
std::size_t CandidateSearch<Kind>::keep_fewest_errors(std::size_t n)
  requires(!Kind::kHasNumbers)
{
  constexpr std::int64_t kNotAllowed = -1;
  const std::size_t n_full = (n + kLanes - 1) / kLanes * kLanes;
  count_correct(n_full);
  if (min_count_ > 1) rule_out_few<kLanes>(n_full, correct_.data(), kNotAllowed);
  if (min_weight_ > 0.0) {
    weigh<kLanes>(n_full);
    rule_out_light<kLanes>(n_full, correct_.data(), kNotAllowed);
  }
  std::fill(correct_.data() + n, correct_.data() + n_full, kNotAllowed);
  const std::int64_t most = highest<kLanes>(n_full, correct_.data(), kNotAllowed);
  if (most == kNotAllowed || !beats({static_cast<double>(most), kEveryNumber}, best_)) return 0;
  const std::int64_t enough = most - (most >> 35);  // as kNearly, but exact
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (correct_[i] < enough) continue;
    for (std::size_t w = 0; w < words(); ++w) {
      sums_[w * capacity_ + kept] = sums_[w * capacity_ + i];
    }
    position_[kept] = position_[i];
    correct_[kept++] = correct_[i];
  }
  return kept;
}

// The weight that both sides classify correctly, in fixed-point units.
template <class Kind>
void CandidateSearch<Kind>::count_correct(std::size_t n)
  requires(!Kind::kHasNumbers)
{
  for (std::size_t start = 0; start < n; start += kLanes) {
    std::int64_t left[kLanes] = {}, right[kLanes] = {};
    for (int v = 0; v < kind_.n_values(); ++v) {
      const std::int64_t of_node = kind_.units(totals_->sums, v);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t on_left = kind_.units(sums_at(start + lane), v, capacity_);
        left[lane] = std::max(left[lane], on_left);
        right[lane] = std::max(right[lane], of_node - on_left);
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      correct_[start + lane] = left[lane] + right[lane];
    }
  }
}

template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::weigh(std::size_t n) {
  double* __restrict weight = weight_.data();
  for_blocks<lanes>(n, [&](std::size_t i) { weight[i] = kind_.weight(sums_at(i), capacity_); });
}

template <class Kind>
template <std::size_t lanes>
const double* CandidateSearch<Kind>::amounts(int v, std::size_t n) {
  double* __restrict amount = amount_.data();
  for_blocks<lanes>(n, [&](std::size_t i) { amount[i] = kind_.amount(sums_at(i), v, capacity_); });
  return amount;
}

// The formula of the header times W, which is constant within the node.
template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::score_quadratic(std::size_t n) {
  const double W = totals_->weight;
  const double* __restrict w = weight_.data();
  double* __restrict score = score_.data();
  if constexpr (Kind::kTerms == 1) {  // in one pass: most nodes have few candidates
    constexpr int v = Kind::kFirstTerm;
    const double G = totals_->amount[v];
    for_blocks<lanes>(n, [&](std::size_t i) {
      const double apart = W * kind_.amount(sums_at(i), v, capacity_) - G * w[i];
      score[i] = apart * apart / (w[i] * (W - w[i]));
    });
    return;
  }
  std::fill_n(score, n, 0.0);
  for (int v = Kind::kFirstTerm; v < kind_.n_values(); ++v) {
    const double* __restrict g = amounts<lanes>(v, n);
    const double G = totals_->amount[static_cast<std::size_t>(v)];
    for_blocks<lanes>(n, [&](std::size_t i) {
      const double apart = W * g[i] - G * w[i];
      score[i] += apart * apart;
    });
  }
  for_blocks<lanes>(n, [&](std::size_t i) { score[i] /= w[i] * (W - w[i]); });
}

template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::score_entropy(std::size_t n, std::size_t n_full) {
  const double W = totals_->weight, n_outputs = kind_.target.n_outputs;
  const double* __restrict w = weight_.data();
  double* __restrict score = score_.data();
  for (std::size_t i = 0; i < n; ++i) {
    score[i] = -n_outputs * (x_log_x(w[i]) + x_log_x(W - w[i]));
  }
  for (int v = 0; v < kind_.n_values(); ++v) {
    const double* __restrict g = amounts<lanes>(v, n_full);
    const double G = totals_->amount[static_cast<std::size_t>(v)];
    for (std::size_t i = 0; i < n; ++i) score[i] += x_log_x(g[i]) + x_log_x(G - g[i]);
  }
}

// Both sides must have the minimum number of rows and the minimum weight of a leaf.
template <class Kind>
template <std::size_t lanes, class Number>
void CandidateSearch<Kind>::rule_out_few(std::size_t n, Number* __restrict score, Number none) {
  const std::int64_t most = totals_->count - min_count_;
  for_blocks<lanes>(n, [&](std::size_t i) {
    const std::int64_t count = kind_.count(sums_at(i), capacity_);
    score[i] = ((count < min_count_) | (count > most)) ? none : score[i];
  });
}

template <class Kind>
template <std::size_t lanes, class Number>
void CandidateSearch<Kind>::rule_out_light(std::size_t n, Number* __restrict score, Number none) {
  for_blocks<lanes>(n, [&](std::size_t i) {
    const double lighter = std::min(weight_[i], totals_->weight - weight_[i]);
    score[i] = lighter < min_weight_ ? none : score[i];
  });
}

template class CandidateSearch<Classes<2>>;
template class CandidateSearch<Classes<0>>;
template class CandidateSearch<PackedClasses>;
template class CandidateSearch<Numbers<1>>;
template class CandidateSearch<Numbers<0>>;

}  // namespace hedgerow::cart
