// The engine for trees of all outputs. It differs from the engine for one output
// (hist/scalar_grower.cpp) as follows: a histogram of many outputs is large, so it is kept only if
// the budget permits, and columns are processed in groups that are narrow enough for the cache; in
// nodes with few rows only occupied bins are scanned and cleared.
#include "hist/vector_grower.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "hist/leaf_storage.hpp"
#include "hist/tree_builder.hpp"
#include "hist/tree_columns.hpp"
#include "hist/vector_histogram.hpp"
#include "hist/vector_split.hpp"

namespace hedgerow::hist {
namespace {

// Words added to histograms that justify waking a thread, and the cost of a scanned bin in updates.
constexpr std::size_t kUpdatesPerThread = 2'000;
constexpr std::size_t kScanCost = 5;
// Tasks of a region for each thread.
constexpr std::size_t kTasksPerThread = 2;
// Smaller nodes do not keep their histogram.
constexpr std::size_t kKeepFromRows = 1024;
// In nodes of fewer rows most bins are empty.
constexpr std::size_t kSparseRows = 160;
// Rows that justify a separate partial histogram.
constexpr std::size_t kRowsPerRun = 8192;
// Memory of a thread for the histograms of a group of columns. They are built and scanned panel by
// panel, and those of a panel fit into the second-level cache.
constexpr std::size_t kGroupBytes = 32 << 20;

// Memory for the histograms of a group that are not kept, all zero between uses, or for the digits
// of a joint column; one per active thread.
class ScratchPool {
 public:
  void resize(std::size_t words) {
    words_ = words;
    free_.clear();
  }

  Buffer<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      Buffer<std::uint64_t> fresh(words_);
      std::fill_n(fresh.get(), words_, 0);
      return fresh;
    }
    Buffer<std::uint64_t> used = std::move(free_.back());
    free_.pop_back();
    return used;
  }

  void give_back(Buffer<std::uint64_t> cleared) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(cleared));
  }

 private:
  std::size_t words_ = 0;
  std::mutex mutex_;
  std::vector<Buffer<std::uint64_t>> free_;
};

using Words = std::vector<std::uint64_t>;

struct VectorLeaf : EngineLeaf {
  Words sums, left_sums;  // of its rows, and of the left child of its best split
};

// A leaf whose histograms are scanned for its best split.
struct LeafCandidate {
  LeafSearch& search;
  VectorLeaf& leaf;
  VectorSearch of_leaf;
  bool is_wanted;  // false: its histograms serve its sibling only
};

// Two new leaves. The histograms of the smaller one are built from its rows, those of the larger
// one by subtraction if the parent has kept its own.
struct CandidatePair {
  LeafCandidate small;
  std::optional<LeafCandidate> large = {};  // none: a leaf alone
  bool subtracts = false;
  std::vector<int> runs = {};    // the slots of the small one's runs, if threads divide its rows
  std::size_t first_result = 0;  // of its groups

  bool builds_small() const { return small.is_wanted || subtracts; }
  bool builds_large() const { return large && large->is_wanted && !subtracts; }
};

// The best splits of two leaves on the columns of a group.
struct BestVectorPair {
  VectorSplit small, large;
};

// A part of the work for a pair: a group of columns, or a run of rows in a group.
struct CandidateTask {
  const CandidatePair* pair;
  std::size_t group, run;
};

void subtract(const std::uint64_t* __restrict child, std::uint64_t* __restrict parent,
              std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) parent[w] -= child[w];
}

void add(const std::uint64_t* __restrict part, std::uint64_t* __restrict total, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) total[w] += part[w];
}

}  // namespace

class VectorEngine final : public GrowthEngine {
 public:
  VectorEngine(const BinnedView& bins, const GrowthParams& params, const Constraints& constraints,
               int threads, const EngineLimits& limits)
      : bins_(bins),
        params_(params),
        constraints_(constraints),
        threads_(threads),
        histogram_bytes_(limits.histogram_bytes),
        rows_(bins_, threads),
        columns_(bins_, static_cast<std::size_t>(params.min_rows())),
        pool_(1, 0, 0) {}

