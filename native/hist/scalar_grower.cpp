// The engine for trees of one output. The histogram of the smaller child is built from its rows,
// that of the larger child by subtraction from the parent's. Building, subtracting and scanning
// happen in one parallel region, a group of features at a time, so that the histograms of a group
// are still in the cache when they are scanned.
#include "hist/scalar_grower.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "hist/feature_scan.hpp"
#include "hist/histogram.hpp"
#include "hist/histogram_builder.hpp"
#include "hist/leaf_storage.hpp"
#include "hist/split.hpp"
#include "hist/tree_builder.hpp"
#include "hist/tree_columns.hpp"

namespace hedgerow::hist {
namespace {

constexpr std::size_t kFewestSlots = 4;
// Histogram updates that justify waking a thread, and the cost of a scanned bin in updates.
constexpr std::size_t kUpdatesPerThread = 4'000;
constexpr std::size_t kScanCost = 2;
// Nodes with fewer rows per bin do not keep their histogram: adding up the rows of their children
// is cheaper than moving all bins through the second-level cache.
constexpr std::size_t kKeepFromRows = 4;
// Working memory of a thread.
struct alignas(64) Scratch {
  FeatureRoom feature;
  GradientSum group[kGroupWidth * kColumnStride];  // histograms that are not kept
};

Buffer<Scratch> make_scratch(int threads) {
  const auto slots = static_cast<std::size_t>(std::max(threads, 1));
  Buffer<Scratch> scratch(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    std::fill(std::begin(scratch[slot].feature), std::end(scratch[slot].feature),
              GradientSum{0, 0});
  }
  return scratch;
}

struct ScalarLeaf : EngineLeaf {
  GradientSum sum = {0, 0};
};

}  // namespace

class ScalarEngine final : public GrowthEngine {
 public:
  ScalarEngine(const BinnedView& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits)
      : bins_(bins),
        params_(params),
        constraints_(constraints),
        threads_(threads),
        rows_(bins_, threads),
        columns_(bins_, static_cast<std::size_t>(params.min_rows())),
        builder_(bins_, threads),
        pool_(sizeof(GradientSum) * kColumnStride * static_cast<std::size_t>(bins.n_columns),
              limits.histogram_bytes, kFewestSlots),
        scratch_(make_scratch(threads)) {}

  void set_gradients(const Gradients& gradients) { gradients_ = gradients; }

  int n_values() const override { return 1; }
  bool has_limits() const override { return true; }
  void set_features(const std::vector<int>& features) override;
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
                   std::uint16_t* leaf_of_row) override;

 private:
  ScalarLeaf& at(int leaf) { return leaves_[static_cast<std::size_t>(leaf)]; }
  NewLeaf describe(int leaf) const;
  int team_for(std::size_t rows) const;
  GradientSum* histogram(int slot) const { return pool_.at<GradientSum>(slot); }
  GradientSum* histogram(int slot, const ColumnGroup& group) const {
    return histogram(slot) + group.first * kColumnStride;
  }
  Scratch& scratch_of(int slot) const { return scratch_[static_cast<std::size_t>(slot)]; }
  GradientSum sum_of_rows(const ScalarLeaf& leaf) const;
  void evaluate_children(Division& division);
  SplitSearch split_search(const LeafSearch& search) {
    return {params_, gradients_.fixed, at(search.leaf).sum, search.limited};
  }
  FeatureScan scan() const { return {bins_, columns_, constraints_}; }
  void offer(const SplitSearch& search, const ColumnGroup& group, GradientSum* sums,
             const AllowedFeatures& allowed, GradientSum* room, Split& best) const;
  void offer_sibling(const SplitSearch& search, const ColumnGroup& group, GradientSum* parent,
                     const GradientSum* child, const AllowedFeatures& allowed, GradientSum* room,
                     Split& best) const;
  Split best_of_groups(std::size_t first) const;

  BinnedView bins_;
  GrowthParams params_;
  Constraints constraints_;
  int threads_;
  RowPartition rows_;
  TreeColumns columns_;
  HistogramBuilder builder_;
  HistogramPool pool_;
  Buffer<Scratch> scratch_;  // by slot

  // Of the tree being grown.
  Gradients gradients_;
  std::vector<ScalarLeaf> leaves_;  // by id
  std::vector<Split> group_best_;
  std::size_t keep_from_ = 0;  // nodes with as many rows keep their histogram
};

