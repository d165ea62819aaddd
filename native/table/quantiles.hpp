// Dividing sorted, weighted values into bins of nearly equal weight.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
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
// the result is in one of the two, the same items in another order in the other. (Digits of 11 bits
// took as long, sample sizes 10^3 to 2 * 10^5.)
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

// The smallest and the largest key of some items.
template <class Item>
auto key_range(std::span<const Item> items) {
  auto low = items[0].key, high = low;
  for (const Item& item : items) {
    low = std::min(low, item.key);
    high = std::max(high, item.key);
  }
  return std::pair(low, high);
}

// Assigns keys to groups of neighbours, in order. Of the binary exponents of reals, only those of
// the largest values are told apart: hardly any value has one of the many exponents of numbers
// close to 0.
template <class Key>
class KeyGrouping {
 public:
  static constexpr std::size_t kMostGroups = std::size_t{1} << 14;

  KeyGrouping(Key low, Key high) {
    near_zero_ = std::max({std::abs(upper_bits(low)), std::abs(upper_bits(high)), kSpan}) - kSpan;
    first_ = squeezed(low);
    while (group_of(high) >= kMostGroups) ++shift_;
  }

  std::size_t group_of(Key key) const {
    return static_cast<std::uint32_t>(squeezed(key) - first_) >> shift_;
  }

 private:
  static constexpr int kExponents = 24, kPerExponent = 1 << (sizeof(Key) == 4 ? 23 : 20);
  static constexpr int kSpan = kExponents * kPerExponent;

  // As a signed integer: -x is opposite to x.
  static int upper_bits(Key key) {
    const auto upper = static_cast<std::uint32_t>(key >> (8 * sizeof(Key) - 32));
    return static_cast<std::int32_t>(upper ^ std::uint32_t{1} << 31);
  }
  // Without branches, because signs cannot be predicted.
  int squeezed(Key key) const {
    const int bits = upper_bits(key), sign = bits >> 31;
    const int size = (bits ^ sign) - sign - near_zero_;
    return ((size & ~(size >> 31)) ^ sign) - sign;
  }

  int near_zero_ = 0, first_ = 0, shift_ = 0;
};

// Many values in groups of neighbouring keys. To divide them into few bins, only the groups in
// which a bin ends have to be sorted.
template <class Item>
class KeyGroups {
 public:
  // Copies the items to `grouped`, group by group; but not if the groups are too few or too large
  // to be of use.
  KeyGroups(std::span<const Item> items, Item* grouped, int max_bins)
      : end_(Grouping::kMostGroups) {
    const auto [low, high] = key_range(items);
    const Grouping grouping(low, high);
    for (const Item& item : items) ++end_[grouping.group_of(item.key)];
    const auto is_occupied = [](std::uint32_t count) { return count > 0; };
    is_useful_ = std::ranges::count_if(end_, is_occupied) > max_bins &&
                 std::ranges::max(end_) < items.size() / static_cast<std::size_t>(max_bins);
    if (!is_useful_) return;
    std::exclusive_scan(end_.begin(), end_.end(), end_.begin(), 0u);
    for (const Item& item : items) grouped[end_[grouping.group_of(item.key)]++] = item;
  }

  bool is_useful() const { return is_useful_; }

  // Calls visit(begin, end) for each group that is not empty, until it returns false; returns
  // whether it never did.
  template <class Visitor>
  bool for_each(Visitor&& visit) const {
    std::size_t begin = 0;
    for (const std::size_t end : end_) {
      if (begin < end && !visit(begin, end)) return false;
      begin = end;
    }
    return true;
  }

 private:
  using Grouping = KeyGrouping<decltype(Item::key)>;

  bool is_useful_ = false;
  std::vector<std::uint32_t> end_;  // of each group; first its size
};

// Divides values, which are placed in increasing order, into bins of nearly equal weight. Heavy
// values get bins of their own, light ones share the others.
class BinDivision {
 public:
  BinDivision(std::uint64_t light_weight, int light_bins)
      : light_bins_(light_bins), light_weight_(light_weight) {
    set_target();
  }