  void set_gradients(const VectorGradients& gradients);

  int n_values() const override { return gradients_.lanes.n_outputs; }
  // Values are made monotone after growth; a search only requires it of the two children.
  bool has_limits() const override { return false; }
  void set_features(const std::vector<int>& features) override;
  NewLeaf plant_root(const Bag& bag) override;
  void search(LeafSearch& search) override;
  std::array<NewLeaf, 2> make_children(int leaf, const Split& split) override;
  void divide(std::span<Division> divisions) override;
  void close(int leaf) override { pool_.release(at(leaf).slot); }
  LeafSums sums(int leaf, int output) const override {
    const std::uint64_t* sums = leaves_[static_cast<std::size_t>(leaf)].sums.data();
    return {gradients_.g(sums, output + 1), gradients_.h(sums, output + 1)};
  }
  void number_rows(const GrownTree& tree, std::span<const int> leaves,
                   std::uint16_t* leaf_of_row) override;

 private:
  VectorLeaf& at(int leaf) { return leaves_[static_cast<std::size_t>(leaf)]; }
  NewLeaf describe(int leaf) const;
  void make_groups();
  std::size_t widest_group() const;
  Words sum_up(const RowRange& leaf) const;
  std::size_t group_words(const ColumnGroup& group) const {
    return VectorHistograms::size(gradients_, static_cast<std::size_t>(group.count));
  }
  VectorHistograms histograms(int slot, const ColumnGroup& group) const {
    const auto first = static_cast<std::size_t>(group.first);
    return {pool_.at<std::uint64_t>(slot) + VectorHistograms::size(gradients_, first), group.count};
  }
  LeafCandidate candidate(LeafSearch& search, bool is_wanted);
  CandidatePair candidate_pair(Division& division);
  std::size_t work(const CandidatePair& pair) const;
  int plan(std::span<CandidatePair> pairs);
  void plan_runs(CandidatePair& pair, std::size_t n_tasks);
  void evaluate(std::span<CandidatePair> pairs);
  void build_run(const CandidatePair& pair, const ColumnGroup& group, std::size_t run) const;
  void scan_group(const CandidatePair& pair, std::size_t index);
  void choose(CandidatePair& pair);
  void offer(const LeafCandidate& candidate, const ColumnGroup& group,
             const VectorHistograms& of_group, BinSet* occupied, VectorSplit& best);
  void offer(const LeafCandidate& candidate, const std::vector<std::size_t>& features,
             const VectorHistograms& histograms, int column, BinSet* occupied,
             VectorSplit& best) const;
  void offer_digits(const LeafCandidate& candidate, const std::vector<Digit>& digits,
                    const VectorHistograms& of_group, int column, bool is_sparse,
                    VectorSplit& best);
  template <class Use>
  void with_histograms(const VectorLeaf& leaf, const ColumnGroup& group, bool is_built, Use use);

  BinnedView bins_;
  GrowthParams params_;
  Constraints constraints_;
  int threads_;
  std::size_t histogram_bytes_;
  RowPartition rows_;
  TreeColumns columns_;
  HistogramPool pool_;
  ScratchPool scratch_, digit_rooms_;

  // State of the tree being grown.
  VectorGradients gradients_;
  std::vector<VectorLeaf> leaves_;  // by the engine's numbers
  std::vector<ColumnGroup> groups_;
  std::vector<BestVectorPair> results_;
};

std::size_t VectorEngine::widest_group() const {
  const std::size_t bytes = sizeof(std::uint64_t) * VectorHistograms::size(gradients_, 1);
  return std::clamp<std::size_t>(kGroupBytes / bytes, 1, kGroupWidth);
}

