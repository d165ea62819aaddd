// The engine for trees of one output on a sparse table. A large node keeps the histogram of all its
// features, from which that of its larger child follows by subtraction of the smaller child's rows;
// a scan visits every feature. A small node has no histogram: its rows are added to empty sums, the
// features that they touch are scanned, and the sums are emptied again, in time that follows the
// stored values of its rows.
#include "hist/sparse_grower.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "hist/histogram.hpp"
#include "hist/leaf_storage.hpp"
#include "hist/level_scan.hpp"
#include "hist/sparse_histogram.hpp"
#include "hist/sparse_partition.hpp"
#include "hist/split.hpp"
#include "hist/tree_builder.hpp"

namespace hedgerow::hist {
namespace {

constexpr std::size_t kFewestSlots = 4;
// A node keeps its histogram if its rows store at least one value for so many entries: visiting a
// stored value, twice, takes about as long as scanning two entries.
constexpr std::size_t kEntriesPerValue = 2;
// Stored values or entries that justify waking a thread.
constexpr std::size_t kWorkPerThread = 16'384;

// Working memory of a thread.
struct alignas(64) SparseScratch {
  GradientSum feature[kBins + 8];      // the histogram of one feature
  std::vector<GradientSum> sums;       // of a block, all zero between uses
  std::vector<std::uint32_t> counts;   // rows of each feature of a block, all zero between uses
  std::vector<std::uint32_t> touched;  // the features that have any
  LeftSums left;
};

struct SparseLeaf : EngineLeaf {
  GradientSum sum = {0, 0};
};

// The sides of two new leaves, by their rows.
struct ChildPair {
  std::size_t small, large;
  bool subtracts;  // the larger one has its parent's histogram, from which the other is subtracted
};

}  // namespace

class SparseEngine final : public GrowthEngine {
 public:
  SparseEngine(const SparseBins& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits);

  void set_gradients(const Gradients& gradients) { gradients_ = gradients; }

  int n_values() const override { return 1; }
  bool has_limits() const override { return true; }
  void set_features(const std::vector<int>&) override {}  // searches say which are allowed
  NewLeaf plant_root(const Bag& bag) override;
  void search(LeafSearch& search) override;
  std::array<NewLeaf, 2> make_children(int leaf, const Split& split) override;
  void divide(std::span<Division> divisions) override;
  void divide_level(std::span<Division> divisions) override;
  void search_level(LevelSearch& search) override;
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
  SparseLeaf& at(int leaf) { return leaves_[static_cast<std::size_t>(leaf)]; }
  NewLeaf describe(int leaf) const;
  int team_for(std::size_t n_rows, bool scans_all) const;
  GradientSum* histogram(int slot, std::size_t block) const {
    return pool_.at<GradientSum>(slot) + first_entry_[block];
  }
  SplitSearch split_search(const LeafSearch& search) {
    return {params_, gradients_.fixed, at(search.leaf).sum, search.limited};
  }
  void build(std::size_t block, const RowSet& rows, GradientSum* sums) const;
  std::pair<FeatureHistogram, GradientSum> of_feature(const SparseBlock& block, std::size_t j,
                                                      const GradientSum& node,
                                                      const GradientSum* sums,
                                                      GradientSum* room) const;
  void offer(const SplitSearch& search, const SparseBlock& block, std::size_t j,
             const GradientSum* sums, GradientSum* room, Split& best) const;
  void scan_all(const SplitSearch& search, std::size_t block, const GradientSum* sums,
                const AllowedFeatures& allowed, int slot, Split& best);
  void scan_touched(const SplitSearch& search, std::size_t block, const RowSet& rows,
                    const AllowedFeatures& allowed, int slot, Split& best);
  void keep_if_large(SparseLeaf& leaf);
  void evaluate(const SparseLeaf& leaf, const LeafSearch& search, std::size_t block, int slot,
                Split& best);
  void evaluate_children(Division& division);
  ChildPair assign_histograms(const Division& division);
  template <class Use>
  void with_features(int leaf, std::size_t block, const AllowedFeatures& allowed, int slot,
                     Use use);
  Split scan_level(const LevelSearch& search, std::span<const LevelLeaf> leaves, std::size_t block,
                   int slot);
  LeafDivision divide_by(const Split& test, int leaf, const LevelLeaf& of_level, int slot);
  Split best_of_blocks(std::size_t first) const;

