// A node is scanned twice. The first scan finds the score of every feature up to rounding, eight
// features at a time; the second one applies the rule of shared/split_rule.hpp to the few features
// whose score is near the best, so the result is that of a search of all features.
#include "hist/lane_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/owned_tasks.hpp"
#include "core/threads.hpp"
#include "hist/lane_histogram.hpp"
#include "hist/lane_table.hpp"
#include "hist/leaf_storage.hpp"
#include "hist/split.hpp"

namespace hedgerow::hist {
namespace {

constexpr std::size_t kFewestSlots = 4;
// Items or entries that justify waking a thread.
constexpr std::size_t kWorkPerThread = 4'000;
// A node keeps its histogram if its rows have at least so many items for each entry: otherwise
// adding up the rows of its children is cheaper than moving all entries through the cache.
constexpr std::size_t kItemsPerEntry = 2;
// A generous bound on the relative rounding error of a score: too many features are offered to the
// search rather than too few.
constexpr double kScoreNoise = 0x1p-40;

struct LaneLeaf : EngineLeaf {
  GradientSum sum = {0, 0};
};

// Working memory of a thread.
struct LaneScratch {
  Buffer<GradientSum> sums;                    // of a section, if the node does not keep them
  std::vector<double> scores;                  // of the features of a section
  alignas(64) GradientSum feature[kBins + 8];  // the histogram of one feature
};

// A leaf that is added up or scanned.
struct LaneScan {
  LeafSearch* search;
  const LaneLeaf* leaf;
  RowSet rows;
  SplitSearch of_leaf;
  bool is_wanted;  // false: its histogram serves its sibling only
};

// Two new leaves.
struct LanePair {
  LaneScan small, large;
  bool subtracts;  // the larger one has its parent's histogram, from which the other is subtracted
};

struct BestOfPair {
  Split small, large;
};

}  // namespace

class LaneEngine final : public ScalarLeafEngine {
 public:
  LaneEngine(LaneTable table, const BinnedView& bins, const GrowthParams& params, int threads,
             const EngineLimits& limits);

  void set_gradients(const Gradients& gradients) override {
    if (gradients.fixed.packed) throw std::logic_error("lanes need rows in wide form");
    gradients_ = gradients;
  }
  int n_values() const override { return 1; }
  bool has_limits() const override { return false; }
  void set_features(const std::vector<int>&) override {}  // searches say which are allowed
  NewLeaf plant_root(const Bag& bag) override;
  void search(LeafSearch& search) override;
  std::array<NewLeaf, 2> make_children(int leaf, const Split& split) override;
  void divide(std::span<Division> divisions) override;
  void close(int leaf) override { pool_.release(at(leaf).slot); }
  LeafSums sums(int leaf, int) const override {
    const GradientSum& sum = leaves_[static_cast<std::size_t>(leaf)].sum;
    return {gradients_.fixed.g(sum), gradients_.fixed.h(sum)};
  }
  void number_rows(const GrownTree& tree, std::span<const int> leaves,
                   std::uint16_t* leaf_of_row) override {
    rows_.number_rows(tree, number_leaves(leaves_, leaves), leaf_of_row);
  }