NewLeaf ScalarEngine::describe(int leaf) const {
  const ScalarLeaf& made = leaves_[static_cast<std::size_t>(leaf)];
  const FixedPoint& fixed = gradients_.fixed;
  return {leaf, made.rows.count, fixed.h(made.sum),
          ChildMinimum(params_, fixed).fits_twice(fixed, made.sum)};
}

int ScalarEngine::team_for(std::size_t rows) const {
  const std::size_t work = (rows + kScanCost * kBins) * columns_.columns().size();
  return threads_for(work, kUpdatesPerThread, threads_);
}

void ScalarEngine::set_features(const std::vector<int>& features) {
  columns_.select(features);
  builder_.set_columns(columns_);
  group_best_.resize(2 * builder_.groups().size());
  keep_from_ = kKeepFromRows * columns_.mean_codes();
}

// Offers the features of a group, whose histograms are stored side by side.
void ScalarEngine::offer(const SplitSearch& search, const ColumnGroup& group, GradientSum* sums,
                         const AllowedFeatures& allowed, GradientSum* room, Split& best) const {
  for (int k = 0; k < group.count; ++k) {
    scan().offer(search, group.column[k], sums + k * kColumnStride, allowed, room, best);
  }
}

// The same for the difference between a parent and a child.
void ScalarEngine::offer_sibling(const SplitSearch& search, const ColumnGroup& group,
                                 GradientSum* parent, const GradientSum* child,
                                 const AllowedFeatures& allowed, GradientSum* room,
                                 Split& best) const {
  for (int k = 0; k < group.count; ++k, parent += kColumnStride, child += kColumnStride) {
    scan().offer_sibling(search, group.column[k], parent, child, allowed, room, best);
  }
}

// The best over the groups, whose results are group_best_[first], [first + 2], …
Split ScalarEngine::best_of_groups(std::size_t first) const {
  Split best;
  for (std::size_t i = first; i < group_best_.size(); i += 2) {
    if (group_best_[i].beats(best)) best = group_best_[i];
  }
  return best;
}

void ScalarEngine::search(LeafSearch& search) {
  ScalarLeaf& leaf = at(search.leaf);
  const SplitSearch of_leaf = split_search(search);
  const RowSet rows = rows_.rows(leaf.rows);
  const bool is_kept = leaf.slot >= 0;
  const std::vector<ColumnGroup>& groups = builder_.groups();
  parallel_for(team_for(is_kept ? 0 : rows.count), groups.size(), [&](std::size_t i, int slot) {
    Scratch& own = scratch_of(slot);
    GradientSum* sums = is_kept ? histogram(leaf.slot, groups[i]) : own.group;
    if (!is_kept) builder_.build_group(gradients_, rows, groups[i], slot, sums);
    group_best_[2 * i] = Split{};
    offer(of_leaf, groups[i], sums, search.allowed, own.feature, group_best_[2 * i]);
  });
  search.best = best_of_groups(0);
  leaf.is_waiting = true;
}

// The sum over a leaf's rows, which is the sum over the bins of any column.
GradientSum ScalarEngine::sum_of_rows(const ScalarLeaf& leaf) const {
  const GradientSum* sums = histogram(leaf.slot);
  GradientSum sum = sums[kMissingBin];
  for (int b = 0; b < std::min(builder_.groups().front().n_codes[0], kMissingBin); ++b)
    sum += sums[b];
  return sum;
}

NewLeaf ScalarEngine::plant_root(const Bag& bag) {
  leaves_.clear();
  pool_.release_all();
  ScalarLeaf root;
  root.rows = rows_.begin(bag);
  root.slot = take_slot(pool_, leaves_);
  builder_.build(gradients_, rows_.rows(root.rows), team_for(root.rows.count),
                 histogram(root.slot));
  root.sum = sum_of_rows(root);
  leaves_.push_back(root);
  return describe(0);
}

std::array<NewLeaf, 2> ScalarEngine::make_children(int leaf, const Split& split) {
  const int left = static_cast<int>(leaves_.size()), right = left + 1;
  leaves_.resize(leaves_.size() + 2);
  const ScalarLeaf& parent = at(leaf);
  at(left).rows.count = gradients_.fixed.count(split.left);
  at(right).rows.count = parent.rows.count - at(left).rows.count;
  at(left).sum = split.left;
  at(right).sum = parent.sum - split.left;
  return {describe(left), describe(right)};
}

