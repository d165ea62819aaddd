// The absolute deviation from the median of a node's numbers while rows are removed, for the
// criterion absolute_error.
//
// The numbers are sorted once. If no weight is much larger than another, the remaining rows form a
// linked list of positions, and the median moves a few links at a time: O(1) per row. Otherwise
// they form a Fenwick tree over the positions, in which the median is found in O(log n).
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "cart/cart.hpp"

namespace hedgerow::cart {

// Sums of fixed-point weights and numbers, modulo 2^64.
struct WeightedSum {
  std::uint64_t weight = 0, number = 0;

  WeightedSum& operator+=(const WeightedSum& other) {
    weight += other.weight;
    number += other.number;
    return *this;
  }
  WeightedSum& operator-=(const WeightedSum& other) {
    weight -= other.weight;
    number -= other.number;
    return *this;
  }
};

// One output of a node.
class OrderedNumbers {
 public:
  OrderedNumbers(const CartTarget& target, int output)
      : target_(target),
        output_(output),
        weight_scale_(target.weights.weight_unit / target.gain_unit) {}

  // Starts a node; n_row_numbers exceeds every row index.
  void start(std::size_t n_row_numbers) {
    rows_.clear();
    distance_.clear();
    if (place_.size() < n_row_numbers) place_.resize(n_row_numbers);
    total_ = {};
    lightest_ = std::numeric_limits<std::uint64_t>::max() / 32;
    heaviest_ = 0;
  }

  // Appends the next row in the order of the numbers.
  void append(std::uint32_t row, std::uint64_t fixed_weight, std::int64_t number, double raw) {
    const std::uint64_t mask = (std::uint64_t{1} << target_.weights.count_shift) - 1;
    place_[row] = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back({fixed_weight & mask, static_cast<std::uint64_t>(number)});
    distance_.push_back((raw - target_.offset[output_]) * weight_scale_);
    total_ += rows_.back();
    lightest_ = std::min(lightest_, rows_.back().weight);
    heaviest_ = std::max(heaviest_, rows_.back().weight);
  }

  // Finds the median of all rows.
  void finish() {
    passed_ = {};
    for (median_ = 0; 2 * (passed_.weight + at(median_).weight) < total_.weight; ++median_) {
      passed_ += at(median_);
    }
  }

  std::size_t size() const { return rows_.size(); }
  const WeightedSum& total() const { return total_; }
  const WeightedSum& at(std::size_t place) const { return rows_[place]; }
  std::uint32_t place(std::uint32_t row) const { return place_[row]; }
  // Whether no weight is much larger than another.
  bool is_even() const { return heaviest_ <= 32 * lightest_; }
  // The first position up to which rows have half of the weight, and the sums before it.
  std::size_t median() const { return median_; }
  const WeightedSum& passed() const { return passed_; }
  // The number at a position minus the offset, in gain units per unit of weight.
  double distance(std::size_t place) const { return distance_[place]; }
  // Σ weight · |number − median| of rows with this total. The median is at the first position up to
  // which rows have half of the weight; `passed` is the sum before it.
  // With m the median, the sum is (total.number − passed.number) − m (total.weight − passed.weight)
  //                               + m passed.weight − passed.number.
  double deviation(std::size_t median, const WeightedSum& passed, const WeightedSum& total) const {
    const auto spread = static_cast<std::int64_t>(total.number - 2 * passed.number);
    const auto tilt = static_cast<std::int64_t>(2 * passed.weight - total.weight);
    return static_cast<double>(spread) * target_.number_scale[output_] +
           static_cast<double>(tilt) * distance_[median];
  }

 private:
  const CartTarget& target_;
  int output_;
  double weight_scale_;
  std::vector<WeightedSum> rows_;  // by place
  std::vector<double> distance_;
  std::vector<std::uint32_t> place_;  // of a row
  WeightedSum total_, passed_;
  std::size_t median_ = 0;
  std::uint64_t lightest_ = 0, heaviest_ = 0;
};

// The remaining rows of an output, as a linked list.
class LinkedRows {
 public:
  void start(const OrderedNumbers& numbers) {
    const auto n = static_cast<std::uint32_t>(numbers.size());
    numbers_ = &numbers;
    next_.resize(n + 1);
    previous_.resize(n + 1);
    std::iota(next_.begin(), next_.end(), 1);
    std::iota(previous_.begin() + 1, previous_.end(), 0);
    previous_[0] = n;
    total_ = numbers.total();
    passed_ = numbers.passed();
    median_ = static_cast<std::uint32_t>(numbers.median());
  }

  void remove(std::uint32_t row) {
    const std::uint32_t place = numbers_->place(row);
    const std::uint32_t before = previous_[place], after = next_[place];
    next_[before] = after;
    previous_[after] = before;
    total_ -= numbers_->at(place);
    if (place < median_) passed_ -= numbers_->at(place);
    if (place == median_) median_ = after;
    if (total_.weight == 0) return;
    while (2 * passed_.weight >= total_.weight) {
      median_ = previous_[median_];
      passed_ -= numbers_->at(median_);
    }
    while (2 * (passed_.weight + numbers_->at(median_).weight) < total_.weight) {
      passed_ += numbers_->at(median_);
      median_ = next_[median_];
    }
  }

  double deviation() const { return numbers_->deviation(median_, passed_, total_); }

 private:
  const OrderedNumbers* numbers_ = nullptr;
  std::vector<std::uint32_t> next_,
      previous_;  // of a position; position n ends the list
  std::uint32_t median_ = 0;
  WeightedSum passed_, total_;
};

// The remaining rows of an output, as a Fenwick tree.
class RowTree {
 public:
  void start(const OrderedNumbers& numbers) {
    const std::size_t n = numbers.size();
    numbers_ = &numbers;
    total_ = numbers.total();
    tree_.assign(n + 1, {});
    for (std::size_t i = 1; i <= n; ++i) {
      tree_[i] += numbers.at(i - 1);
      const std::size_t above = i + (i & (~i + 1));
      if (above <= n) tree_[above] += tree_[i];
    }
  }

  void remove(std::uint32_t row) {
    const std::size_t place = numbers_->place(row);
    const WeightedSum removed = numbers_->at(place);
    total_ -= removed;
    for (std::size_t i = place + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] -= removed;
  }

  double deviation() const {
    std::size_t median = 0;
    WeightedSum passed;
    for (std::size_t step = std::bit_floor(numbers_->size()); step > 0; step /= 2) {
      if (median + step > numbers_->size()) continue;
      WeightedSum next = tree_[median + step];
      next += passed;
      if (2 * next.weight >= total_.weight) continue;
      median += step;
      passed = next;
    }
    return numbers_->deviation(median, passed, total_);
  }

 private:
  const OrderedNumbers* numbers_ = nullptr;
  std::vector<WeightedSum> tree_;  // nodes count from 1
  WeightedSum total_;
};

}  // namespace hedgerow::cart
