#include "hist/lane_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace hedgerow::hist {
namespace {

// With fewer features, threads would have too few groups.
constexpr std::size_t kFewestFeatures = 4 * kLanes;
// With more threads, the other engine divides the work more evenly: a fit to 3,005 × 300 took 0.89
// of its time with 8 threads, and 1.10 with 16.
constexpr int kMostThreads = 12;
// Items have 16 bits, and an entry has two words.
constexpr std::size_t kMostEntries =
    (std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1) / 2;
// An item takes longer to add than the byte of a column.
constexpr std::size_t kItemCost = 4, kByteCost = 3;
// The work for a group in a tree: its items are added about twice, its entries scanned as often as
// a tree has nodes.
constexpr std::size_t kAdditions = 2, kScans = 40;

// A feature that can be split.
struct LaneFeature {
  int feature;
  std::size_t n_bins;
  std::uint8_t commonest;
  std::size_t n_items;  // rows outside the commonest bin
};

bool suits(const GrowthParams& params, const Constraints& constraints) {
  const bool has_fractions =
      params.max_delta_step <= 0.0 && (params.reg_lambda > 0.0 || params.min_child_weight > 0.0);
  return has_fractions && params.reg_alpha == 0.0 && !params.is_symmetric() &&
         params.colsample_bytree >= 1.0 && !constraints.are_monotone() &&
         constraints.feature_weights.empty();
}

using Counts = std::array<std::uint32_t, kBins>;

// The rows in each bin, counted in several parts: one row after another would wait for the sum of
// the row before, which has the same bin more often than not.
Counts count_bins(const std::uint8_t* column, std::size_t n_rows) {
  constexpr std::size_t kParts = 4;
  std::array<Counts, kParts> parts{};
  std::size_t row = 0;
  for (; row + kParts <= n_rows; row += kParts) {
    for (std::size_t part = 0; part < kParts; ++part) ++parts[part][column[row + part]];
  }
  for (; row < n_rows; ++row) ++parts[0][column[row]];
  for (std::size_t part = 1; part < kParts; ++part) {
    for (std::size_t bin = 0; bin < kBins; ++bin) parts[0][bin] += parts[part][bin];
  }
  return parts[0];
}

// The features that can be split, if all are numeric and without missing values.
std::optional<std::vector<LaneFeature>> features_of(const BinnedView& bins, std::size_t min_rows) {
  std::vector<LaneFeature> features;
  for (int feature = 0; feature < bins.n_features; ++feature) {
    const Counts count = count_bins(bins.column(feature), bins.n_rows);
    const auto most = std::max_element(count.begin(), count.end());
    const std::size_t n_items = bins.n_rows - *most;
    if (n_items < std::max<std::size_t>(min_rows, 1)) continue;
    if (count[kMissingBin] > 0 || bins.is_categorical[feature]) return std::nullopt;
    features.push_back({feature, static_cast<std::size_t>(bins.n_bins[feature]),
                        static_cast<std::uint8_t>(most - count.begin()), n_items});
  }
  return features;
}

std::size_t n_columns(const BinnedView& bins, const std::vector<LaneFeature>& features) {
  std::vector<bool> is_used(static_cast<std::size_t>(bins.n_columns));
  for (const LaneFeature& of : features) {
    is_used[static_cast<std::size_t>(bins.places[static_cast<std::size_t>(of.feature)].column)] =
        true;
  }
  return static_cast<std::size_t>(std::count(is_used.begin(), is_used.end(), true));
}

// A group, and the work for it.
struct WeighedGroup {
  LaneGroup group;
  std::size_t n_items = 0, work = 0;
};

std::vector<WeighedGroup> grouped(std::vector<LaneFeature> features) {
  std::stable_sort(features.begin(), features.end(),
                   [](const LaneFeature& a, const LaneFeature& b) { return a.n_bins > b.n_bins; });
  std::vector<WeighedGroup> groups((features.size() + kLanes - 1) / kLanes);
  for (std::size_t i = 0; i < features.size(); ++i) {
    auto& [group, n_items, work] = groups[i / kLanes];
    group.features[i % kLanes] = features[i].feature;
    group.commonest[i % kLanes] = features[i].commonest;
    group.n_bins = std::max(group.n_bins, features[i].n_bins);
    n_items += features[i].n_items;
  }
  for (auto& [group, n_items, work] : groups) {
    work = kAdditions * n_items + kScans * group.n_entries();
  }
  return groups;
}

// Divides the groups into sections of about equal work: the largest first, to whichever section has
// the least.
std::vector<LaneSection> divided(std::vector<WeighedGroup> groups, std::size_t n_sections) {
  std::stable_sort(groups.begin(), groups.end(),
                   [](const WeighedGroup& a, const WeighedGroup& b) { return a.work > b.work; });
  std::vector<LaneSection> sections(std::min(n_sections, groups.size()));
  std::vector<std::size_t> work(sections.size());
  for (WeighedGroup& weighed : groups) {
    const auto least =
        static_cast<std::size_t>(std::min_element(work.begin(), work.end()) - work.begin());
    LaneSection& section = sections[least];
    weighed.group.first = section.n_entries;
    section.n_entries += weighed.group.n_entries();
    section.groups.push_back(weighed.group);
    section.n_items += weighed.n_items;
    work[least] += weighed.work;
  }
  return sections;
}

// A feature of a section: its bins, the commonest one, and the entry of its bin 0.
struct Lane {
  const std::uint8_t* column;
  std::uint8_t commonest;
  std::size_t first;
};

std::vector<Lane> lanes_of(const BinnedView& bins, const LaneSection& section) {
  std::vector<Lane> lanes;
  for (const LaneGroup& group : section.groups) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      if (group.features[k] < 0) continue;
      lanes.push_back({bins.column(group.features[k]), group.commonest[k], group.first + k});
    }
  }
  return lanes;
}

