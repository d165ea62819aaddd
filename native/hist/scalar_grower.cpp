// The engine for trees of one output. The histogram of the smaller child is built from its rows,
// that of the larger child by subtraction from the parent's. The children of several leaves are
// evaluated side by side, in tasks of about equal work: threads divide the rows of a large child;
// a smaller one is built, subtracted and scanned a few columns at a time, so that the histograms
// are still in the cache when they are scanned.
#include "hist/scalar_grower.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "hist/histogram.hpp"
#include "hist/histogram_builder.hpp"
#include "hist/lane_engine.hpp"
#include "hist/leaf_storage.hpp"
#include "hist/level_scan.hpp"
#include "hist/split.hpp"
#include "hist/tree_builder.hpp"
#include "hist/tree_columns.hpp"

namespace hedgerow::hist {
namespace {

constexpr std::size_t kFewestSlots = 4;
// Histogram updates that justify waking a thread, and the cost of a scanned bin in updates.
constexpr std::size_t kUpdatesPerThread = 4'000;
constexpr std::size_t kScanCost = 2;
constexpr std::size_t kDivisionCost = 2;  // of a row, in updates
// Tasks of a region for each thread: more would divide the work more evenly, but rows are read
// again for each section of the columns.
constexpr std::size_t kTasksPerThread = 4;
// Nodes with fewer rows per bin do not keep their histogram: adding up the rows of their children
// is cheaper than moving all bins through the second-level cache.
constexpr std::size_t kKeepFromRows = 4;
// In a symmetric tree, all bins of all leaves are scanned anyway, and nodes with at most this many
// bins per row keep their histogram: a tenth faster on 5,000 and 50,000 rows than the rule above.
constexpr std::size_t kKeepFromBins = 4;

// Working memory of a thread.
struct alignas(64) Scratch {
  FeatureRoom feature;
  GradientSum group[kGroupWidth * kColumnStride];  // histograms that are not kept
  LeftSums left;
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

// A leaf whose histogram is scanned for its best split.
struct LeafScan {
  LeafSearch& search;
  const ScalarLeaf& leaf;
  RowSet rows;
  SplitSearch of_leaf;
  bool is_wanted;  // false: its histogram serves its sibling only
};

// The scans of two new leaves. The histogram of the smaller one is built from its rows, that of the
// larger one by subtraction if the parent has kept its own.
struct PairScan {
  LeafScan small;
  std::optional<LeafScan> large = {};  // none: a leaf alone
  bool subtracts = false;
  bool is_built = false;             // the histogram of `small` exists before sections are scanned
  int divided = -1;                  // the stage in which its rows are divided, if they are not yet
  std::optional<RowRuns> runs = {};  // of `small`, if threads divide its rows
  std::span<const Section> sections = {};
  std::size_t first_result = 0;  // of its sections

  bool builds_small() const { return !is_built && (small.is_wanted || subtracts); }
  bool builds_large() const { return large && large->is_wanted && !subtracts; }
  std::size_t rows_to_add() const {
    return (builds_small() ? small.rows.count : 0) + (builds_large() ? large->rows.count : 0);
  }
};

// What histograms are made for: the search for the best splits of leaves, or a search of a level
// that follows.
enum class HistogramUse { kSearch, kLevel };

// The best splits of two leaves on the columns of a section.
struct alignas(64) BestPair {
  Split small, large;
};

}  // namespace

class ScalarEngine final : public ScalarLeafEngine {
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
        scratch_(make_scratch(threads)) {
    if (params_.is_symmetric()) level_.emplace(params_, constraints_, all_bins());
  }

  void set_gradients(const Gradients& gradients) override { gradients_ = gradients; }

  int n_values() const override { return 1; }
  bool has_limits() const override { return true; }
  void set_features(const std::vector<int>& features) override;
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
                   std::uint16_t* leaf_of_row) override;

