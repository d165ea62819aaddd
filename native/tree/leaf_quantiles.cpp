#include "tree/leaf_quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kRowsPerThread = 4096;

struct Corner {
  double at, weight;
};

bool comes_first(const Corner& a, const Corner& b) {
  return a.at != b.at ? a.at < b.at : a.weight < b.weight;
}

// The rounding error of a sum of `count` weights.
double rounding_of(std::size_t count, double total) {
  return static_cast<double>(count) * std::numeric_limits<double>::epsilon() * total;
}

// The slope of the loss increases by a row's weight at its kink; the minimum is where it crosses 0,
// or anywhere between two kinks if it is 0 there.
double weighted_quantile(std::span<Corner> corners, double level) {
  std::sort(corners.begin(), corners.end(), comes_first);
  double total = 0.0;
  for (const Corner& corner : corners) total += corner.weight;
  if (!(total > 0.0)) return 0.0;
  const double target_weight = level * total, rounding = rounding_of(corners.size(), total);
  double passed = 0.0;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    passed += corners[i].weight;
    if (passed < target_weight - rounding || corners[i].weight == 0.0) continue;
    // Kinks without weight are irrelevant: the next one with weight ends the interval.
    std::size_t next = i + 1;
    while (next < corners.size() && corners[next].weight == 0.0) ++next;
    const bool is_level = std::fabs(passed - target_weight) <= rounding && next < corners.size();
    return is_level ? 0.5 * (corners[i].at + corners[next].at) : corners[i].at;
  }
  return corners.back().at;
}

// The same if all weights are equal: order statistics, without sorting.
double quantile(std::span<double> corners, double level) {
  const auto count = static_cast<double>(corners.size());
  const double target_weight = level * count, rounding = rounding_of(corners.size(), count);
  const double rank = std::clamp(std::ceil(target_weight - rounding), 1.0, count);
  const auto nth = corners.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(corners.begin(), nth, corners.end());
  if (std::fabs(rank - target_weight) > rounding || nth + 1 == corners.end()) return *nth;
  return 0.5 * (*nth + *std::min_element(nth + 1, corners.end()));
}

// Row numbers sorted by leaf, in increasing order within a leaf; leaf l has [start[l], start[l +
// 1]).
struct ByLeaf {
  std::vector<std::size_t> start;
  std::vector<std::uint32_t> row;
};

ByLeaf sort_by_leaf(const LeafRows& rows, std::size_t n_leaves, int threads) {
  const std::size_t n = rows.bag.empty() ? rows.corner.size() : rows.bag.size();
  const auto row_at = [&](std::size_t i) {
    return rows.bag.empty() ? static_cast<std::uint32_t>(i) : rows.bag[i];
  };
  const int team = threads_for(n, 4 * (kRowsPerThread + n_leaves), threads);
  const auto parts = static_cast<std::size_t>(team);
  std::vector<std::size_t> place(parts * n_leaves, 0);  // of a part's next row in a leaf
  const auto for_part = [&](std::size_t part, auto visit) {
    std::size_t* of_part = place.data() + part * n_leaves;
    for (std::size_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      const std::uint32_t row = row_at(i);
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

}  // namespace

void leaf_quantiles(const LeafRows& rows, std::span<const double> level, double* value,
                    int threads) {
  const ByLeaf sorted = sort_by_leaf(rows, level.size(), threads);
  const int team = threads_for(sorted.row.size(), kRowsPerThread, threads);
  parallel_for(team, level.size(), [&](std::size_t leaf) {
    const std::span<const std::uint32_t> own(sorted.row.data() + sorted.start[leaf],
                                             sorted.row.data() + sorted.start[leaf + 1]);
    if (own.empty()) {
      value[leaf] = 0.0;
    } else if (rows.weight) {
      std::vector<Corner> corners;
      corners.reserve(own.size());
      for (const std::uint32_t row : own) corners.push_back({rows.corner[row], rows.weight[row]});
      value[leaf] = weighted_quantile(corners, level[leaf]);
    } else {
      std::vector<double> corners;
      corners.reserve(own.size());
      for (const std::uint32_t row : own) corners.push_back(rows.corner[row]);
      value[leaf] = quantile(corners, level[leaf]);
    }
  });
}

}  // namespace hedgerow