// Every bin is written, and overwritten by the next if it is the commonest: a branch would be hard
// to predict.
void list_items(const BinnedView& bins, LaneSection& section) {
  const std::vector<Lane> lanes = lanes_of(bins, section);
  section.row_starts.reserve(bins.n_rows + 1);
  section.items.resize(section.n_items + 1);
  std::uint32_t end = 0;
  for (std::size_t row = 0; row < bins.n_rows; ++row) {
    section.row_starts.push_back(end);
    for (const Lane& lane : lanes) {
      const std::uint8_t bin = lane.column[row];
      section.items[end] = static_cast<std::uint16_t>(2 * (lane.first + bin * kLanes));
      end += bin != lane.commonest;
    }
  }
  section.row_starts.push_back(end);
}

}  // namespace

std::optional<LaneTable> LaneTable::make(const BinnedView& bins, const GrowthParams& params,
                                         const Constraints& constraints, int threads) {
  if (!suits(params, constraints) || threads > kMostThreads || bins.n_rows >= kPackedFromRows ||
      static_cast<std::size_t>(bins.n_features) < kFewestFeatures) {
    return std::nullopt;
  }
  const auto features = features_of(bins, static_cast<std::size_t>(params.min_rows()));
  if (!features || features->size() < kFewestFeatures) return std::nullopt;
  std::size_t n_items = 0;
  for (const LaneFeature& of : *features) n_items += of.n_items;
  if (kItemCost * n_items > kByteCost * n_columns(bins, *features) * bins.n_rows) {
    return std::nullopt;
  }
  LaneTable table;
  table.items_per_row = n_items / bins.n_rows + 1;
  table.sections = divided(grouped(*features), static_cast<std::size_t>(std::max(threads, 1)));
  for (LaneSection& section : table.sections) {
    section.first_entry = table.n_entries;
    table.n_entries += section.n_entries;
    table.n_groups += section.groups.size();
    if (section.n_entries > kMostEntries) return std::nullopt;
    list_items(bins, section);
  }
  return table;
}

}  // namespace hedgerow::hist
