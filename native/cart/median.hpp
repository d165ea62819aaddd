// Cuts of lists by the absolute error. All cuts of a list of n rows take O(n log n) at most.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart/deviation.hpp"
#include "cart/kinds.hpp"
#include "cart/lists.hpp"

namespace hedgerow::cart {

// What nodes carry along: their tickets alone.
struct Medians {
  static constexpr int kWords = 1;
  const CartTarget& target;

  int n_words() const { return 1; }
  std::uint64_t load(const TargetRows& rows, std::uint32_t row) const { return rows.ticket[row]; }
  void add_masked(std::uint64_t ticket, std::uint64_t mask, std::uint64_t* sums) const {
    sums[0] += ticket & mask;
  }
  double weight(const std::uint64_t* sums) const { return target.tickets.weight(sums[0]); }
};

class MedianCriterion {
 public:
  using Kind = Medians;

  // The memory of one thread.
  struct Lane {
    explicit Lane(const MedianCriterion&) {}
    std::vector<std::uint32_t> rows, ranks;  // of the list
    std::vector<std::uint32_t> queue;        // rows in the order in which they move to the left
    std::vector<std::uint8_t> ends;          // whether a cut can be made after each
    std::vector<std::uint8_t> cuts;          // and leaves enough on both sides
    std::vector<double> deviation;           // of both sides of the cut after each
    LinkedRows list;
    RowTree tree;
    std::vector<double> point;
    std::vector<std::uint32_t> places;
  };

  MedianCriterion(const CartTarget& target, const CartRules& rules);

  // Begins a node; n_row_numbers is more than any of its rows' numbers. Then its numbers follow.
  void start(const std::uint64_t* sums, std::size_t n_row_numbers);
  // Takes in number v of the rows in its order; not called if it is the same in all of them.
  template <class Words>
  void take(int v, const TargetRows& rows, const List<Words>& list) {
    OrderedNumbers& numbers = numbers_[static_cast<std::size_t>(v)];
    for (std::size_t i = 0; i < list.size; ++i) {
      const std::size_t row = list.row(i), at = row * numbers_.size() + static_cast<std::size_t>(v);
      numbers.append(list.row(i), rows.ticket[row], rows.numbers[at], rows.raw[at]);
    }
    numbers.finish();
    deviation_ += numbers.deviation(numbers.median(), numbers.passed(), numbers.total());
  }

  template <class Words>
  Answer search(Lane& lane, const TargetRows& rows, const List<Words>& list,
                const Question& question) const {
    lane.rows.resize(list.size);
    lane.ranks.resize(list.size);
    for (std::size_t i = 0; i < list.size; ++i) {
      lane.rows[i] = list.row(i);
      lane.ranks[i] = list.rank(i);
    }
    Answer best;
    if (question.categorical) {
      search_categories(lane, rows, list.n_values(), question, best);
    } else {
      search_numbers(lane, rows, list.n_values(), question, best);
    }
    return best;
  }

  double gain(double score) const;

  const Kind kind;

 private:
  // The rows of a category: begin … end − 1 of the list.
  struct Run {
    std::uint32_t code;
    std::size_t begin, end;
  };

  void search_numbers(Lane& lane, const TargetRows& rows, std::size_t n_values,
                      const Question& question, Answer& best) const;
  void search_categories(Lane& lane, const TargetRows& rows, std::size_t n_values,
                         const Question& question, Answer& best) const;
  void judge(Lane& lane, const TargetRows& rows, std::size_t n_before, bool missing_left,
             Answer& best) const;
  void rule_out(Lane& lane, const TargetRows& rows) const;
  template <class Rest>
  static void add_deviations(Lane& lane, Rest& rest, const OrderedNumbers& numbers);
  void sort_runs(Lane& lane, const TargetRows& rows, const Question& question,
                 std::vector<Run>& runs) const;
  double place_run(Lane& lane, const TargetRows& rows, const Run& run, double* point) const;

  const CartRules& rules_;
  std::vector<OrderedNumbers> numbers_;  // empty where all are the same
  double weight_ = 0.0, deviation_ = 0.0;
};

}  // namespace hedgerow::cart