  // The weight of an average light bin, rounded up.
  std::uint64_t target() const { return target_; }

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
    last_value_ = value;
  }

  void place_light(double value, std::uint64_t weight) {
    const bool nearer_without = 2 * open_weight_ + weight > twice_target_;
    if (open_weight_ > 0 && nearer_without && may_close()) close_light_bin();
    cut_if_closed(value);
    open_weight_ += weight;
    if (open_weight_ >= target_ && may_close()) close_light_bin();
    last_value_ = value;
  }

  // Whether light values of this weight leave the open bin open: its weight stays below the target,
  // so that it is nearer to the average with each of them.
  bool has_room_for(std::uint64_t weight) const { return open_weight_ + weight < target_; }
  void place_together(double lowest, double highest, std::uint64_t weight) {
    cut_if_closed(lowest);
    open_weight_ += weight;
    last_value_ = highest;
  }

  std::vector<double> thresholds() && { return std::move(thresholds_); }

 private:
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

  int light_bins_;                  // bins not yet assigned
  std::uint64_t light_weight_ = 0;  // weight of the light values not yet in a closed bin
  std::uint64_t open_weight_ = 0;   // of those, in the open bin
  std::uint64_t target_ = 0;        // weight of an average light bin, rounded up
  std::uint64_t twice_target_ = 0;  // twice that weight, rounded down
  double last_value_ = 0;           // the value placed last
  bool closed_ = false;             // its bin ends with it
  std::vector<double> thresholds_;
};

template <class Item>
std::uint64_t total_weight(std::span<const Item> items) {
  std::uint64_t sum = 0;
  for (const Item& item : items) sum += item.weight();
  return sum;
}

// The thresholds between `max_bins` bins of more distinct values. A value with the weight of an
// average bin is heavy. Its bin changes the average of the rest, so that more values may become
// heavy.
template <class Item>
std::vector<double> quantile_thresholds(const Runs<Item>& runs, int max_bins) {
  std::vector<std::size_t> heavy;  // indices, increasing
  int light_bins = max_bins;
  std::uint64_t light_weight = total_weight(runs.sorted);
  std::size_t n_known;
  do {
    n_known = heavy.size();
    const std::uint64_t target = BinDivision(light_weight, light_bins).target();
    std::size_t next_heavy = 0;
    runs.for_each([&](std::size_t index, auto, std::uint64_t weight) {
      if (next_heavy < n_known && heavy[next_heavy] == index) {
        ++next_heavy;
      } else if (weight >= target) {
        heavy.push_back(index);
        light_weight -= weight;
        --light_bins;
      }
    });
    std::inplace_merge(heavy.begin(), heavy.begin() + n_known, heavy.end());
  } while (heavy.size() > n_known);
  BinDivision division(light_weight, light_bins);
  auto next = heavy.begin();
  runs.for_each([&](std::size_t index, auto key, std::uint64_t weight) {
    const bool is_heavy = next != heavy.end() && *next == index;
    next += is_heavy;
    if (is_heavy)
      division.place_heavy(value_of(key));
    else
      division.place_light(value_of(key), weight);
  });
  return std::move(division).thresholds();
}

// The same from groups, or nothing if there may be a heavy value. `scratch` has room for the items
// of a group.
template <class Item>
std::optional<std::vector<double>> quantile_thresholds(const KeyGroups<Item>& groups,
                                                       std::span<Item> grouped, Item* scratch,
                                                       int max_bins) {
  BinDivision division(total_weight<Item>(grouped), max_bins);
  const std::uint64_t heavy = division.target();
  const bool all_light = groups.for_each([&](std::size_t begin, std::size_t end) {
    const std::span<Item> group = grouped.subspan(begin, end - begin);
    const std::uint64_t weight = total_weight<Item>(group);
    if (weight >= heavy) return false;
    if (division.has_room_for(weight)) {
      const auto [low, high] = key_range<Item>(group);
      division.place_together(value_of(low), value_of(high), weight);
    } else {
      const Runs<Item> runs{{sort_items(group.data(), scratch, group.size()), group.size()}};
      runs.for_each([&](std::size_t, auto key, std::uint64_t of_key) {
        division.place_light(value_of(key), of_key);
      });
    }
    return true;
  });
  if (!all_light) return {};
  return std::move(division).thresholds();
}

}  // namespace hedgerow
