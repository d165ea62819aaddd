// The best of many candidate splits of a node. An engine passes the sums of the left side of each;
// candidates are collected and evaluated many at a time, so that the arithmetic is vectorised.
//
// With W and G the sums of a node, w and g those of its left side, the weighted impurity decreases
// by
//   quadratic:  Σ (W·g − G·w)² / (W·w·(W − w)), which is Σ g²/w over both sides minus G²/W, but
//               subtracts before it squares;
//   entropy:    Σ g·log g − w·log w over both sides, minus the same of the node;
//   error:      max g over both sides, minus the same of the node. Many splits have the same error,
//               and in most nodes none has less than the node; the quadratic score decides.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cart/kinds.hpp"
#include "cart/tree.hpp"
#include "shared/math.hpp"

namespace hedgerow::cart {

inline double x_log_x(double x) { return x > 0.0 ? x * log(x) : 0.0; }

// A node's sums in the form that the search needs, in fixed-point units.
template <class Kind>
class NodeTotals {
 public:
  NodeTotals(const Kind& kind, const CartRules& rules)
      : impurity(rules.impurity), kind_(kind), amount(static_cast<std::size_t>(kind.n_values())) {}

  void start(const std::uint64_t* of_node) {
    sums = of_node;
    weight = kind_.weight(of_node);
    for (int v = 0; v < kind_.n_values(); ++v) {
      amount[static_cast<std::size_t>(v)] = kind_.amount(of_node, v);
    }
    count = kind_.count(of_node);
    largest = *std::max_element(amount.begin(), amount.end());
    if (!is_entropy(impurity)) return;
    information = -kind_.target.n_outputs * x_log_x(weight);
    for (const double share : amount) information += x_log_x(share);
  }

  // The impurity decrease that belongs to a score of CandidateSearch: finite and at least 0.
  double gain(const Score& score) const {
    const double gain = decrease(score.value) * kind_.target.gain_unit / kind_.target.n_outputs;
    return std::clamp(gain, 0.0, kEveryNumber);
  }

  // By the error: the score of the node itself, which only splits that gain exceed.
  Score of_node() const { return {largest, std::numeric_limits<double>::infinity()}; }

  const Impurity impurity;

 private:
  double decrease(double score) const {
    if (is_entropy(impurity)) return score - information;
    if (impurity == Impurity::error) return score - largest;
    return score * (1 + Kind::kFirstTerm) / weight;
  }

  Kind kind_;

 public:
  const std::uint64_t* sums = nullptr;
  double weight = 0.0;
  std::int64_t count = 0;
  std::vector<double> amount;
  double information = 0.0;
  double largest = 0.0;  // amount of a class
};

template <class Kind>
class CandidateSearch {
 public:
  CandidateSearch(const Kind& kind, const CartRules& rules)
      : kind_(kind),
        min_weight_(rules.min_weight_leaf / kind.target.weights.weight_unit),
        min_count_(rules.min_samples_leaf),
        capacity_(std::clamp<std::size_t>(kWordsKept / words() / kLanes * kLanes, 16, 256)),
        sums_(words() * capacity_),
        position_(capacity_),
        weight_(capacity_),
        amount_(capacity_),
        score_(capacity_) {
    if (rules.impurity == Impurity::error) correct_.resize(capacity_);
  }

  std::size_t words() const { return static_cast<std::size_t>(kind_.n_words()); }

  // Starts a feature; only scores above `floor` count.
  void start(const NodeTotals<Kind>& totals, const Score& floor) {
    totals_ = &totals;
    best_ = floor;
    found_ = false;
  }

  // Candidates evaluated from now on send missing values to this side.
  void send_missing(bool left) { missing_left_ = left; }

  // Adds a candidate, identified by its position.
  void push(const std::uint64_t* left, std::uint32_t position) {
    for (std::size_t w = 0; w < words(); ++w) sums_[w * capacity_ + n_] = left[w];
    position_[n_] = position;
    if (++n_ == capacity_) evaluate();
  }

  // Evaluates the candidates that were pushed.
  void evaluate() { evaluate(std::exchange(n_, 0)); }