  SparseBins bins_;
  GrowthParams params_;
  Constraints constraints_;
  int threads_;
  std::size_t min_rows_;
  SparsePartition rows_;
  std::vector<SparseBlock> blocks_;
  std::vector<std::size_t> first_entry_;  // of each block in a histogram, and the end of all
  HistogramPool pool_;
  std::vector<SparseScratch> scratch_;  // by slot
  std::size_t keep_from_;               // nodes with as many rows keep their histogram

  // State of the tree being grown.
  Gradients gradients_;
  std::vector<SparseLeaf> leaves_;  // by id
  std::vector<Split> block_best_;
  std::optional<LevelScan> level_;  // of symmetric trees
};

namespace {

std::vector<std::size_t> first_entries(const std::vector<SparseBlock>& blocks) {
  std::vector<std::size_t> first{0};
  for (const SparseBlock& block : blocks) first.push_back(first.back() + block.n_entries());
  return first;
}

std::vector<SparseScratch> make_scratch(const std::vector<SparseBlock>& blocks, int threads) {
  std::size_t n_entries = 0, n_features = 0;
  for (const SparseBlock& block : blocks) {
    n_entries = std::max(n_entries, block.n_entries());
    n_features = std::max(n_features, block.features.size());
  }
  std::vector<SparseScratch> by_slot(static_cast<std::size_t>(std::max(threads, 1)));
  for (SparseScratch& own : by_slot) {
    own.sums.resize(n_entries, GradientSum{0, 0});
    own.counts.resize(n_features);
    own.touched.reserve(n_features);
  }
  return by_slot;
}

std::size_t rows_to_keep(const std::vector<SparseBlock>& blocks, std::size_t n_rows) {
  std::size_t n_entries = 0, n_items = 1;
  for (const SparseBlock& block : blocks) {
    n_entries += block.n_entries();
    n_items += block.items.size();
  }
  return n_entries * n_rows / (kEntriesPerValue * n_items);
}

}  // namespace

SparseEngine::SparseEngine(const SparseBins& bins, const GrowthParams& params,
                           const Constraints& constraints, int threads, const EngineLimits& limits)
    : bins_(bins),
      params_(params),
      constraints_(constraints),
      threads_(threads),
      min_rows_(static_cast<std::size_t>(params.min_rows())),
      rows_(bins_, threads),
      blocks_(make_blocks(bins_, min_rows_, threads)),
      first_entry_(first_entries(blocks_)),
      pool_(sizeof(GradientSum) * std::max<std::size_t>(first_entry_.back(), 1),
            limits.histogram_bytes, kFewestSlots),
      scratch_(make_scratch(blocks_, threads)),
      keep_from_(rows_to_keep(blocks_, bins_.n_rows)),
      block_best_(2 * blocks_.size()) {
  if (params_.is_symmetric()) level_.emplace(params_, constraints_, bins_.n_bins);
}

NewLeaf SparseEngine::describe(int leaf) const {
  const SparseLeaf& made = leaves_[static_cast<std::size_t>(leaf)];
  const FixedPoint& fixed = gradients_.fixed;
  return {leaf, made.rows.count, fixed.h(made.sum),
          ChildMinimum(params_, fixed).fits_twice(fixed, made.sum)};
}

// Threads for the stored values of a node and, if all features are scanned, their entries.
int SparseEngine::team_for(std::size_t n_rows, bool scans_all) const {
  const std::size_t n_entries = first_entry_.back();
  const std::size_t values =
      n_rows * n_entries / (kEntriesPerValue * std::max(keep_from_, std::size_t{1}));
  return threads_for(values + (scans_all ? n_entries : 0), kWorkPerThread, threads_);
}

// The histogram of a block from the rows of a node.
void SparseEngine::build(std::size_t block, const RowSet& rows, GradientSum* sums) const {
  std::fill_n(sums, blocks_[block].n_entries(), GradientSum{0, 0});
  add_rows(blocks_[block], gradients_, rows, sums);
}

// The histogram of feature j of a block in a node, and the sum of its rows outside the bin of 0.
std::pair<FeatureHistogram, GradientSum> SparseEngine::of_feature(const SparseBlock& block,
                                                                  std::size_t j,
                                                                  const GradientSum& node,
                                                                  const GradientSum* sums,
                                                                  GradientSum* room) const {
  const std::size_t feature = block.features[j], first = block.first_entry[j];
  const GradientSum* entries = sums + first;
  const int n_bins = bins_.n_bins[feature];
  const GradientSum outside = extract(entries, block.first_entry[j + 1] - first, n_bins,
                                      bins_.zero_bin[feature], node, room);
  return {{room, entries[n_bins], static_cast<int>(feature), n_bins, false,
           constraints_.weight(feature)},
          outside};
}

// Offers feature j of a block.
void SparseEngine::offer(const SplitSearch& search, const SparseBlock& block, std::size_t j,
                         const GradientSum* sums, GradientSum* room, Split& best) const {
  const auto [histogram, outside] = of_feature(block, j, search.node(), sums, room);
  if (gradients_.fixed.count(outside) >= min_rows_) search.offer(histogram, best);
}

void SparseEngine::scan_all(const SplitSearch& search, std::size_t block, const GradientSum* sums,
                            const AllowedFeatures& allowed, int slot, Split& best) {
  GradientSum* room = scratch_[static_cast<std::size_t>(slot)].feature;
  const SparseBlock& scanned = blocks_[block];
  for (std::size_t j = 0; j < scanned.features.size(); ++j) {
    if (allowed[scanned.features[j]]) offer(search, scanned, j, sums, room, best);
  }
}

void SparseEngine::scan_touched(const SplitSearch& search, std::size_t block, const RowSet& rows,
                                const AllowedFeatures& allowed, int slot, Split& best) {
  SparseScratch& own = scratch_[static_cast<std::size_t>(slot)];
  const SparseBlock& scanned = blocks_[block];
  own.touched.clear();
  add_and_count_rows(scanned, gradients_, rows, own.sums.data(), own.counts.data(), own.touched);
  std::sort(own.touched.begin(), own.touched.end());
  for (const std::uint32_t j : own.touched) {
    const bool is_scanned = own.counts[j] >= min_rows_ && allowed[scanned.features[j]];
    if (is_scanned) offer(search, scanned, j, own.sums.data(), own.feature, best);
    own.counts[j] = 0;
  }
  clear_rows(scanned, rows, own.sums.data());
}

// The best over the blocks, whose results are block_best_[first], [first + 2], …
Split SparseEngine::best_of_blocks(std::size_t first) const {
  Split best;
  for (std::size_t i = first; i < block_best_.size(); i += 2) {
    if (block_best_[i].beats(best)) best = block_best_[i];
  }
  return best;
}

void SparseEngine::search(LeafSearch& search) {
  SparseLeaf& leaf = at(search.leaf);
  const SplitSearch of_leaf = split_search(search);
  const bool is_kept = leaf.slot >= 0;
  const int team = team_for(is_kept ? 0 : leaf.rows.count, is_kept);
  parallel_for(team, blocks_.size(), [&](std::size_t b, int slot) {
    Split& best = block_best_[2 * b] = Split{};
    if (is_kept) {
      scan_all(of_leaf, b, histogram(leaf.slot, b), search.allowed, slot, best);
    } else {
      scan_touched(of_leaf, b, rows_.rows(leaf.rows), search.allowed, slot, best);
    }
  });
  search.best = best_of_blocks(0);
  leaf.is_waiting = true;
}

void SparseEngine::keep_if_large(SparseLeaf& leaf) {
  if (leaf.rows.count >= keep_from_) leaf.slot = take_slot(pool_, leaves_);
}

NewLeaf SparseEngine::plant_root(const Bag& bag) {
  leaves_.clear();
  pool_.release_all();
  SparseLeaf root;
  root.rows = rows_.begin(bag);
  keep_if_large(root);
  const RowSet rows = rows_.rows(root.rows);
  for (std::size_t i = 0; i < rows.count; ++i) {
    root.sum += gradients_.row(rows.ids ? rows.ids[i] : rows.first + i);
  }
  if (root.slot >= 0) {
    parallel_for(team_for(rows.count, false), blocks_.size(),
                 [&](std::size_t b) { build(b, rows, histogram(root.slot, b)); });
  }
  leaves_.push_back(root);
  return describe(0);
}

std::array<NewLeaf, 2> SparseEngine::make_children(int leaf, const Split& split) {
  const auto [left, right] = add_children(leaves_, leaf, split, gradients_.fixed);
  return {describe(left), describe(right)};
}

void SparseEngine::divide(std::span<Division> divisions) {
  for (const Division& division : divisions) at(division.leaf).is_waiting = false;
  for (Division& division : divisions) {
    const auto& [left, right] = division.children;
    rows_.divide(at(division.leaf).rows, division.split, at(left.leaf).rows, at(right.leaf).rows);
    at(division.leaf).children = {left.leaf, right.leaf};
    evaluate_children(division);
  }
}

// Evaluates a block of a new leaf from its rows.
void SparseEngine::evaluate(const SparseLeaf& leaf, const LeafSearch& search, std::size_t block,
                            int slot, Split& best) {
  const SplitSearch of_leaf = split_search(search);
  const RowSet rows = rows_.rows(leaf.rows);
  if (leaf.slot < 0) return scan_touched(of_leaf, block, rows, search.allowed, slot, best);
  build(block, rows, histogram(leaf.slot, block));
  scan_all(of_leaf, block, histogram(leaf.slot, block), search.allowed, slot, best);
}

// Assigns the histograms of two new leaves. The larger one takes over its parent's, if it is large
// enough to keep one.
ChildPair SparseEngine::assign_histograms(const Division& division) {
  const auto child = [&](std::size_t side) -> SparseLeaf& {
    return at(division.children[side].leaf);
  };
  const std::size_t small = child(0).rows.count <= child(1).rows.count ? 0 : 1, large = 1 - small;
  SparseLeaf& parent = at(division.leaf);
  const bool subtracts =
      division.is_searched[large] && parent.slot >= 0 && child(large).rows.count >= keep_from_;
  if (subtracts) {
    child(large).slot = std::exchange(parent.slot, -1);
  } else {
    pool_.release(parent.slot);
    if (division.is_searched[large]) keep_if_large(child(large));
  }
  if (division.is_searched[small]) keep_if_large(child(small));
  return {small, large, subtracts};
}

// Evaluates two new leaves.
void SparseEngine::evaluate_children(Division& division) {
  const ChildPair pair = assign_histograms(division);
  const std::size_t small_side = pair.small, large_side = pair.large;
  LeafSearch& of_small = division.children[small_side];
  LeafSearch& of_large = division.children[large_side];
  const bool scan_small = division.is_searched[small_side];
  const bool scan_large = division.is_searched[large_side];
  if (!scan_small && !scan_large) return;
  SparseLeaf &small = at(of_small.leaf), &large = at(of_large.leaf);

  const std::size_t n_rows =
      (scan_large && !pair.subtracts ? large.rows.count : 0) + small.rows.count;
  const bool scans_all = large.slot >= 0 || small.slot >= 0;
  parallel_for(team_for(n_rows, scans_all), blocks_.size(), [&](std::size_t b, int slot) {
    Split& best_small = block_best_[2 * b] = Split{};
    Split& best_large = block_best_[2 * b + 1] = Split{};
    if (scan_small) evaluate(small, of_small, b, slot, best_small);
    if (pair.subtracts) {
      GradientSum* sums = histogram(large.slot, b);
      subtract_rows(blocks_[b], gradients_, rows_.rows(small.rows), sums);
      scan_all(split_search(of_large), b, sums, of_large.allowed, slot, best_large);
    } else if (scan_large) {
      evaluate(large, of_large, b, slot, best_large);
    }
  });
  if (scan_small) of_small.best = best_of_blocks(0);
  if (scan_large) of_large.best = best_of_blocks(1);
  small.is_waiting = large.is_waiting = true;
}

void SparseEngine::divide_level(std::span<Division> divisions) {
  for (const Division& division : divisions) {
    const auto& [left, right] = division.children;
    at(division.leaf).is_waiting = false;
    rows_.divide(at(division.leaf).rows, division.split, at(left.leaf).rows, at(right.leaf).rows);
    at(division.leaf).children = {left.leaf, right.leaf};
    const ChildPair pair = assign_histograms(division);
    SparseLeaf &small = at(division.children[pair.small].leaf),
               &large = at(division.children[pair.large].leaf);
    small.is_waiting = large.is_waiting = true;
    if (small.slot < 0 && large.slot < 0) continue;
    const auto make = [&](const SparseLeaf& leaf, std::size_t b) {
      if (leaf.slot >= 0) build(b, rows_.rows(leaf.rows), histogram(leaf.slot, b));
    };
    parallel_for(team_for(small.rows.count, true), blocks_.size(), [&](std::size_t b) {
      make(small, b);
      if (pair.subtracts) {
        subtract_rows(blocks_[b], gradients_, rows_.rows(small.rows), histogram(large.slot, b));
      } else {
        make(large, b);
      }
    });
  }
}

// Calls use(histogram) for the allowed features of a block that can divide a leaf.
template <class Use>
void SparseEngine::with_features(int leaf, std::size_t block, const AllowedFeatures& allowed,
                                 int slot, Use use) {
  const SparseLeaf& of_level = at(leaf);
  const SparseBlock& scanned = blocks_[block];
  SparseScratch& own = scratch_[static_cast<std::size_t>(slot)];
  const auto visit = [&](std::size_t j, const GradientSum* sums) {
    if (!allowed[scanned.features[j]]) return;
    const auto [histogram, outside] = of_feature(scanned, j, of_level.sum, sums, own.feature);
    if (gradients_.fixed.count(outside) >= min_rows_) use(histogram);
  };
  if (of_level.slot >= 0) {
    const GradientSum* sums = histogram(of_level.slot, block);
    for (std::size_t j = 0; j < scanned.features.size(); ++j) visit(j, sums);
    return;
  }
  const RowSet rows = rows_.rows(of_level.rows);
  own.touched.clear();
  add_and_count_rows(scanned, gradients_, rows, own.sums.data(), own.counts.data(), own.touched);
  for (const std::uint32_t j : own.touched) {
    if (own.counts[j] >= min_rows_) visit(j, own.sums.data());
    own.counts[j] = 0;
  }
  clear_rows(scanned, rows, own.sums.data());
}

// The best test of the features of a block.
Split SparseEngine::scan_level(const LevelSearch& search, std::span<const LevelLeaf> leaves,
                               std::size_t block, int slot) {
  return level_->best_test(
      search, leaves, scratch_[static_cast<std::size_t>(slot)].left,
      [&](auto use) {
        for (const std::size_t feature : blocks_[block].features) use(feature);
      },
      [&](std::size_t i, const AllowedFeatures& allowed, auto use) {
        with_features(search.leaves[i], block, allowed, slot, use);
      });
}

// What a test does to a leaf. A feature without entries there has all rows in its bin of 0.
LeafDivision SparseEngine::divide_by(const Split& test, int leaf, const LevelLeaf& of_level,
                                     int slot) {
  const auto feature = static_cast<std::size_t>(test.feature);
  const auto holds = [&](const SparseBlock& block) { return block.features.back() >= feature; };
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), holds);
  const auto j = static_cast<std::size_t>(
      std::lower_bound(block->features.begin(), block->features.end(), feature) -
      block->features.begin());
  SparseScratch& own = scratch_[static_cast<std::size_t>(slot)];
  const SparseLeaf& divided = at(leaf);
  const auto divide = [&](const GradientSum* sums) {
    return level_->divide(of_level, test,
                          of_feature(*block, j, divided.sum, sums, own.feature).first);
  };
  if (divided.slot >= 0) {
    return divide(histogram(divided.slot, static_cast<std::size_t>(block - blocks_.begin())));
  }
  const RowSet rows = rows_.rows(divided.rows);
  add_rows(*block, gradients_, rows, own.sums.data());
  const LeafDivision division = divide(own.sums.data());
  clear_rows(*block, rows, own.sums.data());
  return division;
}