 private:
  LaneLeaf& at(int leaf) { return leaves_[static_cast<std::size_t>(leaf)]; }
  NewLeaf describe(int leaf) const;
  bool is_kept(std::size_t n_rows) const {
    return n_rows * table_.items_per_row >= kItemsPerEntry * table_.n_entries;
  }
  GradientSum* histogram(int slot, const LaneSection& section) const {
    return pool_.at<GradientSum>(slot) + section.first_entry;
  }
  LaneScratch& scratch_of(int slot) { return scratch_[static_cast<std::size_t>(slot)]; }
  void build(const LaneSection& section, const LaneLeaf& leaf, GradientSum* sums) const {
    build_lanes(section, gradients_.wide, rows_.rows(leaf.rows), leaf.sum, sums);
  }
  LaneScan lane_scan(LeafSearch& search, bool is_wanted);
  LanePair lane_pair(Division& division);
  std::size_t work(const LanePair& pair) const;
  template <class Task>
  void for_each_section(std::size_t work, std::size_t n_nodes, Task task);
  const GradientSum* built(const LaneScan& scan, const LaneSection& section, int slot);
  void evaluate(std::span<LanePair> pairs);
  void scan_pair(const LanePair& pair, const LaneSection& section, int slot, BestOfPair& best);
  void offer(const LaneScan& scan, const LaneSection& section, std::size_t i,
             const GradientSum* sums, GradientSum* room, Split& best) const;
  void offer_best(const LaneScan& scan, const LaneSection& section, const GradientSum* sums,
                  LaneScratch& own, Split& best) const;

  LaneTable table_;
  BinnedView bins_;
  GrowthParams params_;
  int threads_;
  RowPartition rows_;
  HistogramPool pool_;
  std::vector<LaneScratch> scratch_;  // by slot

