// Scanning sorted lists by the absolute error: all candidates of a list of n rows in O(n log n).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart/bins.hpp"
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

  MedianCriterion(const CartTarget& target, const CartRules& rules) : kind{target}, rules_(rules) {
    for (int v = 0; v < target.n_values; ++v) numbers_.emplace_back(target, v);
  }

  // Starts a node; n_row_numbers exceeds every row index. `take` follows for each output.
  void start(const std::uint64_t* sums, std::size_t n_row_numbers) {
    weight_ = kind.target.weights.weight(sums[0]);
    deviation_ = 0.0;
    for (OrderedNumbers& numbers : numbers_) numbers.start(n_row_numbers);
  }

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

  // Only sums look for gains first.
  static bool gains_first() { return false; }

  double gain(const Score& score) const {
    const double decrease =
        (deviation_ + score.value) * kind.target.gain_unit / kind.target.n_outputs;
    return std::clamp(decrease, 0.0, kEveryNumber);
  }

  const Kind kind;

 private:
  // The rows of a category: [begin, end) of the list.
  struct Run {
    std::uint32_t code;
    std::size_t begin, end;
  };

  void search_numbers(MedianScratch& scratch, const TargetRows& rows, std::size_t n_values,
                      const ScanRequest& request, ScanResult& best) const {
    const std::size_t n = scratch.rows.size();
    scratch.queue = scratch.rows;
    scratch.ends.assign(n, 0);
    if (request.only) {
      scratch.ends[*request.only] = 1;
    } else {
      for (std::size_t i = 0; i + 1 < n; ++i)
        scratch.ends[i] = scratch.ranks[i] != scratch.ranks[i + 1];
    }
    evaluate(scratch, rows, 0, false, best);
    if (n_values == n || n_values < 2) return;
    const auto middle = static_cast<std::ptrdiff_t>(n_values);  // missing values first
    std::rotate(scratch.queue.begin(), scratch.queue.begin() + middle, scratch.queue.end());
    std::rotate(scratch.ends.begin(), scratch.ends.begin() + middle, scratch.ends.end());
    scratch.ends.back() = 0;
    evaluate(scratch, rows, n - n_values, true, best);
  }

  void search_categories(MedianScratch& scratch, const TargetRows& rows, std::size_t n_values,
                         const ScanRequest& request, ScanResult& best) const {
    const std::size_t n = scratch.rows.size();
    std::vector<Run> runs;
    for (std::size_t i = 0; i < n_values; ++i) {
      if (i == 0 || scratch.ranks[i] != scratch.ranks[i - 1])
        runs.push_back({scratch.ranks[i], i, i});
      runs.back().end = i + 1;
    }
    sort_runs(scratch, rows, request, runs);
    const int n_runs = static_cast<int>(runs.size());
    const int random_position =
        draw_place(draw_threshold(threshold_draws(rules_, request.key), request.feature), n_runs);
    const auto move = [&](std::size_t begin, std::size_t end, bool may_split) {
      const auto* first = scratch.rows.data();
      scratch.queue.insert(scratch.queue.end(), first + begin, first + end);
      scratch.ends.resize(scratch.queue.size(), 0);
      if (end > begin) scratch.ends.back() = may_split;
    };
    for (const bool missing_left : {false, true}) {
      if (missing_left && (n_values == n || n_runs < 2)) break;
      scratch.queue.clear();
      scratch.ends.clear();
      if (missing_left) move(n_values, n, false);
      for (int r = 0; r < n_runs; ++r) {
        const Run& run = runs[static_cast<std::size_t>(r)];
        move(run.begin, run.end, !rules_.random_thresholds || r == random_position);
      }
      if (!missing_left) move(n_values, n, false);
      scratch.ends.back() = 0;
      evaluate(scratch, rows, missing_left ? n - n_values : 0, missing_left, best);
    }
    if (!best.found) return;
    std::size_t moved = 0;
    for (std::size_t r = 0; moved <= best.position; ++r) {
      moved += runs[r].end - runs[r].begin;
      best.categories[runs[r].code >> 5] |= 1u << (runs[r].code & 31);
    }
  }

  // Evaluates the splits of the queue, whose first n_before rows are not part of the list.
  void evaluate(MedianScratch& scratch, const TargetRows& rows, std::size_t n_before,
                bool missing_left, ScanResult& best) const {
    rule_out(scratch, rows);
    scratch.deviation.assign(scratch.queue.size(), 0.0);
    for (const OrderedNumbers& numbers : numbers_) {
      if (numbers.size() == 0) continue;
      if (numbers.is_even()) {
        add_deviations(scratch, scratch.list, numbers);
      } else {
        add_deviations(scratch, scratch.tree, numbers);
      }
    }
    for (std::size_t i = 0; i < scratch.queue.size(); ++i) {
      const Score score{-scratch.deviation[i], 0.0};
      if (!scratch.allowed[i] || !beats(score, best.score)) continue;
      best.found = true;
      best.score = score;
      best.missing_left = missing_left;
      best.position = i - n_before;
    }
  }

  // Rules out the splits with too few rows, or too little weight, on a side.
  void rule_out(MedianScratch& scratch, const TargetRows& rows) const {
    const std::size_t n = scratch.queue.size();
    const auto least = static_cast<std::size_t>(rules_.min_samples_leaf);
    const FixedPointWeights& weights = kind.target.weights;
    const double min_weight = rules_.min_weight_leaf / weights.weight_unit;
    scratch.allowed.resize(n);
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < n; ++i) {
      moved += rows.fixed_weight[scratch.queue[i]];
      const double weight = weights.weight(moved);
      const bool light = std::min(weight, weight_ - weight) < min_weight;
      scratch.allowed[i] = scratch.ends[i] && !light && i + 1 >= least && n - i - 1 >= least;
    }
  }

  // Removes rows from the end of the queue, which leaves the left sides of the splits, then from
  // the beginning, which leaves the right sides.
  template <class Rest>
  static void add_deviations(MedianScratch& scratch, Rest& rest, const OrderedNumbers& numbers) {
    const std::size_t n = scratch.queue.size();
    rest.start(numbers);
    for (std::size_t i = n - 1; i > 0; --i) {
      rest.remove(scratch.queue[i]);
      if (scratch.allowed[i - 1]) scratch.deviation[i - 1] += rest.deviation();
    }
    rest.start(numbers);
    for (std::size_t i = 0; i + 1 < n; ++i) {
      rest.remove(scratch.queue[i]);
      if (scratch.allowed[i]) scratch.deviation[i] += rest.deviation();
    }
  }

  // Sorts categories by their medians, or randomly.
  void sort_runs(MedianScratch& scratch, const TargetRows& rows, const ScanRequest& request,
                 std::vector<Run>& runs) const {
    const std::size_t n = runs.size(), width = numbers_.size();
    double rank[kBins], weight[kBins];
    scratch.point.resize(n * width);
    for (std::size_t r = 0; r < n; ++r) {
      const auto code = static_cast<int>(runs[r].code);
      if (rules_.random_thresholds) {
        rank[r] = draw_category(rules_, request.key, request.feature, code);
      } else {
        weight[r] = locate_run(scratch, rows, runs[r], scratch.point.data() + r * width);
      }
    }
    if (!rules_.random_thresholds)
      principal_coordinates({weight, n}, scratch.point, static_cast<int>(width), {rank, n});
    std::uint8_t order[kBins];
    order_of(rank, static_cast<int>(n), order);
    const std::vector<Run> unsorted = runs;
    for (std::size_t r = 0; r < n; ++r) runs[r] = unsorted[order[r]];
  }

  // Writes the medians of a category's numbers and returns its weight.
  double locate_run(MedianScratch& scratch, const TargetRows& rows, const Run& run,
                    double* point) const {
    std::uint64_t total = 0;
    for (std::size_t i = run.begin; i < run.end; ++i) total += rows.fixed_weight[scratch.rows[i]];
    const double weight = kind.target.weights.weight(total);
    for (std::size_t v = 0; v < numbers_.size(); ++v) {
      const OrderedNumbers& numbers = numbers_[v];
      point[v] = 0.0;
      if (numbers.size() == 0) continue;
      scratch.places.clear();
      for (std::size_t i = run.begin; i < run.end; ++i) {
        scratch.places.push_back(numbers.place(scratch.rows[i]));
      }
      std::sort(scratch.places.begin(), scratch.places.end());
      double passed = 0.0;
      for (auto place = scratch.places.begin(); 2.0 * passed < weight; ++place) {
        point[v] = numbers.distance(*place);
        passed += static_cast<double>(numbers.at(*place).weight);
      }
    }
    return weight;
  }

  const CartRules& rules_;
  std::vector<OrderedNumbers> numbers_;  // of each output; empty if constant
  double weight_ = 0.0, deviation_ = 0.0;
};

}  // namespace hedgerow::cart