// Memory is allocated again if the gradients have a different format.
void VectorEngine::set_gradients(const VectorGradients& gradients) {
  const bool is_first = groups_.empty();
  const bool has_form = !is_first && gradients.words_per_row() == gradients_.words_per_row();
  gradients_ = gradients;
  if (has_form) return;
  const std::size_t bytes = sizeof(std::uint64_t) * VectorHistograms::size(gradients_, 1);
  pool_ = HistogramPool(bytes * static_cast<std::size_t>(bins_.n_columns), histogram_bytes_, 0);
  scratch_.resize(VectorHistograms::size(gradients_, widest_group()));
  digit_rooms_.resize(VectorDigit::room(gradients_));
  if (!is_first) make_groups();
}

void VectorEngine::set_features(const std::vector<int>& features) {
  columns_.select(features);
  make_groups();
}

void VectorEngine::make_groups() {
  const std::size_t blocks = static_cast<std::size_t>(bins_.n_columns - 1) / bins_.width + 1;
  const auto team = static_cast<std::size_t>(threads_);
  groups_ = columns_.make_groups((team + blocks - 1) / blocks, widest_group());
}

NewLeaf VectorEngine::describe(int leaf) const {
  const VectorLeaf& made = leaves_[static_cast<std::size_t>(leaf)];
  const std::uint64_t* sums = made.sums.data();
  return {leaf, made.rows.count, gradients_.weight(sums),
          VectorChildMinimum(params_, gradients_).fits(gradients_.lane(sums, 0), 2)};
}

// The sums of a leaf's rows.
Words VectorEngine::sum_up(const RowRange& leaf) const {
  const std::size_t words = gradients_.words_per_row();
  const std::size_t runs = (leaf.count + kRowsPerRun - 1) / kRowsPerRun;
  Words parts(runs * words);
  const RowSet rows = rows_.rows(leaf);
  parallel_for(threads_for(runs, 1, threads_), runs, [&](std::size_t run) {
    const std::size_t begin = run * kRowsPerRun, end = std::min(leaf.count, begin + kRowsPerRun);
    add_up(gradients_, rows.slice(begin, end), parts.data() + run * words);
  });
  for (std::size_t run = 1; run < runs; ++run) add(parts.data() + run * words, parts.data(), words);
  parts.resize(words);
  return parts;
}

NewLeaf VectorEngine::plant_root(const Bag& bag) {
  leaves_.clear();
  pool_.release_all();
  leaves_.emplace_back();
  leaves_.front().rows = rows_.begin(bag);
  leaves_.front().sums = sum_up(leaves_.front().rows);
  return describe(0);
}

std::array<NewLeaf, 2> VectorEngine::make_children(int leaf, const Split& split) {
  const int left = static_cast<int>(leaves_.size()), right = left + 1;
  leaves_.resize(leaves_.size() + 2);
  VectorLeaf& parent = at(leaf);
  at(left).rows.count = split.left.hc;
  at(right).rows.count = parent.rows.count - split.left.hc;
  at(left).sums = std::move(parent.left_sums);
  at(right).sums = parent.sums;
  subtract(at(left).sums.data(), at(right).sums.data(), at(right).sums.size());
  return {describe(left), describe(right)};
}

LeafCandidate VectorEngine::candidate(LeafSearch& search, bool is_wanted) {
  VectorLeaf& leaf = at(search.leaf);
  return {search, leaf, {params_, gradients_, leaf.sums.data()}, is_wanted};
}

// In words added to histograms.
std::size_t VectorEngine::work(const CandidatePair& pair) const {
  std::size_t rows = pair.builds_small() ? pair.small.leaf.rows.count : 0;
  if (pair.builds_large()) rows += pair.large->leaf.rows.count;
  const std::size_t scanned = std::min<std::size_t>(rows, kBins) * kScanCost;
  const auto panels = static_cast<std::size_t>(gradients_.lanes.n_panels());
  return (rows + scanned) * columns_.columns().size() * panels;
}

