// Distances from the median of subsets of a node's numbers, for the absolute error.
//
// The numbers are placed in order once; a subset is a Fenwick tree over the places, which takes in
// a row, and finds its median and the sum of the distances from it, in O(log n). The rest of the
// node needs no tree of its own: it is the tree of all less the tree of the subset.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cart.hpp"

namespace hedgerow::cart {

// Tickets' weights, and numbers; modulo 2^64, as sums of either are.
struct WeightedSum {
  std::uint64_t weight = 0, number = 0;

  WeightedSum& operator+=(const WeightedSum& other) {
    weight += other.weight;
    number += other.number;
    return *this;
  }
  friend WeightedSum operator-(const WeightedSum& a, const WeightedSum& b) {
    return {a.weight - b.weight, a.number - b.number};
  }
};

// One output of a node.
class OrderedNumbers {
 public:
  OrderedNumbers(const CartTarget& target, int output);

  // Begins a node; n_row_numbers is more than any of its rows' numbers.
  void start(std::size_t n_row_numbers);
  // Takes in the row that comes next in the order of the numbers.
  void append(std::uint32_t row, std::uint64_t ticket, std::int64_t number, double raw);
  void finish();

  std::size_t size() const { return rows_.size(); }
  const WeightedSum& total() const { return total_; }
  const WeightedSum& at(std::size_t place) const { return rows_[place]; }
  std::uint32_t place(std::uint32_t row) const { return place_[row]; }
  // The number at a place, less the offset, in gain units for each unit of weight.
  double distance(std::size_t place) const { return distance_[place]; }
  // Σ weight · |number − median| of all rows.
  double deviation() const { return deviation_; }

 private:
  friend class Subset;
  // The same of a subset with this total; tree_at(i) is node i of its Fenwick tree.
  template <class TreeAt>
  double deviation_of(TreeAt tree_at, const WeightedSum& total) const;

  const CartTarget& target_;
  int output_;
  double weight_scale_;
  std::vector<WeightedSum> rows_, tree_;  // by place; the tree's nodes count from 1
  std::vector<double> distance_;
  std::vector<std::uint32_t> place_;  // of a row
  WeightedSum total_;
  double deviation_ = 0.0;
};

// Some of the rows of an output.
class Subset {
 public:
  void start(const OrderedNumbers& numbers);
  void add(std::uint32_t row);
  // Σ weight · |number − median| of these rows, and of the others.
  double deviation() const;
  double deviation_of_rest() const;

 private:
  const OrderedNumbers* numbers_ = nullptr;
  std::vector<WeightedSum> tree_;
  WeightedSum total_;
};

}  // namespace hedgerow::cart
