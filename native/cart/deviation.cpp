#include "cart/deviation.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace hedgerow::cart {

OrderedNumbers::OrderedNumbers(const CartTarget& target, int output)
    : target_(target),
      output_(output),
      weight_scale_(target.weights.weight_unit / target.gain_unit) {}

void OrderedNumbers::start(std::size_t n_row_numbers) {
  rows_.clear();
  distance_.clear();
  if (place_.size() < n_row_numbers) place_.resize(n_row_numbers);
  total_ = {};
  lightest_ = std::numeric_limits<std::uint64_t>::max() / 32;
  heaviest_ = 0;
}

void OrderedNumbers::append(std::uint32_t row, std::uint64_t fixed_weight, std::int64_t number,
                            double raw) {
  const std::uint64_t mask = (std::uint64_t{1} << target_.weights.count_shift) - 1;
  place_[row] = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back({fixed_weight & mask, static_cast<std::uint64_t>(number)});
  distance_.push_back((raw - target_.offset[output_]) * weight_scale_);
  total_ += rows_.back();
  lightest_ = std::min(lightest_, rows_.back().weight);
  heaviest_ = std::max(heaviest_, rows_.back().weight);
}

void OrderedNumbers::finish() {
  passed_ = {};
  for (median_ = 0; 2 * (passed_.weight + at(median_).weight) < total_.weight; ++median_) {
    passed_ += at(median_);
  }
}

// With m the median, the sum is (total.number − passed.number) − m (total.weight − passed.weight)
//                               + m passed.weight − passed.number.
double OrderedNumbers::deviation(std::size_t median, const WeightedSum& passed,
                                 const WeightedSum& total) const {
  const auto spread = static_cast<std::int64_t>(total.number - 2 * passed.number);
  const auto tilt = static_cast<std::int64_t>(2 * passed.weight - total.weight);
  return static_cast<double>(spread) * target_.number_scale[output_] +
         static_cast<double>(tilt) * distance_[median];
}

void LinkedRows::start(const OrderedNumbers& numbers) {
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

void LinkedRows::remove(std::uint32_t row) {
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

void RowTree::start(const OrderedNumbers& numbers) {
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

void RowTree::remove(std::uint32_t row) {
  const std::size_t place = numbers_->place(row);
  const WeightedSum removed = numbers_->at(place);
  total_ -= removed;
  for (std::size_t i = place + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] -= removed;
}

double RowTree::deviation() const {
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

}  // namespace hedgerow::cart
