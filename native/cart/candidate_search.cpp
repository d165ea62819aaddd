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

}  // namespace

template <class Kind>
void CandidateSearch<Kind>::score_and_compare(std::size_t n) {
  n == 1 ? evaluate_blocks<1>(n) : evaluate_blocks<kLanes>(n);
}

template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::evaluate_blocks(std::size_t n) {
  const std::size_t n_full = (n + lanes - 1) / lanes * lanes;
  weigh<lanes>(n_full);
  const bool by_error = totals_->impurity == Impurity::error;
  if (by_error) {
    score_error<lanes>(n_full);
  } else if (is_entropy(totals_->impurity)) {
    score_entropy<lanes>(n, n_full);
  } else {
    score_quadratic<lanes>(n_full, score_.data());
  }
  if (min_count_ > 1) rule_out_few<lanes>(n_full);
  if (min_weight_ > 0.0) rule_out_light<lanes>(n_full);
  std::fill(score_.data() + n, score_.data() + n_full, kNoScore);
  const Score most{highest<lanes>(n_full), by_error ? kEveryNumber : 0.0};
  if (!beats(most, best_)) return;
  if (by_error) score_quadratic<lanes>(n_full, tie_.data());
  for (std::size_t i = 0; i < n; ++i) {
    const Score score{score_[i], by_error ? tie_[i] : 0.0};
    if (!beats(score, best_)) continue;
    best_ = score;
    best_weight_ = weight_[i];
    best_position_ = position_[i];
    best_missing_left_ = missing_left_;
    found_ = true;
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
void CandidateSearch<Kind>::score_quadratic(std::size_t n, double* __restrict score) {
  const double W = totals_->weight;
  const double* __restrict w = weight_.data();
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

// The weight that both sides classify correctly: exact, as a sum of integers.
template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::score_error(std::size_t n) {
  double* __restrict left = largest_.data();
  double* __restrict right = left + capacity_;
  double* __restrict score = score_.data();
  std::fill_n(left, n, 0.0);
  std::fill_n(right, n, 0.0);
  for (int v = 0; v < kind_.n_values(); ++v) {
    const double* __restrict g = amounts<lanes>(v, n);
    const double G = totals_->amount[static_cast<std::size_t>(v)];
    for_blocks<lanes>(n, [&](std::size_t i) {
      left[i] = std::max(left[i], g[i]);
      right[i] = std::max(right[i], G - g[i]);
    });
  }
  for_blocks<lanes>(n, [&](std::size_t i) { score[i] = left[i] + right[i]; });
}

// Both sides must have the minimum number of rows and the minimum weight of a leaf.
template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::rule_out_few(std::size_t n) {
  const std::int64_t most = totals_->count - min_count_;
  double* __restrict score = score_.data();
  for_blocks<lanes>(n, [&](std::size_t i) {
    const std::int64_t count = kind_.count(sums_at(i), capacity_);
    score[i] = ((count < min_count_) | (count > most)) ? kNoScore : score[i];
  });
}

template <class Kind>
template <std::size_t lanes>
void CandidateSearch<Kind>::rule_out_light(std::size_t n) {
  double* __restrict score = score_.data();
  for_blocks<lanes>(n, [&](std::size_t i) {
    const double lighter = std::min(weight_[i], totals_->weight - weight_[i]);
    score[i] = lighter < min_weight_ ? kNoScore : score[i];
  });
}

template <class Kind>
template <std::size_t lanes>
double CandidateSearch<Kind>::highest(std::size_t n) const {
  double top[lanes];
  std::fill_n(top, lanes, kNoScore);
  for (std::size_t start = 0; start < n; start += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double score = score_[start + lane];
      top[lane] = score > top[lane] ? score : top[lane];
    }
  }
  return *std::max_element(top, top + lanes);
}

template class CandidateSearch<Classes<2>>;
template class CandidateSearch<Classes<0>>;
template class CandidateSearch<PackedClasses>;
template class CandidateSearch<Numbers<1>>;
template class CandidateSearch<Numbers<0>>;

}  // namespace hedgerow::cart