  // State of the tree being grown.
  Gradients gradients_;
  std::vector<LaneLeaf> leaves_;  // by id
  std::vector<BestOfPair> results_;
};

LaneEngine::LaneEngine(LaneTable table, const BinnedView& bins, const GrowthParams& params,
                       int threads, const EngineLimits& limits)
    : table_(std::move(table)),
      bins_(bins),
      params_(params),
      threads_(threads),
      rows_(bins_, threads),
      pool_(sizeof(GradientSum) * table_.n_entries, limits.histogram_bytes, kFewestSlots),
      scratch_(static_cast<std::size_t>(std::max(threads, 1))) {
  std::size_t n_entries = 0, n_groups = 0;
  for (const LaneSection& section : table_.sections) {
    n_entries = std::max(n_entries, section.n_entries);
    n_groups = std::max(n_groups, section.groups.size());
  }
  for (LaneScratch& own : scratch_) {
    own.sums = Buffer<GradientSum>(n_entries);
    own.scores.resize(n_groups * kLanes);
  }
}

NewLeaf LaneEngine::describe(int leaf) const {
  const LaneLeaf& made = leaves_[static_cast<std::size_t>(leaf)];
  const FixedPoint& fixed = gradients_.fixed;
  return {leaf, made.rows.count, fixed.h(made.sum),
          ChildMinimum(params_, fixed).fits_twice(fixed, made.sum)};
}

// Calls task(node, section, slot) for the sections of some nodes; a section belongs to a thread.
template <class Task>
void LaneEngine::for_each_section(std::size_t work, std::size_t n_nodes, Task task) {
  const std::size_t n_sections = table_.sections.size();
  const int most = std::min(threads_, static_cast<int>(n_sections));
  const int team = threads_for(work, kWorkPerThread, most);
  parallel_for_owned(
      team, n_nodes * n_sections, [&](std::size_t i) { return i % n_sections; },
      [&](std::size_t i, int slot) { task(i / n_sections, i % n_sections, slot); });
}

NewLeaf LaneEngine::plant_root(const Bag& bag) {
  leaves_.clear();
  pool_.release_all();
  LaneLeaf root;
  root.rows = rows_.begin(bag);
  root.slot = take_slot(pool_, leaves_);
  const RowSet rows = rows_.rows(root.rows);
  for (std::size_t i = 0; i < rows.count; ++i) {
    root.sum += gradients_.wide[rows.ids ? rows.ids[i] : rows.first + i];
  }
  for_each_section(rows.count * table_.items_per_row, 1, [&](std::size_t, std::size_t s, int) {
    build(table_.sections[s], root, histogram(root.slot, table_.sections[s]));
  });
  leaves_.push_back(root);
  return describe(0);
}

LaneScan LaneEngine::lane_scan(LeafSearch& search, bool is_wanted) {
  const LaneLeaf& leaf = at(search.leaf);
  return {&search, &leaf, rows_.rows(leaf.rows),
          SplitSearch(params_, gradients_.fixed, leaf.sum, search.limited), is_wanted};
}

// Offers the i-th feature of a section.
void LaneEngine::offer(const LaneScan& scan, const LaneSection& section, std::size_t i,
                       const GradientSum* sums, GradientSum* room, Split& best) const {
  const LaneGroup& group = section.groups[i / kLanes];
  const std::size_t lane = i % kLanes;
  const int feature = group.features[lane], n_bins = bins_.n_bins[feature];
  const GradientSum* entry = sums + group.first + lane;
  for (int bin = 0; bin < n_bins; ++bin, entry += kLanes) room[bin] = *entry;
  std::fill_n(room + n_bins, 8, GradientSum{0, 0});  // a scan may read this far
  scan.of_leaf.offer({room, {0, 0}, feature, n_bins, false}, best);
}

// Offers the feature with the best score, then those that might be better still.
void LaneEngine::offer_best(const LaneScan& scan, const LaneSection& section,
                            const GradientSum* sums, LaneScratch& own, Split& best) const {
  const AllowedFeatures& allowed = scan.search->allowed;
  std::vector<double>& scores = own.scores;
  const std::size_t n_scores = section.groups.size() * kLanes;
  std::size_t first = n_scores;
  for (std::size_t i = 0; i < n_scores; ++i) {
    if (std::isinf(scores[i]) || (first < n_scores && scores[i] <= scores[first])) continue;
    const int feature = section.groups[i / kLanes].features[i % kLanes];
    if (allowed[static_cast<std::size_t>(feature)]) first = i;
  }
  if (first == n_scores) return;
  offer(scan, section, first, sums, own.feature, best);
  const double to_beat = FractionUnits<false>(scan.of_leaf.node_for(best, 1.0)).to_beat;
  const double near = to_beat - kScoreNoise * std::fabs(to_beat);
  for (std::size_t i = 0; i < n_scores; ++i) {
    if (i == first || !(scores[i] >= near)) continue;
    const int feature = section.groups[i / kLanes].features[i % kLanes];
    if (allowed[static_cast<std::size_t>(feature)]) {
      offer(scan, section, i, sums, own.feature, best);
    }
  }
}

void LaneEngine::search(LeafSearch& search) {
  LaneLeaf& leaf = at(search.leaf);
  const LaneScan scan = lane_scan(search, true);
  results_.assign(table_.sections.size(), {});
  for_each_section(table_.n_entries, 1, [&](std::size_t, std::size_t s, int slot) {
    const LaneSection& section = table_.sections[s];
    const GradientSum* sums = histogram(leaf.slot, section);
    LaneScratch& own = scratch_of(slot);
    scan_lanes(section, scan.of_leaf.node_for({}, 1.0), sums, own.scores.data());
    offer_best(scan, section, sums, own, results_[s].small);
  });
  for (const BestOfPair& result : results_) {
    if (result.small.beats(search.best)) search.best = result.small;
  }
  leaf.is_waiting = true;
}

std::array<NewLeaf, 2> LaneEngine::make_children(int leaf, const Split& split) {
  const auto [left, right] = add_children(leaves_, leaf, split, gradients_.fixed);
  return {describe(left), describe(right)};
}

LanePair LaneEngine::lane_pair(Division& division) {
  const auto [small_side, subtracts] =
      plan_pair(division, pool_, leaves_, [&](std::size_t n_rows) { return is_kept(n_rows); });
  const auto scan = [&](std::size_t side) {
    return lane_scan(division.children[side], division.is_searched[side]);
  };
  return {scan(small_side), scan(1 - small_side), subtracts};
}

// The work in items; adding one takes about as long as scanning an entry.
std::size_t LaneEngine::work(const LanePair& pair) const {
  std::size_t n_rows = 0, n_scans = 0;
  if (pair.small.is_wanted || pair.subtracts) n_rows += pair.small.rows.count;
  if (pair.large.is_wanted && !pair.subtracts) n_rows += pair.large.rows.count;
  for (const LaneScan* scan : {&pair.small, &pair.large}) n_scans += scan->is_wanted;
  return n_rows * table_.items_per_row + n_scans * table_.n_entries;
}

// Builds the histogram of a leaf: where it is kept, or in the memory of a thread.
const GradientSum* LaneEngine::built(const LaneScan& scan, const LaneSection& section, int slot) {
  GradientSum* sums =
      scan.leaf->slot >= 0 ? histogram(scan.leaf->slot, section) : scratch_of(slot).sums.get();
  build(section, *scan.leaf, sums);
  return sums;
}

void LaneEngine::scan_pair(const LanePair& pair, const LaneSection& section, int slot,
                           BestOfPair& best) {
  LaneScratch& own = scratch_of(slot);
  const auto scan_built = [&](const LaneScan& scan, const GradientSum* sums, Split& of_leaf) {
    scan_lanes(section, scan.of_leaf.node_for({}, 1.0), sums, own.scores.data());
    offer_best(scan, section, sums, own, of_leaf);
  };
  best = {};
  if (pair.small.is_wanted || pair.subtracts) {
    const GradientSum* sums = built(pair.small, section, slot);
    if (pair.small.is_wanted) scan_built(pair.small, sums, best.small);
    if (pair.subtracts) {
      GradientSum* remaining = histogram(pair.large.leaf->slot, section);
      scan_remaining_lanes(section, pair.large.of_leaf.node_for({}, 1.0), sums, remaining,
                           own.scores.data());
      offer_best(pair.large, section, remaining, own, best.large);
    }
  }
  if (pair.large.is_wanted && !pair.subtracts) {
    scan_built(pair.large, built(pair.large, section, slot), best.large);
  }
}

// Finds the best splits of leaves side by side.
void LaneEngine::evaluate(std::span<LanePair> pairs) {
  const std::size_t n_sections = table_.sections.size();
  std::size_t total = 0;
  for (const LanePair& pair : pairs) total += work(pair);
  results_.resize(pairs.size() * n_sections);
  for_each_section(total, pairs.size(), [&](std::size_t i, std::size_t s, int slot) {
    scan_pair(pairs[i], table_.sections[s], slot, results_[i * n_sections + s]);
  });
  for (std::size_t i = 0; i < results_.size(); ++i) {
    Split& of_small = pairs[i / n_sections].small.search->best;
    Split& of_large = pairs[i / n_sections].large.search->best;
    if (results_[i].small.beats(of_small)) of_small = results_[i].small;
    if (results_[i].large.beats(of_large)) of_large = results_[i].large;
  }
}

void LaneEngine::divide(std::span<Division> divisions) {
  divide_rows(rows_, divisions, leaves_);
  std::vector<LanePair> pairs;
  for (Division& division : divisions) {
    if (division.is_searched[0] || division.is_searched[1]) {
      pairs.push_back(lane_pair(division));
    } else {
      pool_.release(at(division.leaf).slot);
    }
  }
  evaluate(pairs);
  for (const LanePair& pair : pairs) {
    LaneLeaf &small = at(pair.small.search->leaf), &large = at(pair.large.search->leaf);
    if (!is_kept(large.rows.count)) pool_.release(large.slot);
    small.is_waiting = large.is_waiting = true;
  }
}

std::unique_ptr<ScalarLeafEngine> make_lane_engine(const BinnedView& bins,
                                                   const GrowthParams& params,
                                                   const Constraints& constraints, int threads,
                                                   const EngineLimits& limits) {
  std::optional<LaneTable> table = LaneTable::make(bins, params, constraints, threads);
  if (!table) return nullptr;
  return std::make_unique<LaneEngine>(*std::move(table), bins, params, threads, limits);
}

}  // namespace hedgerow::hist
