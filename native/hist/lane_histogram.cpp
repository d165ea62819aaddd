#include "hist/lane_histogram.hpp"

#include <cstring>
#include <limits>

#include "hist/scan_vectors.hpp"

namespace hedgerow::hist {
namespace {

constexpr std::size_t kAhead = 8;  // rows to prefetch

typedef std::uint64_t Pair __attribute__((vector_size(16), may_alias));

// Adds rows to sums. The two words of an entry are adjacent, and an item is the index of the
// first.
void add_rows(const LaneSection& section, const GradientSum* gradients, const RowSet& rows,
              GradientSum* sums) {
  const std::uint32_t* starts = section.row_starts.data();
  const std::uint16_t* items = section.items.data();
  auto* words = reinterpret_cast<std::uint64_t*>(sums);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::size_t row = rows.ids ? rows.ids[i] : rows.first + i;
    if (rows.ids && i + kAhead < rows.count) {
      __builtin_prefetch(items + starts[rows.ids[i + kAhead]]);
      __builtin_prefetch(gradients + rows.ids[i + kAhead]);
    }
    const Pair pair = {static_cast<std::uint64_t>(gradients[row].g), gradients[row].hc};
    const std::uint16_t *item = items + starts[row], *end = items + starts[row + 1];
    for (; item + 4 <= end; item += 4) {
      for (int k = 0; k < 4; ++k) *reinterpret_cast<Pair*>(words + item[k]) += pair;
    }
    for (; item < end; ++item) *reinterpret_cast<Pair*>(words + *item) += pair;
  }
}

// Sets the sums of the commonest bins, which are empty so far.
void complete(const LaneGroup& group, const GradientSum& node, GradientSum* sums) {
  Pairs8 total;
  for (std::size_t b = 0; b < group.n_bins; ++b) total += Pairs8::load(sums + b * kLanes);
  GradientSum of_lane[kLanes];
  total.store(of_lane);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (group.features[lane] < 0) continue;
    sums[group.commonest[lane] * kLanes + lane] = node - of_lane[lane];
  }
}

// The bins of a node as they are.
struct AllLanes {
  const GradientSum* sums;
  Pairs8 at(std::size_t entry) const { return Pairs8::load(sums + entry); }
};

// The bins of a parent minus those of a child, which replace the parent's.
struct RemainingLanes {
  GradientSum* sums;
  const GradientSum* child;

  Pairs8 at(std::size_t entry) const {
    Pairs8 remaining = Pairs8::load(sums + entry);
    remaining -= Pairs8::load(child + entry);
    remaining.store(sums + entry);
    return remaining;
  }
};

// The scan of hist/split.cpp, for eight features at a time.
template <bool kZeroH, class AnyLanes>
void scan(const LaneSection& section, const SplitNode& node, const AnyLanes& bins, double* scores) {
  const FractionUnits<false> fraction(node);
  const ULong8 min_hc = node.minimum.hc, min_h = node.minimum.h, min_steps = node.minimum.steps;
  const ULong8 range_hc = node.total.hc - 2 * node.minimum.hc;
  const ULong8 range_h = node.h(node.total) - 2 * node.minimum.h;
  const ULong8 range_steps = node.fixed.most_steps(node.total) - 2 * node.minimum.steps;
  const ULong8 h_mask = node.fixed.h_mask();
  const int count_shift = node.fixed.count_shift;
  const Double8 never = -std::numeric_limits<double>::infinity();

  for (const LaneGroup& group : section.groups) {
    Pairs8 sums;
    Double8 numerator = fraction.to_beat, denominator = 1.0;
    Long8 is_found;
    for (std::size_t b = 0; b < group.n_bins; ++b) {
      sums += bins.at(group.first + b * kLanes);
      const Sums8 left = unzip(sums);
      const ULong8 left_h = left.hc & h_mask;
      const ULong8 left_steps = left_h + (left.hc >> count_shift);
      const Double8 g = to_double(left.g);
      const auto tried = fraction(g, g, to_double(as<std::int64_t>(left_h)));
      Long8 better = (tried.numerator * denominator > numerator * tried.denominator) &
                     (left_steps - min_steps <= range_steps) & (left.hc - min_hc <= range_hc);
      if (kZeroH) better &= left_h - min_h <= range_h;
      numerator = select(better, tried.numerator, numerator);
      denominator = select(better, tried.denominator, denominator);
      is_found |= better;
    }
    select(is_found, numerator / denominator, never).store(scores);
    scores += kLanes;
  }
}

template <class AnyLanes>
void scan_bins(const LaneSection& section, const SplitNode& node, const AnyLanes& bins,
               double* scores) {
  if (node.fixed.has_zero_h) {
    scan<true>(section, node, bins, scores);
  } else {
    scan<false>(section, node, bins, scores);
  }
}

}  // namespace

void build_lanes(const LaneSection& section, const GradientSum* gradients, const RowSet& rows,
                 const GradientSum& node, GradientSum* sums) {
  std::memset(sums, 0, sizeof(GradientSum) * section.n_entries);
  add_rows(section, gradients, rows, sums);
  for (const LaneGroup& group : section.groups) complete(group, node, sums + group.first);
}

void scan_lanes(const LaneSection& section, const SplitNode& node, const GradientSum* sums,
                double* scores) {
  scan_bins(section, node, AllLanes{sums}, scores);
}

void scan_remaining_lanes(const LaneSection& section, const SplitNode& node,
                          const GradientSum* child, GradientSum* sums, double* scores) {
  scan_bins(section, node, RemainingLanes{sums, child}, scores);
}

}  // namespace hedgerow::hist
