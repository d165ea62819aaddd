// The absolute deviation from the median of a node's numbers while rows are removed, for the
// criterion absolute_error.
//
// The numbers are sorted once. If no weight is much larger than another, the remaining rows form a
// linked list of positions, and the median moves a few links at a time: O(1) per row. Otherwise
// they form a Fenwick tree over the positions, in which the median is found in O(log n).
#pragma once
#include <cstddef>
#include <cstdint>
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
  OrderedNumbers(const CartTarget& target, int output);

  // Starts a node; n_row_numbers exceeds every row index.
  void start(std::size_t n_row_numbers);
  // Appends the next row in the order of the numbers.
  void append(std::uint32_t row, std::uint64_t fixed_weight, std::int64_t number, double raw);
  // Finds the median of all rows.
  void finish();

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
  double deviation(std::size_t median, const WeightedSum& passed, const WeightedSum& total) const;

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
  void start(const OrderedNumbers& numbers);
  void remove(std::uint32_t row);
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
  void start(const OrderedNumbers& numbers);
  void remove(std::uint32_t row);
  double deviation() const;

 private:
  const OrderedNumbers* numbers_ = nullptr;
  std::vector<WeightedSum> tree_;  // nodes count from 1
  WeightedSum total_;
};

}  // namespace hedgerow::cart
