// The candidate splits of a binned feature: a histogram of a node's rows, and the scan over it.
// Bins of a numeric feature are scanned in their order; categories are sorted first.
//
// Most nodes have few rows, and their cost must depend on the rows, not on the number of bins: only
// occupied bins are visited and cleared.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart/candidate_search.hpp"
#include "shared/random.hpp"
#include "table/binned_view.hpp"
#include "tree/category_order.hpp"

namespace hedgerow::cart {

// Random numbers in [0, 1) for the node with this key: one per feature, and one per category.
inline std::uint64_t threshold_draws(const CartRules& rules, std::uint64_t key) {
  return hash_key(rules.seed, Purpose::cart_threshold, key);
}
inline double draw_threshold(std::uint64_t draws, int feature) {
  return unit_interval(hash_at(draws, static_cast<std::uint64_t>(feature)));
}
inline double draw_category(const CartRules& rules, std::uint64_t key, int feature, int code) {
  return unit_interval(hash_u64(rules.seed, Purpose::cart_categories,
                                key + static_cast<std::uint64_t>(feature),
                                static_cast<std::uint64_t>(code)));
}

// A random position between n sorted categories: after the first, the second, …
inline int draw_place(double u, int n) {
  return std::min(std::max(n - 2, 0), static_cast<int>(u * (n - 1)));
}

// The order that sorts n ranks; stable.
inline void order_of(const double* rank, int n, std::uint8_t* order) {
  for (int i = 0; i < n; ++i) order[i] = static_cast<std::uint8_t>(i);
  std::stable_sort(order, order + n,
                   [&](std::uint8_t a, std::uint8_t b) { return rank[a] < rank[b]; });
}

template <class Kind>
class BinScan {
 public:
  BinScan(const Kind& kind, const CartRules& rules)
      : kind_(kind), rules_(rules), histogram_(kBins * words()), left_(words()) {}

  // Fills the histogram from bin_at(i) and contribution_at(i) for i < n.
  template <class BinAt, class ContributionAt>
  void fill(std::size_t n, BinAt bin_at, ContributionAt contribution_at) {
    clear();
    n_codes_ = 0;
    n >= kDenseRows ? fill_all(n, bin_at, contribution_at) : fill_some(n, bin_at, contribution_at);
    has_missing_ = n_codes_ > 0 && codes_[n_codes_ - 1] == kMissingBin;
    n_values_ = n_codes_ - has_missing_;
  }

  bool is_constant() const { return n_codes_ < 2; }
  bool has_missing() const { return has_missing_; }
  // The occupied bins other than the missing bin, in scan order.
  int n_values() const { return n_values_; }
  int code(int position) const { return codes_[position]; }

  // Sorts categories along their principal component, or randomly if thresholds are random.
  void sort_categories(std::uint64_t key, int feature) {
    double rank[kBins], weight[kBins];
    const auto n = static_cast<std::size_t>(n_values_);
    if (rules_.random_thresholds) {
      for (std::size_t i = 0; i < n; ++i) rank[i] = draw_category(rules_, key, feature, codes_[i]);
    } else {
      const int width = kind_.n_values() - Kind::kFirstTerm;
      point_.resize(n * static_cast<std::size_t>(width));
      for (std::size_t i = 0; i < n; ++i) weight[i] = locate(i, width);
      principal_coordinates({weight, n}, point_, width, {rank, n});
    }
    std::uint8_t order[kBins], codes[kBins];
    order_of(rank, n_values_, order);
    for (int i = 0; i < n_values_; ++i) codes[i] = codes_[order[i]];
    std::copy_n(codes, n_values_, codes_);
  }

  // Evaluates the splits after each position, with missing values on either side.
  void search(CandidateSearch<Kind>& search) {
    scan(search, false, has_missing_ ? n_values_ : n_values_ - 1);
    if (has_missing_) scan(search, true, n_values_ - 1);
  }

  // Evaluates one split, at a random position.
  void search_at_random(CandidateSearch<Kind>& search, double u) {
    const int position = draw_place(u, n_values_);
    for (const bool missing_left : {false, true}) {
      if (missing_left && (!has_missing_ || n_values_ < 2)) break;
      take_left(position, missing_left, left_.data());
      search.send_missing(missing_left);
      search.push(left_.data(), static_cast<std::uint32_t>(position));
      search.evaluate();
    }
  }

