#include "hist/tree_columns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "table/place.hpp"

namespace hedgerow::hist {
namespace {

// Columns that justify reading a row's id and gradient.
constexpr std::size_t kNarrowestGroup = 4;

std::vector<bool> features_to_split(const BinnedView& bins, std::size_t min_rows) {
  std::vector<bool> can(static_cast<std::size_t>(bins.n_features));
  for (int feature = 0; feature < bins.n_features; ++feature) {
    can[static_cast<std::size_t>(feature)] = can_split(bins.column(feature), bins.n_rows, min_rows);
  }
  return can;
}

}  // namespace

// For most features the first rows suffice to decide this.
bool can_split(const std::uint8_t* bins, std::size_t n_rows, std::size_t min_rows) {
  std::array<std::size_t, kBins> count{};
  std::size_t n_seen = 0, most = 0;
  min_rows = std::min(min_rows, n_rows);
  for (std::size_t look = std::min(n_rows, 4 * min_rows);; look = std::min(n_rows, 2 * look)) {
    for (; n_seen < look; ++n_seen) most = std::max(most, ++count[bins[n_seen]]);
    if (n_seen - most >= min_rows) return true;
    if (n_seen == n_rows) return false;
  }
}

TreeColumns::TreeColumns(const BinnedView& bins, std::size_t min_rows)
    : TreeColumns(bins, features_to_split(bins, min_rows)) {}

TreeColumns::TreeColumns(const BinnedView& bins, std::vector<bool> can_split)
    : bins_(bins),
      features_of_(static_cast<std::size_t>(bins.n_columns)),
      digits_of_(features_of_.size()),
      n_codes_(features_of_.size()),
      can_split_(std::move(can_split)) {
  for (std::size_t feature = 0; feature < bins.places.size(); ++feature) {
    const Place& place = bins.places[feature];
    const auto column = static_cast<std::size_t>(place.column);
    const int end =
        place.is_joint() ? place.stride * place.radix : place.first + bins.n_bins[feature];
    n_codes_[column] = std::max(n_codes_[column], end);
    if (place.radix == 1) continue;  // a constant
    auto& features = place.is_joint() ? digit_at(place).features : features_of_[column];
    if (can_split_[feature]) features.push_back(feature);
  }
}

// The digit of a place, which is added if it does not exist yet.
Digit& TreeColumns::digit_at(const Place& place) {
  std::vector<Digit>& digits = digits_of_[static_cast<std::size_t>(place.column)];
  const auto at = std::find_if(digits.begin(), digits.end(),
                               [&](const Digit& digit) { return digit.stride <= place.stride; });
  if (at != digits.end() && at->stride == place.stride) return *at;
  return *digits.insert(at, {place.stride, place.radix, {}});
}

void TreeColumns::select(const std::vector<int>& features) {
  columns_.clear();
  const auto add = [&](int feature) {
    columns_.push_back(bins_.places[static_cast<std::size_t>(feature)].column);
  };
  for (const int feature : features) {
    if (can_split_[static_cast<std::size_t>(feature)]) add(feature);
  }
  if (columns_.empty()) add(features.front());
  std::sort(columns_.begin(), columns_.end());
  columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
}

std::size_t TreeColumns::mean_codes() const {
  std::size_t sum = 0;
  for (const int column : columns_) sum += static_cast<std::size_t>(n_codes(column));
  return sum / columns_.size() + 1;
}

std::vector<ColumnGroup> TreeColumns::make_groups(std::size_t per_block, std::size_t widest) const {
  const int width = bins_.width;
  std::vector<ColumnGroup> groups;
  for (std::size_t begin = 0; begin < columns_.size();) {
    const int block = columns_[begin] / width;
    std::size_t end = begin;
    while (end < columns_.size() && columns_[end] / width == block) ++end;
    const std::size_t min_groups = (end - begin + widest - 1) / widest;
    const std::size_t most = std::max<std::size_t>(1, (end - begin) / kNarrowestGroup);
    std::size_t parts = std::max(min_groups, std::min(per_block, most));
    for (; begin < end; --parts) {
      const std::size_t take = (end - begin + parts - 1) / parts;
      groups.push_back(group(begin, begin + take));
      begin += take;
    }
  }
  return groups;
}

std::vector<ColumnGroup> TreeColumns::groups_of(std::span<const std::size_t> owner_of) const {
  std::vector<ColumnGroup> groups;
  for (std::size_t begin = 0, end = 0; begin < columns_.size(); begin = end) {
    while (end < columns_.size() && end < begin + kGroupWidth && owner_of[end] == owner_of[begin] &&
           columns_[end] / bins_.width == columns_[begin] / bins_.width) {
      ++end;
    }
    groups.push_back(group(begin, end));
  }
  return groups;
}

// The group of some columns of the tree, all in one block.
ColumnGroup TreeColumns::group(std::size_t begin, std::size_t end) const {
  ColumnGroup group{};
  group.block = columns_[begin] / bins_.width;
  group.first = static_cast<int>(begin);
  group.count = static_cast<int>(end - begin);
  group.contiguous = true;
  for (std::size_t k = 0; k < end - begin; ++k) {
    group.column[k] = columns_[begin + k];
    group.n_codes[k] = n_codes(columns_[begin + k]);
    group.offset[k] = static_cast<std::uint8_t>(columns_[begin + k] % bins_.width);
    group.contiguous = group.contiguous && group.offset[k] == group.offset[0] + k;
  }
  return group;
}

}  // namespace hedgerow::hist
