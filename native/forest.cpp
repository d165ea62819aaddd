#include "forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "random.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

// The rows of one tree, their tickets and numbers.
class Sample {
 public:
  Sample(const ForestTarget& target, const RowDraws& draws, std::uint64_t tree, std::size_t n_rows)
      : forest_(target), counts_(draw_counts(draws, tree, n_rows)) {
    for (std::size_t row = 0; row < n_rows; ++row) {
      const double weight = counts_[row] * (target.weight ? target.weight[row] : 1.0);
      if (weight > 0.0) rows_.push_back(static_cast<std::uint32_t>(row));
    }
    weigh(n_rows);
    if (target.label == nullptr) take_numbers(n_rows);
  }

  std::span<const std::uint32_t> rows() const { return rows_; }

  CartTarget target() const {
    CartTarget target;
    target.label = forest_.label;
    target.raw = forest_.numbers;
    target.numbers = forest_.label ? nullptr : numbers_.data();
    target.n_values = forest_.n_values;
    target.n_outputs = forest_.n_outputs;
    target.number_unit = unit_.data();
    target.offset = offset_.data();
    target.ticket = ticket_.data();
    target.tickets = tickets_;
    return target;
  }

 private:
  double weight_of(std::uint32_t row) const {
    const double weight = counts_[row] * (forest_.weight ? forest_.weight[row] : 1.0);
    return class_factor_.empty() ? weight : weight * class_factor_[forest_.label[row]];
  }

  // Weights as integers: as they are if they are small integers, else in 2^-40 or so of their sum.
  void weigh(std::size_t n_rows) {
    if (forest_.balance_drawn) balance();
    double largest = 0.0;
    bool whole = true;
    for (const std::uint32_t row : rows_) {
      const double weight = weight_of(row);
      largest = std::max(largest, weight);
      whole = whole && weight == std::floor(weight);
    }
    const int count_bits = static_cast<int>(std::bit_width(rows_.size()));
    tickets_.count_shift = 64 - count_bits;
    const double room = std::ldexp(1.0, tickets_.count_shift - 1);
    const double most = largest * static_cast<double>(rows_.size());
    tickets_.weight_unit = whole && most < room ? 1.0 : most / room;
    ticket_.resize(n_rows);
    const std::uint64_t one = std::uint64_t{1} << tickets_.count_shift;
    for (const std::uint32_t row : rows_) {
      const double units = std::floor(weight_of(row) / tickets_.weight_unit + 0.5);
      ticket_[row] = one + static_cast<std::uint64_t>(std::max(units, 1.0));
    }
  }

  void balance() {
    std::vector<double> drawn(static_cast<std::size_t>(forest_.n_values));
    double total = 0.0;
    int present = 0;
    for (const std::uint32_t row : rows_) {
      drawn[forest_.label[row]] += counts_[row];
      total += counts_[row];
    }
    for (const double count : drawn) present += count > 0.0;
    for (const double count : drawn) {
      class_factor_.push_back(count > 0.0 ? total / (present * count) : 0.0);
    }
  }

  // Numbers in fixed point, less their mean, so that a common offset costs no precision.
  void take_numbers(std::size_t n_rows) {
    const auto width = static_cast<std::size_t>(forest_.n_values);
    std::vector<double> weight(rows_.size());
    double total = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      weight[i] = tickets_.weight(ticket_[rows_[i]]) * tickets_.weight_unit;
      total += weight[i];
    }
    numbers_.resize(n_rows * width);
    for (std::size_t v = 0; v < width; ++v) {
      const auto number = [&](std::size_t i) { return forest_.numbers[rows_[i] * width + v]; };
      double mean = 0.0, largest = 0.0;
      for (std::size_t i = 0; i < rows_.size(); ++i) mean += weight[i] / total * number(i);
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        largest = std::max(largest, std::fabs(weight[i] * (number(i) - mean)));
      }
      const double most = largest * static_cast<double>(rows_.size());
      offset_.push_back(mean);
      unit_.push_back(most > 0.0 ? most * 0x1p-62 : 1.0);
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double units = weight[i] * (number(i) - mean) / unit_[v];
        numbers_[rows_[i] * width + v] = static_cast<std::int64_t>(std::floor(units + 0.5));
      }
    }
  }

  const ForestTarget& forest_;
  std::vector<std::uint16_t> counts_;
  std::vector<double> class_factor_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint64_t> ticket_;
  std::vector<std::int64_t> numbers_;
  std::vector<double> unit_, offset_;
  Tickets tickets_;
};

}  // namespace

std::vector<std::uint16_t> draw_counts(const RowDraws& draws, std::uint64_t tree,
                                       std::size_t n_rows) {
  std::vector<std::uint16_t> counts(n_rows, 0);
  const auto uniform = [&](std::size_t draw, std::size_t count) {
    const double u = unit_interval(hash_u64(draws.seed, Purpose::bootstrap, tree, draw));
    return static_cast<std::size_t>(u * static_cast<double>(count));
  };
  if (draws.bootstrap) {
    for (std::size_t i = 0; i < draws.n_draws; ++i) {
      std::uint16_t& count = counts[uniform(i, n_rows)];
      count = static_cast<std::uint16_t>(std::min(count + 1, 0xFFFF));
    }
  } else if (draws.n_draws >= n_rows) {
    std::fill(counts.begin(), counts.end(), std::uint16_t{1});
  } else {  // Floyd's: every set of n_draws rows is equally likely
    for (std::size_t last = n_rows - draws.n_draws; last < n_rows; ++last) {
      const std::size_t row = uniform(last, last + 1);
      counts[counts[row] ? last : row] = 1;
    }
  }
  return counts;
}

std::vector<CartTree> grow_forest(const CartTable& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads) {
  std::vector<CartTree> trees(n_trees);
  parallel_for(threads, n_trees, [&](std::size_t i) {
    const Sample sample(target, draws, first_tree + i, table.n_rows);
    trees[i] = grow_cart(table, sample.target(), rules, sample.rows(), first_tree + i);
  });
  return trees;
}

}  // namespace hedgerow
