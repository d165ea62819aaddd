#include "cart/median.hpp"

#include <algorithm>

#include "cart/bins.hpp"

namespace hedgerow::cart {

MedianCriterion::MedianCriterion(const CartTarget& target, const CartRules& rules)
    : kind{target}, rules_(rules) {
  for (int v = 0; v < target.n_values; ++v) numbers_.emplace_back(target, v);
}

void MedianCriterion::start(const std::uint64_t* sums, std::size_t n_row_numbers) {
  weight_ = kind.target.tickets.weight(sums[0]);
  deviation_ = 0.0;
  for (OrderedNumbers& numbers : numbers_) numbers.start(n_row_numbers);
}

double MedianCriterion::gain(double score) const {
  const double fall = (deviation_ + score) * kind.target.gain_unit / kind.target.n_outputs;
  return std::clamp(fall, 0.0, kEveryNumber);
}

void MedianCriterion::search_numbers(Lane& lane, const TargetRows& rows, std::size_t n_values,
                                     const Question& question, Answer& best) const {
  const std::size_t n = lane.rows.size();
  lane.queue = lane.rows;
  lane.ends.assign(n, 0);
  if (question.only) {
    lane.ends[*question.only] = 1;
  } else {
    for (std::size_t i = 0; i + 1 < n; ++i) lane.ends[i] = lane.ranks[i] != lane.ranks[i + 1];
  }
  judge(lane, rows, 0, false, best);
  if (n_values == n || n_values < 2) return;
  const auto middle = static_cast<std::ptrdiff_t>(n_values);  // missing values go first now
  std::rotate(lane.queue.begin(), lane.queue.begin() + middle, lane.queue.end());
  std::rotate(lane.ends.begin(), lane.ends.begin() + middle, lane.ends.end());
  lane.ends.back() = 0;
  judge(lane, rows, n - n_values, true, best);
}

void MedianCriterion::search_categories(Lane& lane, const TargetRows& rows, std::size_t n_values,
                                        const Question& question, Answer& best) const {
  const std::size_t n = lane.rows.size();
  std::vector<Run> runs;
  for (std::size_t i = 0; i < n_values; ++i) {
    if (i == 0 || lane.ranks[i] != lane.ranks[i - 1]) runs.push_back({lane.ranks[i], i, i});
    runs.back().end = i + 1;
  }
  sort_runs(lane, rows, question, runs);
  const int n_runs = static_cast<int>(runs.size());
  const int drawn = draw_place(draw_cut(cut_draws(rules_, question.key), question.feature), n_runs);
  const auto move = [&](std::size_t begin, std::size_t end, bool may_cut) {
    const auto* first = lane.rows.data();
    lane.queue.insert(lane.queue.end(), first + begin, first + end);
    lane.ends.resize(lane.queue.size(), 0);
    if (end > begin) lane.ends.back() = may_cut;
  };
  for (const bool missing_left : {false, true}) {
    if (missing_left && (n_values == n || n_runs < 2)) break;
    lane.queue.clear();
    lane.ends.clear();
    if (missing_left) move(n_values, n, false);
    for (int r = 0; r < n_runs; ++r) {
      const Run& run = runs[static_cast<std::size_t>(r)];
      move(run.begin, run.end, !rules_.random_cuts || r == drawn);
    }
    if (!missing_left) move(n_values, n, false);
    lane.ends.back() = 0;
    judge(lane, rows, missing_left ? n - n_values : 0, missing_left, best);
  }
  if (!best.found) return;
  std::size_t moved = 0;
  for (std::size_t r = 0; moved <= best.position; ++r) {
    moved += runs[r].end - runs[r].begin;
    best.categories[runs[r].code >> 5] |= 1u << (runs[r].code & 31);
  }
}

// Judges the cuts of the queue; its first n_before rows are to the left of the list.
void MedianCriterion::judge(Lane& lane, const TargetRows& rows, std::size_t n_before,
                            bool missing_left, Answer& best) const {
  rule_out(lane, rows);
  lane.deviation.assign(lane.queue.size(), 0.0);
  for (const OrderedNumbers& numbers : numbers_) {
    if (numbers.size() == 0) continue;
    if (numbers.is_even()) {
      add_deviations(lane, lane.list, numbers);
    } else {
      add_deviations(lane, lane.tree, numbers);
    }
  }
  for (std::size_t i = 0; i < lane.queue.size(); ++i) {
    if (!lane.cuts[i] || !beats(-lane.deviation[i], best.score)) continue;
    best.found = true;
    best.score = -lane.deviation[i];
    best.missing_left = missing_left;
    best.position = i - n_before;
  }
}

// Rules out the cuts that leave too few rows, or too little weight, on a side.
void MedianCriterion::rule_out(Lane& lane, const TargetRows& rows) const {
  const std::size_t n = lane.queue.size();
  const auto least = static_cast<std::size_t>(rules_.min_samples_leaf);
  const Tickets& tickets = kind.target.tickets;
  const double min_weight = rules_.min_weight_leaf / tickets.weight_unit;
  lane.cuts.resize(n);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < n; ++i) {
    moved += rows.ticket[lane.queue[i]];
    const double weight = tickets.weight(moved);
    const bool light = std::min(weight, weight_ - weight) < min_weight;
    lane.cuts[i] = lane.ends[i] && !light && i + 1 >= least && n - i - 1 >= least;
  }
}