 private:
  ScalarLeaf& at(int leaf) { return leaves_[static_cast<std::size_t>(leaf)]; }
  std::span<const std::int32_t> all_bins() const {
    return {bins_.n_bins, static_cast<std::size_t>(bins_.n_features)};
  }
  NewLeaf describe(int leaf) const;
  GradientSum* histogram(int slot) const { return pool_.at<GradientSum>(slot); }
  GradientSum* histogram(int slot, const ColumnGroup& group) const {
    return histogram(slot) + group.first * kColumnStride;
  }
  Scratch& scratch_of(int slot) const { return scratch_[static_cast<std::size_t>(slot)]; }
  GradientSum sum_of_rows(const ScalarLeaf& leaf) const;
  LeafScan leaf_scan(LeafSearch& search, bool is_wanted);
  PairScan pair_scan(Division& division);
  std::size_t work(const PairScan& pair) const;
  void plan(PairScan& pair, std::size_t n_tasks) const;
  int plan(std::span<PairScan> pairs, std::size_t n_divided);
  Stage section_stage(const PairScan& pair, HistogramUse use, int after);
  void process(std::span<PairScan> pairs, HistogramUse use, std::vector<Stage> stages = {},
               std::size_t n_divided = 0);
  void scan_section(const PairScan& pair, std::size_t index, int slot);
  void make_section(const PairScan& pair, std::size_t index, int slot) const;
  std::vector<PairScan> divide(std::span<Division> divisions, HistogramUse use);
  template <class Use>
  void with_histograms(const LeafScan& scan, bool is_built, Section section, int slot,
                       Use use) const;
  void choose(const PairScan& pair);
  FeatureScan scan() const { return {bins_, columns_, constraints_}; }
  void offer(const LeafScan& leaf, const ColumnGroup& group, GradientSum* sums, GradientSum* room,
             Split& best) const;
  void offer_sibling(const LeafScan& leaf, const ColumnGroup& group, const GradientSum* sibling,
                     GradientSum* room, Split& best) const;

  // Levels of a symmetric tree.
  template <class Use>
  void with_level_histograms(int leaf, const AllowedFeatures& allowed, Section section, int slot,
                             Use use) const;
  Split scan_level(const LevelSearch& search, std::span<const LevelLeaf> leaves, Section section,
                   int slot);
  LeafDivision divide_by(const Split& test, int leaf, const LevelLeaf& of_level, int slot) const;
  BinnedView bins_;
  GrowthParams params_;
  Constraints constraints_;
  int threads_;
  RowPartition rows_;
  TreeColumns columns_;
  HistogramBuilder builder_;
  HistogramPool pool_;
  Buffer<Scratch> scratch_;         // by slot
  std::optional<LevelScan> level_;  // of symmetric trees