  // An engine may also write candidates directly and then call evaluate(n): word w of candidate i
  // is slots()[w · capacity() + i].
  std::size_t capacity() const { return capacity_; }
  std::uint64_t* slots() { return sums_.data(); }
  std::uint32_t* positions() { return position_.data(); }

  void evaluate(std::size_t n) {
    if (n > 0) score_and_compare(n);
  }

  // By the error: whether a candidate between these two left sides can have fewer errors than the
  // node and no more than the best so far. With class j on the left and another, k, on the right,
  // no more is correct than what j has on the left at the end, and k on the right at the beginning.
  bool within_reach(const std::uint64_t* begin, const std::uint64_t* end) const
    requires(!Kind::kHasNumbers)
  {
    return beats({static_cast<double>(most_of_two_classes(begin, end)), kEveryNumber}, best_);
  }

  // The best candidate of the feature, the first of equals.
  bool found() const { return found_; }
  const Score& score() const { return best_; }
  double left_weight() const { return best_weight_; }
  std::uint32_t position() const { return best_position_; }
  bool missing_left() const { return best_missing_left_; }

 private:
  static constexpr std::size_t kWordsKept = 8192;  // at most 64 KiB of sums, unless words are many
  // Candidates are evaluated in blocks of this many, so that no loop has a scalar remainder.
  // Whatever follows the last candidate is evaluated with its block and ignored.
  static constexpr std::size_t kLanes = 8;
  // Scores below this share of the highest are beaten by it.
  static constexpr double kNearly = 1.0 - 0x1p-35;

  std::int64_t most_of_two_classes(const std::uint64_t* begin, const std::uint64_t* end) const
    requires(!Kind::kHasNumbers)
  {
    std::int64_t most = 0, left = 0, right = 0;  // of the classes before v
    for (int v = 0; v < kind_.n_values(); ++v) {
      const std::int64_t on_left = kind_.units(end, v);
      const std::int64_t on_right = kind_.units(totals_->sums, v) - kind_.units(begin, v);
      if (v > 0) most = std::max({most, left + on_right, on_left + right});
      left = std::max(left, on_left);
      right = std::max(right, on_right);
    }
    return most;
  }

  const std::uint64_t* sums_at(std::size_t i) const { return sums_.data() + i; }
  void score_and_compare(std::size_t n);
  void compare_errors(std::size_t n)
    requires(!Kind::kHasNumbers);
  std::size_t keep_fewest_errors(std::size_t n)
    requires(!Kind::kHasNumbers);
  void count_correct(std::size_t n)
    requires(!Kind::kHasNumbers);
  void challenge(std::size_t i, const Score& score);
  template <std::size_t lanes>
  void evaluate_blocks(std::size_t n);
  template <std::size_t lanes>
  void weigh(std::size_t n);
  template <std::size_t lanes>
  const double* amounts(int v, std::size_t n);
  template <std::size_t lanes>
  void score_quadratic(std::size_t n);
  template <std::size_t lanes>
  void score_entropy(std::size_t n, std::size_t n_full);
  template <std::size_t lanes, class Number>
  void rule_out_few(std::size_t n, Number* score, Number none);
  template <std::size_t lanes, class Number>
  void rule_out_light(std::size_t n, Number* score, Number none);

  Kind kind_;
  double min_weight_;
  std::int64_t min_count_;
  std::size_t capacity_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::uint32_t> position_;
  std::vector<double> weight_, amount_, score_;
  std::vector<std::int64_t> correct_;  // for the error
  const NodeTotals<Kind>* totals_ = nullptr;
  std::size_t n_ = 0;
  bool missing_left_ = false;
  Score best_;
  double best_weight_ = 0.0;
  bool found_ = false;
  std::uint32_t best_position_ = 0;
  bool best_missing_left_ = false;
};

// Compiled in candidate_search.cpp, for all kinds of targets.
extern template class CandidateSearch<Classes<2>>;
extern template class CandidateSearch<Classes<0>>;
extern template class CandidateSearch<PackedClasses>;
extern template class CandidateSearch<Numbers<1>>;
extern template class CandidateSearch<Numbers<0>>;

}  // namespace hedgerow::cart