// Takes rows away from the end of the queue, which leaves the left sides of the cuts, then from its
// beginning, which leaves the right sides.
template <class Rest>
void MedianCriterion::add_deviations(Lane& lane, Rest& rest, const OrderedNumbers& numbers) {
  const std::size_t n = lane.queue.size();
  rest.start(numbers);
  for (std::size_t i = n - 1; i > 0; --i) {
    rest.remove(lane.queue[i]);
    if (lane.cuts[i - 1]) lane.deviation[i - 1] += rest.deviation();
  }
  rest.start(numbers);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    rest.remove(lane.queue[i]);
    if (lane.cuts[i]) lane.deviation[i] += rest.deviation();
  }
}

// Orders categories by their medians, or at random.
void MedianCriterion::sort_runs(Lane& lane, const TargetRows& rows, const Question& question,
                                std::vector<Run>& runs) const {
  const std::size_t n = runs.size(), width = numbers_.size();
  double rank[kBins], weight[kBins];
  lane.point.resize(n * width);
  for (std::size_t r = 0; r < n; ++r) {
    const auto code = static_cast<int>(runs[r].code);
    if (rules_.random_cuts) {
      rank[r] = draw_category(rules_, question.key, question.feature, code);
    } else {
      weight[r] = place_run(lane, rows, runs[r], lane.point.data() + r * width);
    }
  }
  if (!rules_.random_cuts) spread_out({weight, n}, lane.point, static_cast<int>(width), {rank, n});
  std::uint8_t order[kBins];
  order_of(rank, static_cast<int>(n), order);
  const std::vector<Run> unsorted = runs;
  for (std::size_t r = 0; r < n; ++r) runs[r] = unsorted[order[r]];
}

// Writes the medians of a category's numbers, and gives its weight.
double MedianCriterion::place_run(Lane& lane, const TargetRows& rows, const Run& run,
                                  double* point) const {
  std::uint64_t total = 0;
  for (std::size_t i = run.begin; i < run.end; ++i) total += rows.ticket[lane.rows[i]];
  const double weight = kind.target.tickets.weight(total);
  for (std::size_t v = 0; v < numbers_.size(); ++v) {
    const OrderedNumbers& numbers = numbers_[v];
    point[v] = 0.0;
    if (numbers.size() == 0) continue;
    lane.places.clear();
    for (std::size_t i = run.begin; i < run.end; ++i) {
      lane.places.push_back(numbers.place(lane.rows[i]));
    }
    std::sort(lane.places.begin(), lane.places.end());
    double passed = 0.0;
    for (auto place = lane.places.begin(); 2.0 * passed < weight; ++place) {
      point[v] = numbers.distance(*place);
      passed += static_cast<double>(numbers.at(*place).weight);
    }
  }
  return weight;
}

}  // namespace hedgerow::cart
