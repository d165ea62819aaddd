// The best of many cuts of a node. An engine hands over the left side of each; they are gathered
// and judged many at a time, so that the arithmetic is vectorised.
//
// With W and G the sums of a node, w and g those of its left side, the weighted impurity falls by
//   quadratic:  Σ (W·g − G·w)² / (W·w·(W − w)), which is Σ g²/w over both sides less G²/W, but
//               subtracts before it squares;
//   entropy:    Σ g·log g − w·log w over both sides, less the same of the node.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cart_kinds.hpp"
#include "cart_tree.hpp"
#include "math.hpp"

namespace hedgerow::cart {

inline double x_log_x(double x) { return x > 0.0 ? x * log(x) : 0.0; }

// A node's sums as the search for its cut needs them, in units of tickets and numbers.
template <class Kind>
class Totals {
 public:
  Totals(const Kind& kind, const CartRules& rules)
      : entropy(rules.impurity == Impurity::entropy),
        kind_(kind),
        amount(static_cast<std::size_t>(kind.n_values())) {}

  void start(const std::uint64_t* of_node) {
    sums = of_node;
    weight = kind_.target.tickets.weight(kind_.tickets(of_node));
    for (int v = 0; v < kind_.n_values(); ++v) {
      amount[static_cast<std::size_t>(v)] = kind_.amount(of_node[v], v);
    }
    if (!entropy) return;
    information = -kind_.target.n_outputs * x_log_x(weight);
    for (const double share : amount) information += x_log_x(share);
  }

  // The fall of impurity behind a score of CutSearch: at least 0, and finite, as a tree keeps it.
  double gain(double score) const {
    const double fall = entropy ? score - information : score * (1 + Kind::kFirstTerm) / weight;
    const double gain = fall * kind_.target.gain_unit / kind_.target.n_outputs;
    return std::clamp(gain, 0.0, kEveryNumber);
  }

  const bool entropy;

 private:
  Kind kind_;

 public:
  const std::uint64_t* sums = nullptr;
  double weight = 0.0;
  std::vector<double> amount;
  double information = 0.0;
};

template <class Kind>
class CutSearch {
 public:
  CutSearch(const Kind& kind, const CartRules& rules)
      : kind_(kind),
        min_weight_(rules.min_weight_leaf / kind.target.tickets.weight_unit),
        capacity_(std::clamp<std::size_t>(kWordsKept / words(), 16, 256)),
        sums_(words() * capacity_),
        position_(capacity_),
        weight_(capacity_),
        amount_(capacity_),
        score_(capacity_) {}

  std::size_t words() const { return static_cast<std::size_t>(kind_.n_words()); }

  // Begins a feature: only a score above `floor` counts.
  void start(const Totals<Kind>& totals, double floor) {
    totals_ = &totals;
    best_ = floor;
    found_ = false;
  }

  // Cuts that are judged from now on send missing values to this side.
  void send_missing(bool left) { missing_left_ = left; }

  // Takes a cut; the position tells it apart from the feature's others.
  void push(const std::uint64_t* left, std::uint32_t position) {
    for (std::size_t w = 0; w < words(); ++w) sums_[w * capacity_ + n_] = left[w];
    position_[n_] = position;
    if (++n_ == capacity_) judge();
  }

  // Judges what was pushed.
  void judge() { judge(std::exchange(n_, 0)); }

  // Where an engine may write cuts itself, and then call judge(n): word w of cut i is
  // slots()[w · capacity() + i].
  std::size_t capacity() const { return capacity_; }
  std::uint64_t* slots() { return sums_.data(); }
  std::uint32_t* positions() { return position_.data(); }

  void judge(std::size_t n) {
    weigh(n);
    totals_->entropy ? score_entropy(n) : score_quadratic(n);
    if (min_weight_ > 0.0) rule_out_light(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (!beats(score_[i], best_)) continue;
      best_ = score_[i];
      best_position_ = position_[i];
      best_missing_left_ = missing_left_;
      found_ = true;
    }
  }

  // The best cut of the feature: the first of those that score the same.
  bool found() const { return found_; }
  double score() const { return best_; }
  std::uint32_t position() const { return best_position_; }
  bool missing_left() const { return best_missing_left_; }

 private:
  static constexpr std::size_t kWordsKept = 8192;  // 64 KiB of sums at most, if there are few words

  void weigh(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      weight_[i] = kind_.target.tickets.weight(kind_.tickets(sums_.data() + i, capacity_));
    }
  }

  const double* amounts(int v, std::size_t n) {
    const std::uint64_t* word = sums_.data() + static_cast<std::size_t>(v) * capacity_;
    for (std::size_t i = 0; i < n; ++i) amount_[i] = kind_.amount(word[i], v);
    return amount_.data();
  }

  // The formula above times W, which is the same for all cuts of the node.
  void score_quadratic(std::size_t n) {
    const double W = totals_->weight;
    const double* __restrict w = weight_.data();
    double* __restrict score = score_.data();
    std::fill_n(score, n, 0.0);
    for (int v = Kind::kFirstTerm; v < kind_.n_values(); ++v) {
      const double* __restrict g = amounts(v, n);
      const double G = totals_->amount[static_cast<std::size_t>(v)];
      for (std::size_t i = 0; i < n; ++i) {
        const double apart = W * g[i] - G * w[i];
        score[i] += apart * apart;
      }
    }
    for (std::size_t i = 0; i < n; ++i) score[i] /= w[i] * (W - w[i]);
  }

  void score_entropy(std::size_t n) {
    const double W = totals_->weight, n_outputs = kind_.target.n_outputs;
    const double* __restrict w = weight_.data();
    double* __restrict score = score_.data();
    for (std::size_t i = 0; i < n; ++i) {
      score[i] = -n_outputs * (x_log_x(w[i]) + x_log_x(W - w[i]));
    }
    for (int v = 0; v < kind_.n_values(); ++v) {
      const double* __restrict g = amounts(v, n);
      const double G = totals_->amount[static_cast<std::size_t>(v)];
      for (std::size_t i = 0; i < n; ++i) score[i] += x_log_x(g[i]) + x_log_x(G - g[i]);
    }
  }

  void rule_out_light(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const double lighter = std::min(weight_[i], totals_->weight - weight_[i]);
      score_[i] = lighter < min_weight_ ? kNever : score_[i];
    }
  }

  Kind kind_;
  double min_weight_;
  std::size_t capacity_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::uint32_t> position_;
  std::vector<double> weight_, amount_, score_;
  const Totals<Kind>* totals_ = nullptr;
  std::size_t n_ = 0;
  bool missing_left_ = false;
  double best_ = kNever;
  bool found_ = false;
  std::uint32_t best_position_ = 0;
  bool best_missing_left_ = false;
};

}  // namespace hedgerow::cart
