// The engine for trees of one output on a sparse table. A large node keeps the histogram of all its
// features, from which that of its larger child follows by subtraction of the smaller child's rows;
// a scan visits every feature. A small node has no histogram: its rows are added to empty sums, the
// features that they touch are scanned, and the sums are emptied again, in time that follows the
// stored values of its rows.
#include "hist/sparse_grower.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "hist/histogram.hpp"
#include "hist/leaf_storage.hpp"
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
};

struct SparseLeaf : EngineLeaf {
  GradientSum sum = {0, 0};
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

  // Of the tree being grown.
  Gradients gradients_;
  std::vector<SparseLeaf> leaves_;  // by id
  std::vector<Split> block_best_;
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
      block_best_(2 * blocks_.size()) {}

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

// Offers feature j of a block.
void SparseEngine::offer(const SplitSearch& search, const SparseBlock& block, std::size_t j,
                         const GradientSum* sums, GradientSum* room, Split& best) const {
  const std::size_t feature = block.features[j], first = block.first_entry[j];
  const GradientSum* entries = sums + first;
  const int n_bins = bins_.n_bins[feature];
  const GradientSum outside = extract(entries, block.first_entry[j + 1] - first, n_bins,
                                      bins_.zero_bin[feature], search.node(), room);
  if (gradients_.fixed.count(outside) < min_rows_) return;
  search.offer({room, entries[n_bins], static_cast<int>(feature), n_bins, false,
                constraints_.weight(feature)},
               best);
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

// Evaluates two new leaves. The larger one takes over its parent's histogram, if it is large enough
// to keep one.
void SparseEngine::evaluate_children(Division& division) {
  const auto size = [&](std::size_t side) { return at(division.children[side].leaf).rows.count; };
  const std::size_t small_side = size(0) <= size(1) ? 0 : 1, large_side = 1 - small_side;
  LeafSearch& of_small = division.children[small_side];
  LeafSearch& of_large = division.children[large_side];
  const bool scan_small = division.is_searched[small_side];
  const bool scan_large = division.is_searched[large_side];
  SparseLeaf &parent = at(division.leaf), &small = at(of_small.leaf), &large = at(of_large.leaf);
  const bool subtract = scan_large && parent.slot >= 0 && large.rows.count >= keep_from_;
  if (subtract) {
    large.slot = std::exchange(parent.slot, -1);
  } else {
    pool_.release(parent.slot);
    if (scan_large) keep_if_large(large);
  }
  if (!scan_small && !scan_large) return;
  if (scan_small) keep_if_large(small);

  const std::size_t n_rows = (scan_large && !subtract ? large.rows.count : 0) + small.rows.count;
  const bool scans_all = large.slot >= 0 || small.slot >= 0;
  parallel_for(team_for(n_rows, scans_all), blocks_.size(), [&](std::size_t b, int slot) {
    Split& best_small = block_best_[2 * b] = Split{};
    Split& best_large = block_best_[2 * b + 1] = Split{};
    if (scan_small) evaluate(small, of_small, b, slot, best_small);
    if (subtract) {
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