  // State of the tree being grown.
  Gradients gradients_;
  std::vector<ScalarLeaf> leaves_;  // by id
  std::vector<BestPair> results_;
  std::size_t keep_from_ = 0;  // nodes with as many rows keep their histogram
};

NewLeaf ScalarEngine::describe(int leaf) const {
  const ScalarLeaf& made = leaves_[static_cast<std::size_t>(leaf)];
  const FixedPoint& fixed = gradients_.fixed;
  return {leaf, made.rows.count, fixed.h(made.sum),
          ChildMinimum(params_, fixed).fits_twice(fixed, made.sum)};
}

void ScalarEngine::set_features(const std::vector<int>& features) {
  columns_.select(features);
  builder_.set_columns(columns_);
  keep_from_ = params_.is_symmetric() ? columns_.mean_codes() / kKeepFromBins
                                      : kKeepFromRows * columns_.mean_codes();
}

// Offers the features of a group, whose histograms are stored side by side.
void ScalarEngine::offer(const LeafScan& leaf, const ColumnGroup& group, GradientSum* sums,
                         GradientSum* room, Split& best) const {
  for (int k = 0; k < group.count; ++k) {
    scan().offer(leaf.of_leaf, group.column[k], sums + k * kColumnStride, leaf.search.allowed, room,
                 best);
  }
}

// The same for a leaf that has its parent's histograms, from which its sibling's are subtracted.
void ScalarEngine::offer_sibling(const LeafScan& leaf, const ColumnGroup& group,
                                 const GradientSum* sibling, GradientSum* room, Split& best) const {
  GradientSum* parent = histogram(leaf.leaf.slot, group);
  for (int k = 0; k < group.count; ++k, parent += kColumnStride, sibling += kColumnStride) {
    scan().offer_sibling(leaf.of_leaf, group.column[k], parent, sibling, leaf.search.allowed, room,
                         best);
  }
}

// Calls use(group, histograms) for the groups of a section, building the histograms of those that
// are not kept one after another in the same memory.
template <class Use>
void ScalarEngine::with_histograms(const LeafScan& scan, bool is_built, Section section, int slot,
                                   Use use) const {
  const bool is_kept = scan.leaf.slot >= 0;
  if (is_kept && !is_built) {
    builder_.build_section(gradients_, scan.rows, section, slot,
                           histogram(scan.leaf.slot, section.front()));
  }
  for (const ColumnGroup& group : section) {
    GradientSum* sums = is_kept ? histogram(scan.leaf.slot, group) : scratch_of(slot).group;
    if (!is_kept) builder_.build_group(gradients_, scan.rows, group, slot, sums);
    use(group, sums);
  }
}

void ScalarEngine::scan_section(const PairScan& pair, std::size_t index, int slot) {
  const Section section = pair.sections[index];
  GradientSum* room = scratch_of(slot).feature;
  BestPair best;
  if (pair.runs) builder_.add_runs(*pair.runs, section);
  if (pair.small.is_wanted || pair.subtracts) {
    with_histograms(pair.small, pair.is_built, section, slot,
                    [&](const ColumnGroup& group, GradientSum* sums) {
                      if (pair.small.is_wanted) offer(pair.small, group, sums, room, best.small);
                      if (pair.subtracts) offer_sibling(*pair.large, group, sums, room, best.large);
                    });
  }
  if (pair.builds_large()) {
    with_histograms(*pair.large, false, section, slot,
                    [&](const ColumnGroup& group, GradientSum* sums) {
                      offer(*pair.large, group, sums, room, best.large);
                    });
  }
  results_[pair.first_result + index] = best;
}

// In histogram updates.
std::size_t ScalarEngine::work(const PairScan& pair) const {
  return (pair.rows_to_add() + kScanCost * kBins) * columns_.columns().size();
}

// Divides the work for a pair into about `n_tasks` tasks.
void ScalarEngine::plan(PairScan& pair, std::size_t n_tasks) const {
  const LeafScan& small = pair.small;
  if (n_tasks > 1 && small.leaf.slot >= 0 && pair.builds_small() && !pair.builds_large()) {
    const std::size_t runs = builder_.runs_for(small.rows.count, n_tasks);
    if (runs > 1) pair.runs = {small.rows, histogram(small.leaf.slot), runs};
  }
  if (pair.runs) pair.is_built = true;
  pair.sections = pair.is_built ? builder_.single_columns() : builder_.sections(n_tasks);
}

// Divides the work for all pairs into tasks; returns the number of threads that they are worth,
// together with the rows that have to be divided first.
int ScalarEngine::plan(std::span<PairScan> pairs, std::size_t n_divided) {
  std::size_t total = kDivisionCost * n_divided, n_results = 0;
  for (const PairScan& pair : pairs) total += work(pair);
  const int team = threads_for(total, kUpdatesPerThread, builder_.most_threads());
  const std::size_t n_tasks = team > 1 ? kTasksPerThread * static_cast<std::size_t>(team) : 1;
  std::vector<RowRuns*> runs;
  for (PairScan& pair : pairs) {
    plan(pair, (work(pair) * n_tasks + total - 1) / total);
    if (pair.runs) runs.push_back(&*pair.runs);
    pair.first_result = n_results;
    n_results += pair.sections.size();
  }
  builder_.make_room(runs, team);
  results_.resize(n_results);
  return team;
}

// A stage of the sections of a pair.
Stage ScalarEngine::section_stage(const PairScan& pair, HistogramUse use, int after) {
  Stage stage = builder_.stage_of(
      pair.sections, [this, &pair](std::size_t i, int slot) { scan_section(pair, i, slot); });
  if (use == HistogramUse::kSearch) {
    stage.finish = [this, &pair] { choose(pair); };
  } else {
    stage.run = [this, &pair](std::size_t i, int slot) { make_section(pair, i, slot); };
  }
  stage.after = after;
  return stage;
}

// Makes the histograms of leaves side by side, once their rows are divided. Threads build those of
// runs of rows, and whole sections of leaves without runs; then sections of leaves with runs, which
// have to be added up.
void ScalarEngine::process(std::span<PairScan> pairs, HistogramUse use, std::vector<Stage> stages,
                           std::size_t n_divided) {
  const int team = plan(pairs, n_divided);
  std::vector<Stage> last;
  for (const PairScan& pair : pairs) {
    if (!pair.runs) {
      stages.push_back(section_stage(pair, use, pair.divided));
      continue;
    }
    last.push_back(section_stage(pair, use, static_cast<int>(stages.size())));
    stages.push_back(
        {.n_tasks = builder_.n_tasks(*pair.runs),
         .run = [this, &runs = *pair.runs](
                    std::size_t i, int slot) { builder_.build_run(gradients_, runs, i, slot); },
         .after = pair.divided});
  }
  stages.insert(stages.end(), std::make_move_iterator(last.begin()),
                std::make_move_iterator(last.end()));
  run_stages(team, stages);
}

// The best splits over all sections.
void ScalarEngine::choose(const PairScan& pair) {
  for (std::size_t i = 0; i < pair.sections.size(); ++i) {
    const auto& [small, large] = results_[pair.first_result + i];
    if (small.beats(pair.small.search.best)) pair.small.search.best = small;
    if (pair.large && large.beats(pair.large->search.best)) pair.large->search.best = large;
  }
}

LeafScan ScalarEngine::leaf_scan(LeafSearch& search, bool is_wanted) {
  const ScalarLeaf& leaf = at(search.leaf);
  return {search, leaf, rows_.rows(leaf.rows),
          SplitSearch(params_, gradients_.fixed, leaf.sum, search.limited), is_wanted};
}

void ScalarEngine::search(LeafSearch& search) {
  ScalarLeaf& leaf = at(search.leaf);
  PairScan alone{leaf_scan(search, true)};
  alone.is_built = leaf.slot >= 0;
  process({&alone, 1}, HistogramUse::kSearch);
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
  const std::size_t work = root.rows.count * columns_.columns().size();
  builder_.build(gradients_, rows_.rows(root.rows),
                 threads_for(work, kUpdatesPerThread, builder_.most_threads()),
                 histogram(root.slot));
  root.sum = sum_of_rows(root);
  leaves_.push_back(root);
  return describe(0);
}

std::array<NewLeaf, 2> ScalarEngine::make_children(int leaf, const Split& split) {
  const auto [left, right] = add_children(leaves_, leaf, split, gradients_.fixed);
  return {describe(left), describe(right)};
}

// Divides rows, and makes the histograms of the children; returns the pairs of which any is
// searched.
std::vector<PairScan> ScalarEngine::divide(std::span<Division> divisions, HistogramUse use) {
  std::vector<RowDivision> divided = row_divisions(divisions, leaves_);
  std::vector<Stage> stages;
  const std::vector<int> stage_of = rows_.add_stages(divided, stages);
  set_rows(divisions, divided, leaves_);
  std::vector<PairScan> pairs;
  std::size_t n_rows = 0;
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    n_rows += divided[i].leaf.count;
    if (divisions[i].is_searched[0] || divisions[i].is_searched[1]) {
      pairs.push_back(pair_scan(divisions[i]));
      pairs.back().divided = stage_of[i];
    } else {
      pool_.release(at(divisions[i].leaf).slot);
    }
  }
  process(pairs, use, std::move(stages), n_rows);
  for (const PairScan& pair : pairs) {
    at(pair.small.search.leaf).is_waiting = at(pair.large->search.leaf).is_waiting = true;
  }
  return pairs;
}