// Threads divide the rows of a leaf if there are fewer groups of columns than it should have tasks.
void VectorEngine::plan_runs(CandidatePair& pair, std::size_t n_tasks) {
  const VectorLeaf& leaf = pair.small.leaf;
  if (leaf.slot < 0 || pair.builds_large()) return;
  const std::size_t most = (n_tasks + groups_.size() - 1) / groups_.size();
  const std::size_t count = std::min(most, leaf.rows.count / kRowsPerRun);
  if (count < 2) return;
  pair.runs = {leaf.slot};
  for (int slot; pair.runs.size() < count && (slot = pool_.acquire()) >= 0;) {
    pair.runs.push_back(slot);
  }
}

// Divides the work for all pairs into tasks; returns the number of threads that they are worth.
int VectorEngine::plan(std::span<CandidatePair> pairs) {
  std::size_t total = 0, n_results = 0;
  for (const CandidatePair& pair : pairs) total += work(pair);
  const int team = threads_for(total, kUpdatesPerThread, threads_);
  const std::size_t n_tasks = team > 1 ? kTasksPerThread * static_cast<std::size_t>(team) : 1;
  for (CandidatePair& pair : pairs) {
    plan_runs(pair, (work(pair) * n_tasks + total - 1) / total);
    pair.first_result = n_results;
    n_results += groups_.size();
  }
  results_.resize(n_results);
  return team;
}

void VectorEngine::build_run(const CandidatePair& pair, const ColumnGroup& group,
                             std::size_t run) const {
  const RowSet rows = rows_.rows(pair.small.leaf.rows);
  const std::size_t n = pair.runs.size();
  const VectorHistograms of_group = histograms(pair.runs[run], group);
  std::fill_n(of_group.words, group_words(group), 0);
  add_rows(bins_, group, gradients_, rows.slice(rows.count * run / n, rows.count * (run + 1) / n),
           of_group, nullptr);
}

// Finds the best splits of leaves side by side. First, threads build the histograms of runs of
// rows, and build and scan those of leaves without runs, a group at a time. Then they add up runs
// and scan the sums.
void VectorEngine::evaluate(std::span<CandidatePair> pairs) {
  const int team = plan(pairs);
  std::vector<CandidateTask> first, second;
  for (const CandidatePair& pair : pairs) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      for (std::size_t run = 0; run < pair.runs.size(); ++run) first.push_back({&pair, group, run});
      (pair.runs.empty() ? first : second).push_back({&pair, group, 0});
    }
  }
  parallel_for(team, first.size(), [&](std::size_t i) {
    const auto& [pair, group, run] = first[i];
    if (pair->runs.empty()) {
      scan_group(*pair, group);
    } else {
      build_run(*pair, groups_[group], run);
    }
  });
  parallel_for(team, second.size(),
               [&](std::size_t i) { scan_group(*second[i].pair, second[i].group); });
  for (CandidatePair& pair : pairs) choose(pair);
}

// Builds a leaf's histograms of a group, in its slot if it has one, and calls use(histograms,
// occupied bins or null).
template <class Use>
void VectorEngine::with_histograms(const VectorLeaf& leaf, const ColumnGroup& group, bool is_built,
                                   Use use) {
  const RowSet rows = rows_.rows(leaf.rows);
  if (leaf.slot >= 0) {
    const VectorHistograms kept = histograms(leaf.slot, group);
    if (!is_built) {
      std::fill_n(kept.words, group_words(group), 0);
      add_rows(bins_, group, gradients_, rows, kept, nullptr);
    }
    return use(kept, nullptr);
  }
  Buffer<std::uint64_t> memory = scratch_.take();
  const VectorHistograms passing{memory.get(), group.count};
  BinSet occupied[kGroupWidth] = {};
  const bool is_sparse = rows.count < kSparseRows;
  add_rows(bins_, group, gradients_, rows, passing, is_sparse ? occupied : nullptr);
  use(passing, is_sparse ? occupied : nullptr);
  if (is_sparse) {
    clear_occupied(gradients_, passing, occupied);
  } else {
    std::fill_n(passing.words, group_words(group), 0);
  }
  scratch_.give_back(std::move(memory));
}

