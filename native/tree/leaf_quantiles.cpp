#include "tree/leaf_quantiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/selection.hpp"
#include "core/threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kRowsPerThread = 4096;

// A kink, and its weight as an integer.
struct Kink {
  double at;
  std::uint64_t weight;
};

// Weights as integers: in units of the largest / 2^bits, so few bits that the weights of all rows
// add up to less than 2^63. 0 only for 0: every row with a weight counts.
class WeightUnits {
 public:
  WeightUnits(const LeafRows& rows, const Reduction& reduction) {
    if (!rows.weight) return;
    double largest = 0.0;
    std::uint64_t n_total = rows.size();
    for (std::size_t i = 0; i < n_total; ++i) {
      largest = std::max(largest, rows.weight[rows.row_at(i)]);
    }
    // The bits of a number ≥ 0 are ordered as the numbers are.
    auto bits = std::bit_cast<std::uint64_t>(largest);
    reduction.max({&bits, 1});
    reduction.sum({&n_total, 1});
    largest_ = std::bit_cast<double>(bits);
    steps_ = std::ldexp(1.0, 62 - static_cast<int>(std::bit_width(n_total)));
  }
  std::uint64_t operator()(double weight) const {
    if (!(weight > 0.0)) return 0;
    return std::max<std::uint64_t>(
        static_cast<std::uint64_t>(std::rint(weight / largest_ * steps_)), 1);
  }

 private:
  double largest_ = 1.0, steps_ = 1.0;
};

// The rows of a leaf with a weight.
struct LeafTotal {
  std::uint64_t count = 0, weight = 0;
};

// What decides a quantile. The slope of the loss increases by a row's weight at its kink; the
// minimum is where it crosses 0, or anywhere between two kinks if it is 0 there. In terms of the
// weight up to and with a kink: the first kink at which it is at least `reached` is the quantile,
// or the middle between that and the next if the weight is at most `level_to`. Both allow for the
// rounding of weights and levels.
struct QuantileTarget {
  std::uint64_t reached, level_to;
};

QuantileTarget target_of(const LeafTotal& total, double level, bool is_weighted) {
  const auto weight = static_cast<double>(total.weight);
  const double target = level * weight;
  if (is_weighted) {
    // Half a unit for each weight up to the kink, and for each of the total.
    const std::uint64_t at = static_cast<std::uint64_t>(std::rint(target));
    const std::uint64_t rounding = total.count + (total.weight >> 50);
    return {std::max<std::uint64_t>(at - std::min(at, rounding), 1), at + rounding};
  }
  const double rounding = weight * std::numeric_limits<double>::epsilon() * weight;
  const double rank = std::clamp(std::ceil(target - rounding), 1.0, weight);
  const auto reached = static_cast<std::uint64_t>(rank);
  return {reached, std::fabs(rank - target) > rounding ? 0 : reached};
}

double middle(double a, double b) { return 0.5 * (a + b); }

double weighted_quantile(std::span<Kink> kinks, double level) {
  std::sort(kinks.begin(), kinks.end(), [](const Kink& a, const Kink& b) { return a.at < b.at; });
  LeafTotal total = {kinks.size(), 0};
  for (const Kink& kink : kinks) total.weight += kink.weight;
  const QuantileTarget target = target_of(total, level, true);
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < kinks.size(); ++i) {
    passed += kinks[i].weight;
    const bool is_last = i + 1 == kinks.size();
    if (passed < target.reached || (!is_last && kinks[i + 1].at == kinks[i].at)) continue;
    const bool is_level = passed <= target.level_to && !is_last;
    return is_level ? middle(kinks[i].at, kinks[i + 1].at) : kinks[i].at;
  }
  return 0.0;
}