void ScalarEngine::divide(std::span<Division> divisions) {
  for (const PairScan& pair : divide(divisions, HistogramUse::kSearch)) {
    ScalarLeaf& large = at(pair.large->search.leaf);
    if (large.rows.count < keep_from_) pool_.release(large.slot);
  }
}

PairScan ScalarEngine::pair_scan(Division& division) {
  const auto [small_side, subtracts] =
      plan_pair(division, pool_, leaves_, [&](std::size_t n_rows) { return n_rows >= keep_from_; });
  const auto scan = [&](std::size_t side) {
    return leaf_scan(division.children[side], division.is_searched[side]);
  };
  return {scan(small_side), scan(1 - small_side), subtracts};
}

// Makes the histograms of a pair that are kept.
void ScalarEngine::make_section(const PairScan& pair, std::size_t index, int slot) const {
  const Section section = pair.sections[index];
  if (pair.runs) builder_.add_runs(*pair.runs, section);
  if (pair.subtracts || pair.small.leaf.slot >= 0) {
    with_histograms(pair.small, pair.is_built, section, slot,
                    [&](const ColumnGroup& group, const GradientSum* sums) {
                      if (!pair.subtracts) return;
                      GradientSum* parent = histogram(pair.large->leaf.slot, group);
                      for (int k = 0; k < group.count; ++k) {
                        subtract_histogram(group.n_codes[k], sums + k * kColumnStride,
                                           parent + k * kColumnStride);
                      }
                    });
  }
  if (pair.builds_large() && pair.large->leaf.slot >= 0) {
    with_histograms(*pair.large, false, section, slot, [](const ColumnGroup&, GradientSum*) {});
  }
}

void ScalarEngine::divide_level(std::span<Division> divisions) {
  divide(divisions, HistogramUse::kLevel);
}

// Calls use(histogram) for the allowed features of a section in a leaf.
template <class Use>
void ScalarEngine::with_level_histograms(int leaf, const AllowedFeatures& allowed, Section section,
                                         int slot, Use use) const {
  const ScalarLeaf& of_level = leaves_[static_cast<std::size_t>(leaf)];
  Scratch& own = scratch_of(slot);
  for (const ColumnGroup& group : section) {
    GradientSum* sums = of_level.slot >= 0 ? histogram(of_level.slot, group) : own.group;
    if (of_level.slot < 0) {
      builder_.build_group(gradients_, rows_.rows(of_level.rows), group, slot, sums);
    }
    for (int k = 0; k < group.count; ++k) {
      scan().for_each_histogram(of_level.sum, group.column[k], sums + k * kColumnStride, allowed,
                                own.feature, use);
    }
  }
}

