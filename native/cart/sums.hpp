// Scanning sorted lists by impurities that are functions of sums: Gini, entropy, variance.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart/bins.hpp"
#include "cart/candidate_search.hpp"
#include "cart/grower.hpp"
#include "cart/lists.hpp"

namespace hedgerow::cart {

template <class KindOfTarget>
class SumCriterion {
 public:
  using Kind = KindOfTarget;

  // Working memory of one thread.
  struct SumScratch {
    explicit SumScratch(const SumCriterion& criterion)
        : search(criterion.kind, criterion.rules_),
          bins(criterion.kind, criterion.rules_),
          left(search.words()),
          ahead(search.words()) {}
    CandidateSearch<Kind> search;
    BinScan<Kind> bins;
    Sums left, ahead;  // of the rows on the left, and of a block of rows after them
  };

  using Scratch = SumScratch;

  SumCriterion(const CartTarget& target, const CartRules& rules)
      : kind{target}, rules_(rules), totals_(kind, rules) {}

  // Starts a node.
  void start(const std::uint64_t* sums) { totals_.start(sums); }

  template <class Words>
  ScanResult search(SumScratch& scratch, const TargetRows& rows, const SortedList<Words>& list,
                    const ScanRequest& request) const {
    scratch.search.start(totals_, request.gains_only ? totals_.of_node() : Score());
    if (request.categorical) {
      search_categories(scratch, rows, list, request);
    } else if (request.gains_only) {
      search_numbers<!Kind::kHasNumbers>(scratch, rows, list);
    } else {
      search_numbers<false>(scratch, rows, list);
    }
    ScanResult result{scratch.search.found(), scratch.search.score(), scratch.search.left_weight(),
                      scratch.search.missing_left(), scratch.search.position()};
    if (result.found && request.categorical) {
      scratch.bins.take_categories(static_cast<int>(result.position), result.categories);
    }
    return result;
  }

  double gain(const Score& score) const { return totals_.gain(score); }

  // Whether to look for gains first. By the error, few splits have fewer errors than the node
  // itself, most of them near the ends of the lists, and the rest of the lists is out of their
  // reach. If there is none, all splits have the same error, and have to be compared.
  bool gains_first() const { return rules_.impurity == Impurity::error; }

  const Kind kind;

 private:
  template <class Words>
  void search_categories(SumScratch& scratch, const TargetRows& rows, const SortedList<Words>& list,
                         const ScanRequest& request) const {
    scratch.bins.fill(
        list.size, [&](std::size_t i) { return list.is_missing(i) ? kMissingBin : list.rank(i); },
        [&](std::size_t i) { return kind.contribution(rows, list.row(i)); });
    scratch.bins.sort_categories(request.key, request.feature);
    scratch.bins.search(scratch.search);
  }

  template <bool kGainsOnly, class Words>
  void search_numbers(SumScratch& scratch, const TargetRows& rows,
                      const SortedList<Words>& list) const {
    const std::size_t n = list.size, n_values = list.n_values(), n_missing = n - n_values;
    const auto least = static_cast<std::size_t>(std::max<std::int64_t>(rules_.min_samples_leaf, 1));
    std::fill(scratch.left.begin(), scratch.left.end(), 0);
    scratch.search.send_missing(false);
    scan<kGainsOnly>(scratch, rows, list, least - 1, std::min(n - least, n_values));
    if (n_missing == 0 || n_values <= least) return;
    add_up(
        kind, n_missing,
        [&](std::size_t i) { return kind.contribution(rows, list.row(n_values + i)); }, kEveryRow,
        scratch.left.data());
    scratch.search.send_missing(true);
    scan<kGainsOnly>(scratch, rows, list, std::max(least, n_missing + 1) - n_missing - 1,
                     n_values - least);
  }

  // Evaluates the splits after positions [begin, end); scratch.left is on the left side of all.
  template <bool kGainsOnly, class Words>
  void scan(SumScratch& scratch, const TargetRows& rows, const SortedList<Words>& list,
            std::size_t begin, std::size_t end) const {
    if constexpr (Kind::kWords > 0) {
      std::uint64_t in_registers[Kind::kWords];
      std::copy_n(scratch.left.data(), Kind::kWords, in_registers);
      scan_from<kGainsOnly>(in_registers, scratch, rows, list, begin, end);
    } else {
      scan_from<kGainsOnly>(scratch.left.data(), scratch, rows, list, begin, end);
    }
  }

  template <bool kGainsOnly, class Words>
  void scan_from(std::uint64_t* sums, SumScratch& scratch, const TargetRows& rows,
                 const SortedList<Words>& list, std::size_t begin, std::size_t end) const {
    if (begin >= end) return;
    const auto take = [&](std::size_t i) {
      kind.add_masked(kind.contribution(rows, list.row(i)), ~std::uint64_t{0}, sums);
    };
    for (std::size_t i = 0; i < begin; ++i) take(i);
    std::uint64_t* slots = scratch.search.slots();
    std::uint32_t* positions = scratch.search.positions();
    const std::size_t capacity = scratch.search.capacity();
    const std::size_t n_words = Kind::kWords > 0 ? Kind::kWords : scratch.left.size();
    std::uint32_t rank = list.rank(begin);
    for (std::size_t start = begin; start < end; start += capacity) {
      const std::size_t stop = std::min(end, start + capacity);
      if constexpr (kGainsOnly) {
        if (stop - start == capacity && skips(sums, scratch, rows, list, start, stop)) {
          rank = list.rank(stop);
          continue;
        }
      }
      std::size_t n = 0;
      for (std::size_t i = start; i < stop; ++i) {
        take(i);
        const std::uint32_t next = list.rank(i + 1);
        // Only the last of equal values is kept; the others are overwritten.
        for (std::size_t w = 0; w < n_words; ++w) slots[w * capacity + n] = sums[w];
        positions[n] = static_cast<std::uint32_t>(i);
        n += next != rank;
        rank = next;
      }
      scratch.search.evaluate(n);
    }
  }

  // Adds rows [start, stop) to the sums if no split after one of them is within reach.
  template <class Words>
  bool skips(std::uint64_t* sums, SumScratch& scratch, const TargetRows& rows,
             const SortedList<Words>& list, std::size_t start, std::size_t stop) const {
    std::uint64_t* ahead = scratch.ahead.data();
    add_up(
        kind, stop - start,
        [&](std::size_t i) { return kind.contribution(rows, list.row(start + i)); }, kEveryRow,
        ahead);
    for (std::size_t w = 0; w < scratch.ahead.size(); ++w) ahead[w] += sums[w];
    if (scratch.search.within_reach(sums, ahead)) return false;
    std::copy(scratch.ahead.begin(), scratch.ahead.end(), sums);
    return true;
  }

  const CartRules& rules_;
  NodeTotals<Kind> totals_;
};

}  // namespace hedgerow::cart