// The same if all weights are 1: order statistics, without sorting.
double quantile(std::span<double> kinks, double level) {
  const QuantileTarget target = target_of({kinks.size(), kinks.size()}, level, false);
  const auto nth = kinks.begin() + static_cast<std::ptrdiff_t>(target.reached) - 1;
  std::nth_element(kinks.begin(), nth, kinks.end());
  if (target.reached > target.level_to || nth + 1 == kinks.end()) return *nth;
  return middle(*nth, *std::min_element(nth + 1, kinks.end()));
}

// Row numbers sorted by leaf, in increasing order within a leaf; leaf l has [start[l], start[l +
// 1]).
struct ByLeaf {
  std::vector<std::size_t> start;
  std::vector<std::uint32_t> row;

  std::span<const std::uint32_t> rows_of(std::size_t leaf) const {
    return {row.data() + start[leaf], row.data() + start[leaf + 1]};
  }
};

ByLeaf sort_by_leaf(const LeafRows& rows, std::size_t n_leaves, int threads) {
  const std::size_t n = rows.size();
  const int team = threads_for(n, 4 * (kRowsPerThread + n_leaves), threads);
  const auto parts = static_cast<std::size_t>(team);
  std::vector<std::size_t> place(parts * n_leaves, 0);  // of a part's next row in a leaf
  const auto for_part = [&](std::size_t part, auto visit) {
    std::size_t* of_part = place.data() + part * n_leaves;
    for (std::size_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      const std::uint32_t row = rows.row_at(i);
      visit(row, of_part[rows.leaf[row]]++);
    }
  };
  parallel_for(team, parts, [&](std::size_t part) { for_part(part, [](auto, auto) {}); });
  ByLeaf sorted{{}, std::vector<std::uint32_t>(n)};
  std::size_t next = 0;
  for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
    sorted.start.push_back(next);
    for (std::size_t part = 0; part < parts; ++part) {
      next += std::exchange(place[part * n_leaves + leaf], next);
    }
  }
  sorted.start.push_back(next);
  parallel_for(team, parts, [&](std::size_t part) {
    for_part(part, [&](std::uint32_t row, std::size_t at) { sorted.row[at] = row; });
  });
  return sorted;
}

// Adding 0 turns −0 into 0, so that which of the two is found does not depend on the order of rows.
double kink_of(const LeafRows& rows, std::uint32_t row) { return rows.corner[row] + 0.0; }

void quantiles_alone(const LeafRows& rows, const ByLeaf& sorted, const WeightUnits& units,
                     std::span<const double> level, double* value, int team) {
  parallel_for(team, level.size(), [&](std::size_t leaf) {
    const std::span<const std::uint32_t> own = sorted.rows_of(leaf);
    value[leaf] = 0.0;
    if (own.empty()) return;
    if (rows.weight) {
      std::vector<Kink> kinks;
      kinks.reserve(own.size());
      for (const std::uint32_t row : own) {
        const std::uint64_t weight = units(rows.weight[row]);
        if (weight > 0) kinks.push_back({kink_of(rows, row), weight});
      }
      value[leaf] = weighted_quantile(kinks, level[leaf]);
    } else {
      std::vector<double> kinks;
      kinks.reserve(own.size());
      for (const std::uint32_t row : own) kinks.push_back(kink_of(rows, row));
      value[leaf] = quantile(kinks, level[leaf]);
    }
  });
}

// A number as an integer of the same order.
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
std::uint64_t key_of(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  return bits & kSign ? ~bits : bits | kSign;
}
double number_of(std::uint64_t key) {
  return std::bit_cast<double>(key & kSign ? key ^ kSign : ~key);
}

// This worker's kinks by leaf, as keys.
std::vector<std::vector<WeightedKey>> keys_by_leaf(const LeafRows& rows, const ByLeaf& sorted,
                                                   const WeightUnits& units, std::size_t n_leaves,
                                                   int team) {
  std::vector<std::vector<WeightedKey>> keys(n_leaves);
  parallel_for(team, n_leaves, [&](std::size_t leaf) {
    for (const std::uint32_t row : sorted.rows_of(leaf)) {
      const std::uint64_t weight = rows.weight ? units(rows.weight[row]) : 1;
      if (weight > 0) keys[leaf].push_back({key_of(kink_of(rows, row)), weight});
    }
  });
  return keys;
}