  // The sums of the left side of a split.
  void take_left(int position, bool missing_left, std::uint64_t* sums) const {
    start(missing_left, sums);
    for (int i = 0; i <= position; ++i) move(i, sums);
  }

  void take_categories(int position, std::uint32_t* bits) const {
    for (int i = 0; i <= position; ++i) bits[codes_[i] >> 5] |= 1u << (codes_[i] & 31);
  }

 private:
  static constexpr std::size_t kDenseRows = 160;  // from here on most bins hold rows

  std::size_t words() const { return static_cast<std::size_t>(kind_.n_words()); }
  std::uint64_t* bin(std::size_t code) { return histogram_.data() + code * words(); }
  const std::uint64_t* bin(std::size_t code) const { return histogram_.data() + code * words(); }

  // Clears the bins that were filled; the others are zero.
  void clear() {
    for (int i = 0; i < n_codes_; ++i) std::fill_n(bin(codes_[i]), words(), 0);
  }

  template <class BinAt, class ContributionAt>
  void fill_all(std::size_t n, BinAt bin_at, ContributionAt contribution_at) {
    for (std::size_t i = 0; i < n; ++i) kind_.add(contribution_at(i), bin(bin_at(i)));
    for (std::size_t code = 0; code < kBins; ++code) {
      codes_[n_codes_] = static_cast<std::uint8_t>(code);
      n_codes_ += kind_.count(bin(code)) != 0;
    }
  }

  template <class BinAt, class ContributionAt>
  void fill_some(std::size_t n, BinAt bin_at, ContributionAt contribution_at) {
    std::uint64_t occupied[kBins / 64] = {};
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t code = bin_at(i);
      occupied[code >> 6] |= std::uint64_t{1} << (code & 63);
      kind_.add(contribution_at(i), bin(code));
    }
    for (int word = 0; word < kBins / 64; ++word) {
      for (std::uint64_t bits = occupied[word]; bits; bits &= bits - 1) {
        codes_[n_codes_++] = static_cast<std::uint8_t>(64 * word + std::countr_zero(bits));
      }
    }
  }

  // Writes the coordinates of bin i (class fractions, for two classes the second; or means) and
  // returns its weight.
  double locate(std::size_t i, int width) {
    const std::uint64_t* sums = bin(codes_[i]);
    const double weight = kind_.weight(sums);
    for (int v = 0; v < width; ++v) {
      const double amount = kind_.amount(sums, v + Kind::kFirstTerm);
      point_[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(v)] = amount / weight;
    }
    return weight;
  }

  void start(bool missing_left, std::uint64_t* sums) const {
    const std::uint64_t* missing = bin(kMissingBin);
    for (std::size_t w = 0; w < words(); ++w) sums[w] = missing_left ? missing[w] : 0;
  }

  void move(int position, std::uint64_t* sums) const {
    const std::uint64_t* of_bin = bin(codes_[position]);
    for (std::size_t w = 0; w < words(); ++w) sums[w] += of_bin[w];
  }

  void scan(CandidateSearch<Kind>& search, bool missing_left, int n_candidates) {
    search.send_missing(missing_left);
    start(missing_left, left_.data());
    if constexpr (Kind::kWords > 0) {
      std::uint64_t in_registers[Kind::kWords];
      std::copy_n(left_.data(), Kind::kWords, in_registers);
      scan_from(in_registers, search, n_candidates);
    } else {
      scan_from(left_.data(), search, n_candidates);
    }
    search.evaluate();
  }

  void scan_from(std::uint64_t* sums, CandidateSearch<Kind>& search, int n_candidates) const {
    for (int position = 0; position < n_candidates; ++position) {
      move(position, sums);
      search.push(sums, static_cast<std::uint32_t>(position));
    }
  }

  Kind kind_;
  const CartRules& rules_;
  std::vector<std::uint64_t> histogram_, left_;
  std::vector<double> point_;
  std::uint8_t codes_[kBins + 1];
  int n_codes_ = 0, n_values_ = 0;
  bool has_missing_ = false;
};

}  // namespace hedgerow::cart