// Offers the features of a group to the search for a leaf's best split.
void VectorEngine::offer(const LeafCandidate& candidate, const ColumnGroup& group,
                         const VectorHistograms& of_group, BinSet* occupied, VectorSplit& best) {
  for (int k = 0; k < group.count; ++k) {
    const std::vector<Digit>& digits = columns_.digits_of(group.column[k]);
    if (digits.empty()) {
      offer(candidate, columns_.features_of(group.column[k]), of_group, k,
            occupied ? occupied + k : nullptr, best);
    } else {
      offer_digits(candidate, digits, of_group, k, occupied != nullptr, best);
    }
  }
}

// The same for features of one column, or digit.
void VectorEngine::offer(const LeafCandidate& candidate, const std::vector<std::size_t>& features,
                         const VectorHistograms& histograms, int column, BinSet* occupied,
                         VectorSplit& best) const {
  for (const std::size_t feature : features) {
    if (!candidate.search.allowed[feature]) continue;
    candidate.of_leaf.offer(
        {static_cast<int>(feature), bins_.n_bins[feature], bins_.is_categorical[feature],
         constraints_.weight(feature), constraints_.direction(feature), bins_.places[feature],
         histograms, column, occupied},
        best);
  }
}

// The same for the digits of a joint column, one after another. In a sparse node only occupied bins
// are scanned.
void VectorEngine::offer_digits(const LeafCandidate& candidate, const std::vector<Digit>& digits,
                                const VectorHistograms& of_group, int column, bool is_sparse,
                                VectorSplit& best) {
  Buffer<std::uint64_t> memory = digit_rooms_.take();
  VectorDigit digit(gradients_, memory.get(), of_group, column);
  for (const Digit& next : digits) {
    digit.sum_up(next.stride, next.radix);
    if (next.features.empty()) continue;
    const std::size_t feature = next.features.front();
    const bool is_bundle = bins_.places[feature].is_bundled();
    BinSet occupied;
    if (!is_bundle) {
      digit.move_missing(bins_.n_bins[feature], next.radix);
      if (is_sparse) occupied = digit.occupied(bins_.n_bins[feature]);
    }
    offer(candidate, next.features, digit.histogram(), 0,
          is_sparse && !is_bundle ? &occupied : nullptr, best);
  }
  digit_rooms_.give_back(std::move(memory));
}

// Builds the histograms of a group, or adds up their runs, and scans them.
void VectorEngine::scan_group(const CandidatePair& pair, std::size_t index) {
  const ColumnGroup& group = groups_[index];
  BestVectorPair best;
  for (std::size_t run = 1; run < pair.runs.size(); ++run) {
    add(histograms(pair.runs[run], group).words, histograms(pair.runs[0], group).words,
        group_words(group));
  }
  if (pair.builds_small()) {
    with_histograms(pair.small.leaf, group, !pair.runs.empty(),
                    [&](const VectorHistograms& small_sums, BinSet* occupied) {
                      if (pair.small.is_wanted)
                        offer(pair.small, group, small_sums, occupied, best.small);
                      if (!pair.subtracts) return;
                      const VectorHistograms large_sums = histograms(pair.large->leaf.slot, group);
                      subtract(small_sums.words, large_sums.words, group_words(group));
                      offer(*pair.large, group, large_sums, nullptr, best.large);
                    });
  }
  if (pair.builds_large()) {
    with_histograms(pair.large->leaf, group, false,
                    [&](const VectorHistograms& large_sums, BinSet* occupied) {
                      offer(*pair.large, group, large_sums, occupied, best.large);
                    });
  }
  results_[pair.first_result + index] = std::move(best);
}