void ScalarEngine::divide(std::span<Division> divisions) {
  for (const Division& division : divisions) at(division.leaf).is_waiting = false;
  for (Division& division : divisions) {
    const auto& [left, right] = division.children;
    rows_.divide(at(division.leaf).rows, division.split, at(left.leaf).rows, at(right.leaf).rows);
    at(division.leaf).children = {left.leaf, right.leaf};
    evaluate_children(division);
  }
}

// Evaluates two new leaves. The histogram of the smaller one is built from its rows, that of the
// larger one by subtraction if the parent has kept its own.
void ScalarEngine::evaluate_children(Division& division) {
  const auto size = [&](std::size_t side) { return at(division.children[side].leaf).rows.count; };
  const std::size_t small_side = size(0) <= size(1) ? 0 : 1, large_side = 1 - small_side;
  LeafSearch& of_small = division.children[small_side];
  LeafSearch& of_large = division.children[large_side];
  const bool scan_small = division.is_searched[small_side];
  const bool scan_large = division.is_searched[large_side];
  ScalarLeaf &parent = at(division.leaf), &small = at(of_small.leaf), &large = at(of_large.leaf);
  const bool subtract = scan_large && parent.slot >= 0;
  if (!subtract) pool_.release(parent.slot);
  if (!scan_small && !scan_large) return;
  if (scan_small && small.rows.count >= keep_from_) small.slot = take_slot(pool_, leaves_);
  if (scan_large && !subtract && large.rows.count >= keep_from_) {
    large.slot = take_slot(pool_, leaves_);
  }
  if (subtract) large.slot = std::exchange(parent.slot, -1);

  const SplitSearch search_small = split_search(of_small), search_large = split_search(of_large);
  const RowSet rows_small = rows_.rows(small.rows), rows_large = rows_.rows(large.rows);
  const int team = team_for(small.rows.count);
  const bool is_built = small.slot >= 0 && builder_.divides_rows(small.rows.count, team);
  if (is_built) builder_.build(gradients_, rows_small, team, histogram(small.slot));
  const std::vector<ColumnGroup>& groups = builder_.groups();
  parallel_for(team, groups.size(), [&](std::size_t i, int slot) {
    Scratch& own = scratch_of(slot);
    const ColumnGroup& group = groups[i];
    Split best_small, best_large;
    if (scan_small || subtract) {
      GradientSum* sums = small.slot >= 0 ? histogram(small.slot, group) : own.group;
      if (!is_built) builder_.build_group(gradients_, rows_small, group, slot, sums);
      if (scan_small) offer(search_small, group, sums, of_small.allowed, own.feature, best_small);
      if (subtract) {
        offer_sibling(search_large, group, histogram(large.slot, group), sums, of_large.allowed,
                      own.feature, best_large);
      }
    }
    if (scan_large && !subtract) {
      GradientSum* sums = large.slot >= 0 ? histogram(large.slot, group) : own.group;
      builder_.build_group(gradients_, rows_large, group, slot, sums);
      offer(search_large, group, sums, of_large.allowed, own.feature, best_large);
    }
    group_best_[2 * i] = best_small;
    group_best_[2 * i + 1] = best_large;
  });
  if (scan_small) of_small.best = best_of_groups(0);
  if (scan_large) of_large.best = best_of_groups(1);
  if (large.rows.count < keep_from_) pool_.release(large.slot);
  small.is_waiting = large.is_waiting = true;
}

void ScalarEngine::number_rows(const GrownTree& tree, std::span<const int> leaves,
                               std::uint16_t* leaf_of_row) {
  rows_.number_rows(tree, number_leaves(leaves_, leaves), leaf_of_row);
}

ScalarGrower::ScalarGrower(const BinnedView& bins, const GrowthParams& params,
                           const Constraints& constraints, int threads, const EngineLimits& limits)
    : engine_(std::make_unique<ScalarEngine>(bins, params, constraints, threads, limits)),
      builder_(std::make_unique<TreeBuilder>(
          params, constraints, std::span(bins.n_bins, static_cast<std::size_t>(bins.n_features)),
          limits.leaves_ahead)) {}

ScalarGrower::~ScalarGrower() = default;
ScalarGrower::ScalarGrower(ScalarGrower&&) noexcept = default;

GrownTree ScalarGrower::grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                             std::uint16_t* leaf_of_row) {
  engine_->set_gradients(gradients);
  return builder_->grow(*engine_, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow::hist
