#include "cart_median_tree.hpp"

#include <algorithm>
#include <bit>

namespace hedgerow::cart {

OrderedNumbers::OrderedNumbers(const CartTarget& target, int output)
    : target_(target),
      output_(output),
      weight_scale_(target.tickets.weight_unit / target.gain_unit) {}

void OrderedNumbers::start(std::size_t n_row_numbers) {
  rows_.clear();
  distance_.clear();
  if (place_.size() < n_row_numbers) place_.resize(n_row_numbers);
  total_ = {};
}

void OrderedNumbers::append(std::uint32_t row, std::uint64_t ticket, std::int64_t number,
                            double raw) {
  const std::uint64_t mask = (std::uint64_t{1} << target_.tickets.count_shift) - 1;
  place_[row] = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back({ticket & mask, static_cast<std::uint64_t>(number)});
  distance_.push_back((raw - target_.offset[output_]) * weight_scale_);
  total_ += rows_.back();
}

void OrderedNumbers::finish() {
  tree_.assign(size() + 1, {});
  for (std::size_t i = 1; i <= size(); ++i) {
    tree_[i] += rows_[i - 1];
    const std::size_t above = i + (i & (~i + 1));
    if (above <= size()) tree_[above] += tree_[i];
  }
  deviation_ = deviation_of([&](std::size_t i) { return tree_[i]; }, total_);
}

// With m the number at the first place up to which the subset has half its weight, and `passed` the
// sums before it, Σ w|y − m| = (total.number − passed.number) − m (total.weight − passed.weight)
//                              + m passed.weight − passed.number.
template <class TreeAt>
double OrderedNumbers::deviation_of(TreeAt tree_at, const WeightedSum& total) const {
  std::size_t median = 0;
  WeightedSum passed;
  // Without branches, which would go either way half of the time.
  for (std::size_t step = std::bit_floor(size()); step > 0; step /= 2) {
    const WeightedSum next = tree_at(std::min(median + step, size()));
    const bool below = median + step <= size() && 2 * (passed.weight + next.weight) < total.weight;
    const std::uint64_t mask = std::uint64_t{0} - below;
    median += step & mask;
    passed += {next.weight & mask, next.number & mask};
  }
  const auto spread = static_cast<std::int64_t>(total.number - 2 * passed.number);
  const auto tilt = static_cast<std::int64_t>(2 * passed.weight - total.weight);
  return static_cast<double>(spread) * target_.number_scale[output_] +
         static_cast<double>(tilt) * distance_[median];
}

void Subset::start(const OrderedNumbers& numbers) {
  numbers_ = &numbers;
  tree_.assign(numbers.size() + 1, {});
  total_ = {};
}

void Subset::add(std::uint32_t row) {
  const std::size_t place = numbers_->place(row);
  const WeightedSum added = numbers_->at(place);
  total_ += added;
  for (std::size_t i = place + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += added;
}

double Subset::deviation() const {
  return numbers_->deviation_of([&](std::size_t i) { return tree_[i]; }, total_);
}

double Subset::deviation_of_rest() const {
  return numbers_->deviation_of([&](std::size_t i) { return numbers_->tree_[i] - tree_[i]; },
                                numbers_->total_ - total_);
}

}  // namespace hedgerow::cart
