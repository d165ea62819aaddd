// Scanning sorted lists by the absolute error: all candidates of a list of n rows in O(n log n).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart/deviation.hpp"
#include "cart/kinds.hpp"
#include "cart/lists.hpp"

namespace hedgerow::cart {

// The sums of a node: its weight.
struct Medians {
  static constexpr int kWords = 1;
  const CartTarget& target;

  int n_words() const { return 1; }
  std::uint64_t contribution(const TargetRows& rows, std::uint32_t row) const {
    return rows.fixed_weight[row];
  }
  void add_masked(std::uint64_t fixed_weight, std::uint64_t mask, std::uint64_t* sums) const {
    sums[0] += fixed_weight & mask;
  }
  double weight(const std::uint64_t* sums) const { return target.weights.weight(sums[0]); }
};

class MedianCriterion {
 public:
  using Kind = Medians;

  // Working memory of one thread.
  struct MedianScratch {
    explicit MedianScratch(const MedianCriterion&) {}
    std::vector<std::uint32_t> rows, ranks;  // of the list
    std::vector<std::uint32_t> queue;        // rows in the order in which they go left
    std::vector<std::uint8_t> ends;          // whether a value or category ends after each row
    std::vector<std::uint8_t> allowed;       // whether both sides are also large enough
    std::vector<double> deviation;           // of both sides of the split after each row
    LinkedRows list;
    RowTree tree;
    std::vector<double> point;
    std::vector<std::uint32_t> places;
  };

  using Scratch = MedianScratch;

  MedianCriterion(const CartTarget& target, const CartRules& rules);

  // Starts a node; n_row_numbers exceeds every row index. `take` follows for each output.
  void start(const std::uint64_t* sums, std::size_t n_row_numbers);
  // Takes the rows sorted by number v; not called if the number is constant in the node.
  template <class Words>
  void take(int v, const TargetRows& rows, const SortedList<Words>& list) {
    OrderedNumbers& numbers = numbers_[static_cast<std::size_t>(v)];
    for (std::size_t i = 0; i < list.size; ++i) {
      const std::size_t row = list.row(i), at = row * numbers_.size() + static_cast<std::size_t>(v);
      numbers.append(list.row(i), rows.fixed_weight[row], rows.numbers[at], rows.raw[at]);
    }
    numbers.finish();
    deviation_ += numbers.deviation(numbers.median(), numbers.passed(), numbers.total());
  }

  template <class Words>
  ScanResult search(MedianScratch& scratch, const TargetRows& rows, const SortedList<Words>& list,
                    const ScanRequest& request) const {
    scratch.rows.resize(list.size);
    scratch.ranks.resize(list.size);
    for (std::size_t i = 0; i < list.size; ++i) {
      scratch.rows[i] = list.row(i);
      scratch.ranks[i] = list.rank(i);
    }
    ScanResult best;
    if (request.categorical) {
      search_categories(scratch, rows, list.n_values(), request, best);
    } else {
      search_numbers(scratch, rows, list.n_values(), request, best);
    }
    return best;
  }

  double gain(double score) const;

  const Kind kind;

 private:
  // The rows of a category: [begin, end) of the list.
  struct Run {
    std::uint32_t code;
    std::size_t begin, end;
  };

  void search_numbers(MedianScratch& scratch, const TargetRows& rows, std::size_t n_values,
                      const ScanRequest& request, ScanResult& best) const;
  void search_categories(MedianScratch& scratch, const TargetRows& rows, std::size_t n_values,
                         const ScanRequest& request, ScanResult& best) const;
  void evaluate(MedianScratch& scratch, const TargetRows& rows, std::size_t n_before,
                bool missing_left, ScanResult& best) const;
  void rule_out(MedianScratch& scratch, const TargetRows& rows) const;
  template <class Rest>
  static void add_deviations(MedianScratch& scratch, Rest& rest, const OrderedNumbers& numbers);
  void sort_runs(MedianScratch& scratch, const TargetRows& rows, const ScanRequest& request,
                 std::vector<Run>& runs) const;
  double locate_run(MedianScratch& scratch, const TargetRows& rows, const Run& run,
                    double* point) const;

  const CartRules& rules_;
  std::vector<OrderedNumbers> numbers_;  // of each output; empty if constant
  double weight_ = 0.0, deviation_ = 0.0;
};

}  // namespace hedgerow::cart