// Called for the root, which has no sibling.
void VectorEngine::search(LeafSearch& search) {
  VectorLeaf& leaf = at(search.leaf);
  if (leaf.rows.count >= kKeepFromRows) leaf.slot = take_slot(pool_, leaves_);
  CandidatePair alone{candidate(search, true)};
  evaluate({&alone, 1});
  leaf.is_waiting = true;
}

void VectorEngine::divide(std::span<Division> divisions) {
  divide_rows(rows_, divisions, leaves_);
  std::vector<CandidatePair> pairs;
  for (Division& division : divisions) {
    if (division.is_searched[0] || division.is_searched[1]) {
      pairs.push_back(candidate_pair(division));
    } else {
      pool_.release(at(division.leaf).slot);
    }
  }
  evaluate(pairs);
  for (const CandidatePair& pair : pairs) {
    VectorLeaf &small = pair.small.leaf, &large = pair.large->leaf;
    if (large.rows.count < kKeepFromRows) pool_.release(large.slot);
    small.is_waiting = large.is_waiting = true;
  }
}

// Two new leaves, with their histograms assigned.
CandidatePair VectorEngine::candidate_pair(Division& division) {
  const auto size = [&](std::size_t side) { return at(division.children[side].leaf).rows.count; };
  const std::size_t small_side = size(0) <= size(1) ? 0 : 1, large_side = 1 - small_side;
  const bool scan_small = division.is_searched[small_side];
  const bool scan_large = division.is_searched[large_side];
  VectorLeaf &parent = at(division.leaf), &small = at(division.children[small_side].leaf),
             &large = at(division.children[large_side].leaf);
  const bool subtracts = scan_large && parent.slot >= 0;
  if (!subtracts) pool_.release(parent.slot);
  if (scan_small && small.rows.count >= kKeepFromRows) small.slot = take_slot(pool_, leaves_);
  if (scan_large && !subtracts && large.rows.count >= kKeepFromRows) {
    large.slot = take_slot(pool_, leaves_);
  }
  if (subtracts) large.slot = std::exchange(parent.slot, -1);
  return {candidate(division.children[small_side], scan_small),
          candidate(division.children[large_side], scan_large), subtracts};
}

// The best splits over all groups; releases the memory of runs.
void VectorEngine::choose(CandidatePair& pair) {
  const auto keep_better = [](LeafCandidate& candidate, VectorSplit& split) {
    if (!split.beats(candidate.search.best)) return;
    candidate.search.best = split;
    candidate.leaf.left_sums = std::move(split.left_sums);
  };
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    BestVectorPair& best = results_[pair.first_result + group];
    keep_better(pair.small, best.small);
    if (pair.large) keep_better(*pair.large, best.large);
  }
  for (std::size_t run = 1; run < pair.runs.size(); ++run) pool_.release(pair.runs[run]);
}

void VectorEngine::number_rows(const GrownTree& tree, std::span<const int> leaves,
                               std::uint16_t* leaf_of_row) {
  rows_.number_rows(tree, number_leaves(leaves_, leaves), leaf_of_row);
}

VectorGrower::VectorGrower(const BinnedView& bins, const GrowthParams& params,
                           const Constraints& constraints, int threads, const EngineLimits& limits)
    : engine_(std::make_unique<VectorEngine>(bins, params, constraints, threads, limits)),
      builder_(std::make_unique<TreeBuilder>(
          params, constraints, std::span(bins.n_bins, static_cast<std::size_t>(bins.n_features)),
          limits.leaves_ahead)) {}

VectorGrower::~VectorGrower() = default;
VectorGrower::VectorGrower(VectorGrower&&) noexcept = default;

GrownTree VectorGrower::grow(const VectorGradients& gradients, const Bag& bag,
                             std::uint64_t tree_id, std::uint16_t* leaf_of_row) {
  engine_->set_gradients(gradients);
  return builder_->grow(*engine_, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow::hist
