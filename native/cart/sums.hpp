// Cuts of lists by impurities that are functions of sums: Gini, entropy, variance.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart/bins.hpp"
#include "cart/cuts.hpp"
#include "cart/growth.hpp"
#include "cart/lists.hpp"

namespace hedgerow::cart {

template <class KindOfTarget>
class SumCriterion {
 public:
  using Kind = KindOfTarget;

  // The memory of one thread.
  struct Lane {
    explicit Lane(const SumCriterion& criterion)
        : search(criterion.kind, criterion.rules_),
          bins(criterion.kind, criterion.rules_),
          left(search.words()) {}
    CutSearch<Kind> search;
    BinScan<Kind> bins;
    Sums left;
  };

  SumCriterion(const CartTarget& target, const CartRules& rules)
      : kind{target}, rules_(rules), totals_(kind, rules) {}

  // Begins a node.
  void start(const std::uint64_t* sums) { totals_.start(sums); }

  template <class Words>
  Answer search(Lane& lane, const TargetRows& rows, const List<Words>& list,
                const Question& question) const {
    lane.search.start(totals_, kNever);
    if (question.categorical) {
      search_categories(lane, rows, list, question);
    } else {
      search_numbers(lane, rows, list);
    }
    Answer answer{lane.search.found(), lane.search.score(), lane.search.missing_left(),
                  lane.search.position()};
    if (answer.found && question.categorical) {
      lane.bins.take_categories(static_cast<int>(answer.position), answer.categories);
    }
    return answer;
  }

  double gain(double score) const { return totals_.gain(score); }

  const Kind kind;

 private:
  template <class Words>
  void search_categories(Lane& lane, const TargetRows& rows, const List<Words>& list,
                         const Question& question) const {
    lane.bins.fill(
        list.size, [&](std::size_t i) { return list.is_missing(i) ? kMissingBin : list.rank(i); },
        [&](std::size_t i) { return kind.load(rows, list.row(i)); });
    lane.bins.sort_categories(question.key, question.feature);
    lane.bins.search(lane.search);
  }

  template <class Words>
  void search_numbers(Lane& lane, const TargetRows& rows, const List<Words>& list) const {
    const std::size_t n = list.size, n_values = list.n_values(), n_missing = n - n_values;
    const auto least = static_cast<std::size_t>(std::max<std::int64_t>(rules_.min_samples_leaf, 1));
    std::fill(lane.left.begin(), lane.left.end(), 0);
    lane.search.send_missing(false);
    scan(lane, rows, list, least - 1, std::min(n - least, n_values));
    if (n_missing == 0 || n_values <= least) return;
    add_up(
        kind, n_missing, [&](std::size_t i) { return kind.load(rows, list.row(n_values + i)); },
        kEveryRow, lane.left.data());
    lane.search.send_missing(true);
    scan(lane, rows, list, std::max(least, n_missing + 1) - n_missing - 1, n_values - least);
  }

  // Judges the cuts after places begin … end − 1, lane.left being what is to the left of the list.
  template <class Words>
  void scan(Lane& lane, const TargetRows& rows, const List<Words>& list, std::size_t begin,
            std::size_t end) const {
    if constexpr (Kind::kWords > 0) {
      std::uint64_t in_registers[Kind::kWords];
      std::copy_n(lane.left.data(), Kind::kWords, in_registers);
      scan_from(in_registers, lane, rows, list, begin, end);
    } else {
      scan_from(lane.left.data(), lane, rows, list, begin, end);
    }
  }

  template <class Words>
  void scan_from(std::uint64_t* sums, Lane& lane, const TargetRows& rows, const List<Words>& list,
                 std::size_t begin, std::size_t end) const {
    if (begin >= end) return;
    const auto take = [&](std::size_t i) {
      kind.add_masked(kind.load(rows, list.row(i)), ~std::uint64_t{0}, sums);
    };
    for (std::size_t i = 0; i < begin; ++i) take(i);
    std::uint64_t* slots = lane.search.slots();
    std::uint32_t* positions = lane.search.positions();
    const std::size_t capacity = lane.search.capacity();
    const std::size_t n_words = Kind::kWords > 0 ? Kind::kWords : lane.left.size();
    std::uint32_t rank = list.rank(begin);
    for (std::size_t start = begin; start < end; start += capacity) {
      std::size_t n = 0;
      for (std::size_t i = start, stop = std::min(end, start + capacity); i < stop; ++i) {
        take(i);
        const std::uint32_t next = list.rank(i + 1);
        // Of equal values only the last stays; the others are written over.
        for (std::size_t w = 0; w < n_words; ++w) slots[w * capacity + n] = sums[w];
        positions[n] = static_cast<std::uint32_t>(i);
        n += next != rank;
        rank = next;
      }
      lane.search.judge(n);
    }
  }

  const CartRules& rules_;
  Totals<Kind> totals_;
};

}  // namespace hedgerow::cart