// The best test of the features of a section.
Split ScalarEngine::scan_level(const LevelSearch& search, std::span<const LevelLeaf> leaves,
                               Section section, int slot) {
  return level_->best_test(
      search, leaves, scratch_of(slot).left,
      [&](auto use) {
        for (const ColumnGroup& group : section) {
          for (int k = 0; k < group.count; ++k) scan().for_each_feature(group.column[k], use);
        }
      },
      [&](std::size_t i, const AllowedFeatures& allowed, auto use) {
        with_level_histograms(search.leaves[i], allowed, section, slot, use);
      });
}

// What a test does to a leaf.
LeafDivision ScalarEngine::divide_by(const Split& test, int leaf, const LevelLeaf& of_level,
                                     int slot) const {
  const auto feature = static_cast<std::size_t>(test.feature);
  const std::vector<int>& columns = columns_.columns();
  const auto at = std::lower_bound(columns.begin(), columns.end(), bins_.places[feature].column);
  const Section section = builder_.single_columns()[static_cast<std::size_t>(at - columns.begin())];
  LeafDivision division;
  with_level_histograms(leaf, {}, section, slot, [&](const FeatureHistogram& histogram) {
    if (histogram.feature == test.feature) division = level_->divide(of_level, test, histogram);
  });
  return division;
}

// Sections are scanned side by side, each in all leaves: narrow ones, unless the histograms of some
// leaves have to be built for them.
void ScalarEngine::search_level(LevelSearch& search) {
  level_->begin(gradients_.fixed);
  std::vector<LevelLeaf> leaves;
  std::size_t n_rows = 0;  // of leaves without histogram
  for (const int leaf : search.leaves) {
    leaves.push_back(level_->leaf(at(leaf).sum));
    if (at(leaf).slot < 0) n_rows += at(leaf).rows.count;
  }
  const std::size_t scanned = kScanCost * kBins * leaves.size();
  const int team =
      threads_for((n_rows + scanned) * columns_.columns().size(), kUpdatesPerThread, threads_);
  const std::size_t n_tasks = team > 1 ? kTasksPerThread * static_cast<std::size_t>(team) : 1;
  const std::span<const Section> sections =
      n_rows == 0 ? builder_.single_columns() : builder_.sections(n_tasks);
  std::vector<Split> best(sections.size());
  parallel_for(team, sections.size(), [&](std::size_t i, int slot) {
    best[i] = scan_level(search, leaves, sections[i], slot);
  });
  for (const Split& of_section : best) {
    if (of_section.beats(search.test)) search.test = of_section;
  }
  if (!search.test.found()) return;
  std::vector<LeafDivision> divisions(leaves.size());
  parallel_for(threads_for(scanned + n_rows, kUpdatesPerThread, threads_), leaves.size(),
               [&](std::size_t i, int slot) {
                 divisions[i] = divide_by(search.test, search.leaves[i], leaves[i], slot);
               });
  search.splits = level_->complete(search.test, divisions, bins_.n_bins[search.test.feature]);
}

void ScalarEngine::number_rows(const GrownTree& tree, std::span<const int> leaves,
                               std::uint16_t* leaf_of_row) {
  rows_.number_rows(tree, number_leaves(leaves_, leaves), leaf_of_row);
}

ScalarGrower::ScalarGrower(const BinnedView& bins, const GrowthParams& params,
                           const Constraints& constraints, int threads, const EngineLimits& limits)
    : engine_(make_lane_engine(bins, params, constraints, threads, limits)),
      builder_(std::make_unique<TreeBuilder>(
          params, constraints, std::span(bins.n_bins, static_cast<std::size_t>(bins.n_features)),
          limits.leaves_ahead)),
      has_lanes_(engine_ != nullptr) {
  if (!has_lanes_) {
    engine_ = std::make_unique<ScalarEngine>(bins, params, constraints, threads, limits);
  }
}

ScalarGrower::~ScalarGrower() = default;
ScalarGrower::ScalarGrower(ScalarGrower&&) noexcept = default;

GrownTree ScalarGrower::grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                             std::uint16_t* leaf_of_row) {
  engine_->set_gradients(gradients);
  return builder_->grow(*engine_, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow::hist
