// Histograms of eight features side by side (hist/lane_table.hpp): built from rows, subtracted and
// scanned.
#pragma once
#include <cstddef>
#include <span>

#include "hist/histogram.hpp"
#include "hist/lane_table.hpp"
#include "hist/split.hpp"

namespace hedgerow::hist {

// Writes the histograms of a section for rows in wide form, whose sum is `node`.
void build_lanes(const LaneSection& section, const GradientSum* gradients, const RowSet& rows,
                 const GradientSum& node, GradientSum* sums);

// The best score of each feature in a node, eight for each group: the largest fraction of a
// threshold (shared/split_rule.hpp) up to rounding, or −∞ if no score is above the one
// that a split has to beat.
void scan_lanes(const LaneSection& section, const SplitNode& node, const GradientSum* sums,
                double* scores);

// The same for the other child of a parent whose histograms are `sums`: those of the child are
// subtracted from them.
void scan_remaining_lanes(const LaneSection& section, const SplitNode& node,
                          const GradientSum* child, GradientSum* sums, double* scores);

}  // namespace hedgerow::hist