// The counts and weights of the leaves, over all workers.
std::vector<LeafTotal> totals_of(const std::vector<std::vector<WeightedKey>>& keys,
                                 const Reduction& reduction) {
  std::vector<std::uint64_t> words(2 * keys.size(), 0);
  for (std::size_t leaf = 0; leaf < keys.size(); ++leaf) {
    words[2 * leaf] = keys[leaf].size();
    for (const WeightedKey& one : keys[leaf]) words[2 * leaf + 1] += one.weight;
  }
  reduction.sum(words);
  std::vector<LeafTotal> totals(keys.size());
  for (std::size_t i = 0; i < totals.size(); ++i) totals[i] = {words[2 * i], words[2 * i + 1]};
  return totals;
}

// The smallest key of each leaf beyond the selected one, over all workers; 0 if there is none.
std::vector<std::uint64_t> next_keys(const std::vector<std::vector<WeightedKey>>& keys,
                                     const std::vector<SelectedKey>& selected,
                                     const Reduction& reduction) {
  std::vector<std::uint64_t> next(keys.size(), 0);  // at first its complement, a maximum
  for (std::size_t leaf = 0; leaf < keys.size(); ++leaf) {
    for (const WeightedKey& one : keys[leaf]) {
      if (one.key > selected[leaf].key) next[leaf] = std::max(next[leaf], ~one.key);
    }
  }
  reduction.max(next);
  for (std::uint64_t& key : next) key = key == 0 ? 0 : ~key;
  return next;
}

// The same quantiles if several workers have the rows.
void quantiles_together(const LeafRows& rows, const ByLeaf& sorted, const WeightUnits& units,
                        std::span<const double> level, double* value, const Reduction& reduction,
                        int team) {
  const auto keys = keys_by_leaf(rows, sorted, units, level.size(), team);
  const std::vector<LeafTotal> totals = totals_of(keys, reduction);
  std::vector<QuantileTarget> targets(keys.size(), {0, 0});
  std::vector<std::uint64_t> reached(keys.size(), 0);
  for (std::size_t leaf = 0; leaf < keys.size(); ++leaf) {
    if (totals[leaf].count == 0) continue;
    targets[leaf] = target_of(totals[leaf], level[leaf], rows.weight != nullptr);
    reached[leaf] = targets[leaf].reached;
  }
  const std::vector<std::span<const WeightedKey>> lists(keys.begin(), keys.end());
  const std::vector<SelectedKey> selected = select_keys(lists, reached, reduction, team);
  const std::vector<std::uint64_t> next = next_keys(keys, selected, reduction);
  for (std::size_t leaf = 0; leaf < keys.size(); ++leaf) {
    const double at = number_of(selected[leaf].key);
    const bool is_level = selected[leaf].up_to <= targets[leaf].level_to && next[leaf] > 0;
    value[leaf] = is_level ? middle(at, number_of(next[leaf])) : at;
    if (totals[leaf].count == 0) value[leaf] = 0.0;
  }
}

}  // namespace

void leaf_quantiles(const LeafRows& rows, std::span<const double> level, double* value, int threads,
                    const Reduction& reduction) {
  const ByLeaf sorted = sort_by_leaf(rows, level.size(), threads);
  const int team = threads_for(sorted.row.size(), kRowsPerThread, threads);
  const WeightUnits units(rows, reduction);
  if (reduction.is_alone()) {
    quantiles_alone(rows, sorted, units, level, value, team);
  } else {
    quantiles_together(rows, sorted, units, level, value, reduction, team);
  }
}

}  // namespace hedgerow
