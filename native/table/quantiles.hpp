// Dividing sorted, weighted values into bins of nearly equal weight.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "shared/sort_keys.hpp"

namespace hedgerow {

// Items to sort: a key if all weights are equal, else a key and its weight.
template <class Key>
struct Plain {
  Key key;
  std::uint64_t weight() const { return 1; }
};
template <class Key>
struct Weighted {
  Key key;
  std::uint64_t own_weight;
  std::uint64_t weight() const { return own_weight; }
};

// Sorts by key, a byte at a time from the lowest, with as much scratch space as there are items;
// the result is in one of the two. (Digits of 11 bits took as long, sample sizes 10^3 to 2 * 10^5.)
template <class Item>
Item* sort_items(Item* items, Item* scratch, std::size_t count) {
  constexpr std::size_t n_digits = sizeof(items->key);
  const auto digit_of = [](const Item& item, std::size_t digit) {
    return static_cast<std::uint8_t>(item.key >> (8 * digit));
  };
  std::uint32_t counts[n_digits][256] = {};
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t digit = 0; digit < n_digits; ++digit)
      ++counts[digit][digit_of(items[i], digit)];
  for (std::size_t digit = 0; digit < n_digits && count > 0; ++digit) {
    std::uint32_t(&at)[256] = counts[digit];
    if (at[digit_of(items[0], digit)] == count) continue;  // all alike in this digit
    std::exclusive_scan(std::begin(at), std::end(at), std::begin(at), 0u);
    for (std::size_t i = 0; i < count; ++i) scratch[at[digit_of(items[i], digit)]++] = items[i];
    std::swap(items, scratch);
  }
  return items;
}

// The distinct values among sorted items, each a run of equal keys.
template <class Item>
struct Runs {
  std::span<const Item> sorted;

  std::size_t count() const {
    std::size_t n = !sorted.empty();
    for (std::size_t i = 1; i < sorted.size(); ++i) n += sorted[i].key != sorted[i - 1].key;
    return n;
  }

  // Calls visit(index, key, weight) for each distinct value in order.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (std::size_t i = 0, index = 0; i < sorted.size(); ++index) {
      const auto key = sorted[i].key;
      std::uint64_t weight = sorted[i].weight();
      for (++i; i < sorted.size() && sorted[i].key == key; ++i) weight += sorted[i].weight();
      visit(index, key, weight);
    }
  }
};

// Divides distinct values into bins of nearly equal weight. A value with the weight of an average
// bin gets its own bin, and the others share the remaining bins.
template <class Item>
class Quantiles {
 public:
  Quantiles(const Runs<Item>& runs, int max_bins) : runs_(runs), light_bins_(max_bins) {
    for (const Item& item : runs.sorted) light_weight_ += item.weight();
    while (set_heavy_values_apart()) {
    }
    set_target();
  }

  std::vector<double> thresholds() && {
    auto heavy = heavy_.begin();
    runs_.for_each([&](std::size_t index, auto key, std::uint64_t weight) {
      const bool is_heavy = heavy != heavy_.end() && *heavy == index;
      heavy += is_heavy;
      const double value = value_of(key);
      if (is_heavy)
        place_heavy(value);
      else
        place_light(value, weight);
      last_value_ = value;
    });
    return std::move(thresholds_);
  }

 private:
  // A bin for a heavy value changes the average of the rest, so that more values may become heavy.
  bool set_heavy_values_apart() {
    set_target();
    const std::size_t n_known = heavy_.size();
    std::size_t next_heavy = 0;
    runs_.for_each([&](std::size_t index, auto, std::uint64_t weight) {
      if (next_heavy < n_known && heavy_[next_heavy] == index) {
        ++next_heavy;
      } else if (weight >= target_) {
        heavy_.push_back(index);
        light_weight_ -= weight;
        --light_bins_;
      }
    });
    std::inplace_merge(heavy_.begin(), heavy_.begin() + n_known, heavy_.end());
    return heavy_.size() > n_known;
  }

  void place_heavy(double value) {
    // Few light values below a heavy one join its bin.
    const bool enough = 2 * open_weight_ >= target_;
    if (open_weight_ > 0 && enough && may_close())
      close_light_bin();
    else
      light_weight_ -= std::exchange(open_weight_, 0);
    set_target();
    cut_if_closed(value);
    closed_ = true;
  }

  void place_light(double value, std::uint64_t weight) {
    const bool nearer_without = 2 * open_weight_ + weight > twice_target_;
    if (open_weight_ > 0 && nearer_without && may_close()) close_light_bin();
    cut_if_closed(value);
    open_weight_ += weight;
    if (open_weight_ >= target_ && may_close()) close_light_bin();
  }

  // The last bin takes the rest.
  bool may_close() const { return light_bins_ > 1 || open_weight_ == light_weight_; }

  void close_light_bin() {
    closed_ = true;
    light_weight_ -= std::exchange(open_weight_, 0);
    --light_bins_;
    set_target();
  }

  void cut_if_closed(double value) {
    if (std::exchange(closed_, false)) thresholds_.push_back(threshold_between(last_value_, value));
  }

  // Weights are integers, so comparing with the average rounded loses nothing.
  void set_target() {
    const std::uint64_t bins = std::max(light_bins_, 1);
    target_ = (light_weight_ + bins - 1) / bins;
    twice_target_ = 2 * light_weight_ / bins;
  }

  Runs<Item> runs_;
  std::vector<std::size_t> heavy_;  // indices of the heavy values, increasing
  int light_bins_;                  // bins not yet assigned
  std::uint64_t light_weight_ = 0;  // weight of the light values not yet in a closed bin
  std::uint64_t open_weight_ = 0;   // of those, in the open bin
  std::uint64_t target_ = 0;        // weight of an average light bin, rounded up
  std::uint64_t twice_target_ = 0;  // twice that weight, rounded down
  double last_value_ = 0;           // the value placed last
  bool closed_ = false;             // its bin ends with it
  std::vector<double> thresholds_;
};

}  // namespace hedgerow