void SparseEngine::search_level(LevelSearch& search) {
  level_->begin(gradients_.fixed);
  std::vector<LevelLeaf> leaves;
  std::size_t n_rows = 0;
  for (const int leaf : search.leaves) {
    leaves.push_back(level_->leaf(at(leaf).sum));
    n_rows += at(leaf).rows.count;
  }
  const int team = team_for(n_rows, true);
  std::vector<Split> best(blocks_.size());
  parallel_for(team, blocks_.size(),
               [&](std::size_t b, int slot) { best[b] = scan_level(search, leaves, b, slot); });
  for (const Split& of_block : best) {
    if (of_block.beats(search.test)) search.test = of_block;
  }
  if (!search.test.found()) return;
  std::vector<LeafDivision> divisions(leaves.size());
  parallel_for(team, leaves.size(), [&](std::size_t i, int slot) {
    divisions[i] = divide_by(search.test, search.leaves[i], leaves[i], slot);
  });
  const int n_bins = bins_.n_bins[static_cast<std::size_t>(search.test.feature)];
  search.splits = level_->complete(search.test, divisions, n_bins);
}

SparseGrower::SparseGrower(const SparseBins& bins, const GrowthParams& params,
                           const Constraints& constraints, int threads, const EngineLimits& limits)
    : engine_(std::make_unique<SparseEngine>(bins, params, constraints, threads, limits)),
      builder_(
          std::make_unique<TreeBuilder>(params, constraints, bins.n_bins, limits.leaves_ahead)) {}

SparseGrower::~SparseGrower() = default;
SparseGrower::SparseGrower(SparseGrower&&) noexcept = default;

GrownTree SparseGrower::grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                             std::uint16_t* leaf_of_row) {
  engine_->set_gradients(gradients);
  return builder_->grow(*engine_, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow::hist
