// Growing one tree for all outputs: as a tree for one is grown, but for these. A histogram of many
// outputs is large, so none is kept where the budget has no room for it, and columns are taken in
// groups that are narrow enough for the cache. Where a node has few rows, only the bins that hold
// them are looked at and cleared.
#include "hist/vector_grower.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/threads.hpp"
#include "hist/tree_builder.hpp"
#include "hist/vector_histogram.hpp"
#include "hist/vector_split.hpp"

namespace hedgerow {
namespace {

// Words added to histograms that repay waking a thread, and what scanning a bin costs in updates.
constexpr std::size_t kUpdatesPerThread = 2'000;
constexpr std::size_t kScanCost = 5;
// Smaller nodes do not keep their histogram.
constexpr std::size_t kKeepFromRows = 1024;
// In nodes of fewer rows most bins are empty.
constexpr std::size_t kSparseRows = 160;
// Rows that repay adding up a histogram of their own.
constexpr std::size_t kRowsPerRun = 8192;
// Memory of a thread for the histograms of a group of columns. They are built and scanned panel by
// panel, and a panel's fit into the second-level cache.
constexpr std::size_t kGroupBytes = 32 << 20;

// Memory for the histograms of a group that need not be kept, all zero between uses; as many as
// there are threads at work.
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

// A node that is looked at for a split.
struct Candidate {
  Leaf& leaf;
  bool scan;  // else it is only looked at for its sibling's sake
  AllowedFeatures allowed;
  VectorSearch search;
};

void subtract(const std::uint64_t* __restrict child, std::uint64_t* __restrict parent,
              std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) parent[w] -= child[w];
}

void add(const std::uint64_t* __restrict part, std::uint64_t* __restrict total, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) total[w] += part[w];
}

}  // namespace

struct VectorGrower::State : Growth {
  State(const BinnedView& view, const GrowSettings& given, int team)
      : Growth(view, given, team, HistogramPool(1, 0, 0)) {}

  // Of the tree being grown.
  VectorGradients gradients;
  std::vector<ColumnGroup> groups;
  std::vector<std::array<VectorSplit, 2>> group_best;
  std::vector<Words> sums, left_sums;  // of every node, of the left child that it would have
  ScratchPool scratch;

  void begin(const VectorGradients& given, std::span<const std::uint32_t> rows, std::uint64_t id);
  void plant_root();
  void split(const Leaf& parent);
  void finish(std::uint16_t* leaf_of_row);
  void move_together();

  const Words& sums_of(const Leaf& leaf) const { return sums[static_cast<std::size_t>(leaf.node)]; }
  Words sum_up(const Leaf& leaf) const;
  int add_leaf(Words of_rows);
  bool may_split(const Leaf& leaf) const;
  int team_for(std::size_t rows) const;

  std::size_t group_words(const ColumnGroup& group) const {
    return VectorHistograms::size(gradients, static_cast<std::size_t>(group.count));
  }
  VectorHistograms histograms(int slot, const ColumnGroup& group) const {
    const auto first = static_cast<std::size_t>(group.first);
    return {pool.at<std::uint64_t>(slot) + VectorHistograms::size(gradients, first), group.count};
  }
  std::size_t runs_for(const Leaf& leaf) const;
  void build_by_runs(const Leaf& leaf, std::size_t runs);
  Candidate candidate(Leaf& leaf, bool scan);
  void evaluate(Leaf& small, Leaf* large, int parent_slot);
  void choose(Leaf& leaf, std::size_t which);
  void look(const Candidate& node, const ColumnGroup& group, const VectorHistograms& of_group,
            BinSet* occupied, VectorSplit& best) const;
  template <class Use>
  void with_histograms(const Leaf& leaf, const ColumnGroup& group, bool is_built, Use use);
};

void VectorGrower::State::begin(const VectorGradients& given, std::span<const std::uint32_t> rows,
                                std::uint64_t id) {
  const bool new_form = given.words_per_row() != gradients.words_per_row() || groups.empty();
  gradients = given;
  sums.clear();
  left_sums.clear();
  if (!Growth::begin(rows, id) && !new_form) return;
  const std::size_t bytes = sizeof(std::uint64_t) * VectorHistograms::size(gradients, 1);
  const std::size_t widest = std::clamp<std::size_t>(kGroupBytes / bytes, 1, kGroupWidth);
  const std::size_t blocks = static_cast<std::size_t>(bins.n_columns - 1) / bins.width + 1;
  const auto team = static_cast<std::size_t>(threads);
  groups = make_groups((team + blocks - 1) / blocks, widest);
  group_best.resize(groups.size());
  if (!new_form) return;
  pool =
      HistogramPool(bytes * static_cast<std::size_t>(bins.n_columns), settings.histogram_bytes, 0);
  scratch.resize(VectorHistograms::size(gradients, widest));
}

int VectorGrower::State::team_for(std::size_t rows) const {
  const std::size_t scanned = std::min<std::size_t>(rows, kBins) * kScanCost;
  const auto panels = static_cast<std::size_t>(gradients.lanes.n_panels());
  return threads_for((rows + scanned) * columns.size() * panels, kUpdatesPerThread, threads);
}

// The sums of a leaf's rows.
Words VectorGrower::State::sum_up(const Leaf& leaf) const {
  const std::size_t words = gradients.words_per_row();
  const std::size_t runs = (leaf.count + kRowsPerRun - 1) / kRowsPerRun;
  Words parts(runs * words);
  const RowSet rows = rows_of(leaf);
  parallel_for(threads_for(runs, 1, threads), runs, [&](std::size_t run) {
    const std::size_t begin = run * kRowsPerRun, end = std::min(leaf.count, begin + kRowsPerRun);
    add_up(gradients, rows.slice(begin, end), parts.data() + run * words);
  });
  for (std::size_t run = 1; run < runs; ++run) add(parts.data() + run * words, parts.data(), words);
  parts.resize(words);
  return parts;
}

int VectorGrower::State::add_leaf(Words of_rows) {
  for (int k = 1; k <= gradients.lanes.n_outputs; ++k) {
    const double G = gradients.g(of_rows.data(), k), H = gradients.h(of_rows.data(), k);
    tree.value.push_back(settings.learning_rate * settings.rules.weight(G, H));
  }
  sums.push_back(std::move(of_rows));
  left_sums.emplace_back();
  return add_node(gradients.weight(sums.back().data()), gradients.count(sums.back().data()));
}

bool VectorGrower::State::may_split(const Leaf& leaf) const {
  const Sum count = gradients.lane(sums_of(leaf).data(), 0);
  return is_splittable(leaf) && VectorLeast(settings.rules, gradients).fits(count, 2);
}

Candidate VectorGrower::State::candidate(Leaf& leaf, bool scan) {
  return {leaf, scan, allowed_features(leaf), {settings.rules, gradients, sums_of(leaf).data()}};
}

// Threads share the rows of a node out where there are more threads than groups of columns.
std::size_t VectorGrower::State::runs_for(const Leaf& leaf) const {
  const auto team = static_cast<std::size_t>(team_for(leaf.count));
  const std::size_t wanted = (team + groups.size() - 1) / groups.size();
  return leaf.slot < 0 ? 1 : std::clamp<std::size_t>(leaf.count / kRowsPerRun, 1, wanted);
}

void VectorGrower::State::build_by_runs(const Leaf& leaf, std::size_t runs) {
  std::vector<int> part = {leaf.slot};
  while (part.size() < runs) {
    const int slot = take_slot();
    if (slot < 0) break;
    part.push_back(slot);
  }
  runs = part.size();
  const RowSet rows = rows_of(leaf);
  parallel_for(threads, groups.size() * runs, [&](std::size_t i) {
    const std::size_t run = i % runs;
    const ColumnGroup& group = groups[i / runs];
    const RowSet slice = rows.slice(leaf.count * run / runs, leaf.count * (run + 1) / runs);
    const VectorHistograms of_group = histograms(part[run], group);
    std::fill_n(of_group.words, group_words(group), 0);
    add_rows(bins, group, gradients, slice, of_group, nullptr);
  });
  parallel_for(threads, groups.size(), [&](std::size_t i) {
    for (std::size_t run = 1; run < runs; ++run) {
      add(histograms(part[run], groups[i]).words, histograms(leaf.slot, groups[i]).words,
          group_words(groups[i]));
    }
  });
  for (std::size_t run = 1; run < runs; ++run) pool.release(part[run]);
}

// Builds a leaf's histograms of a group, in its slot if it has one, and calls use(histograms,
// occupied bins or null).
template <class Use>
void VectorGrower::State::with_histograms(const Leaf& leaf, const ColumnGroup& group, bool is_built,
                                          Use use) {
  if (leaf.slot >= 0) {
    const VectorHistograms kept = histograms(leaf.slot, group);
    if (!is_built) {
      std::fill_n(kept.words, group_words(group), 0);
      add_rows(bins, group, gradients, rows_of(leaf), kept, nullptr);
    }
    return use(kept, nullptr);
  }
  Buffer<std::uint64_t> memory = scratch.take();
  const VectorHistograms passing{memory.get(), group.count};
  BinSet occupied[kGroupWidth] = {};
  const bool is_sparse = leaf.count < kSparseRows;
  add_rows(bins, group, gradients, rows_of(leaf), passing, is_sparse ? occupied : nullptr);
  use(passing, is_sparse ? occupied : nullptr);
  if (is_sparse) {
    clear_occupied(gradients, passing, occupied);
  } else {
    std::fill_n(passing.words, group_words(group), 0);
  }
  scratch.give_back(std::move(memory));
}

// Offers the features of a group to the search for a node's best split.
void VectorGrower::State::look(const Candidate& node, const ColumnGroup& group,
                               const VectorHistograms& of_group, BinSet* occupied,
                               VectorSplit& best) const {
  for (int k = 0; k < group.count; ++k) {
    for (const std::size_t feature : members[static_cast<std::size_t>(group.column[k])]) {
      if (!node.allowed[feature]) continue;
      node.search.offer(
          {static_cast<int>(feature), bins.n_bins[feature], bins.is_categorical[feature],
           settings.constraints.weight(feature), settings.constraints.direction(feature),
           bins.places[feature], of_group, k, occupied ? occupied + k : nullptr},
          best);
    }
  }
}

// Evaluates a leaf, and its larger sibling if there is one. The smaller one's histograms are built
// from its rows; the larger one's are what remains of the parent's, if the parent kept them.
void VectorGrower::State::evaluate(Leaf& small, Leaf* large, int parent_slot) {
  const bool room = n_leaves() + (large ? 2 : 1) < settings.max_leaves;  // or none would be split
  const bool scan_small = room && may_split(small), scan_large = room && large && may_split(*large);
  const bool subtracts = scan_large && parent_slot >= 0;
  if (!subtracts) pool.release(parent_slot);
  if (!scan_small && !scan_large) return;
  if (scan_small && small.count >= kKeepFromRows) small.slot = take_slot();
  if (scan_large && !subtracts && large->count >= kKeepFromRows) large->slot = take_slot();
  if (subtracts) large->slot = parent_slot;

  std::vector<Candidate> nodes;
  nodes.push_back(candidate(small, scan_small));
  if (large) nodes.push_back(candidate(*large, scan_large));
  const std::size_t runs = runs_for(small);
  if (runs > 1) build_by_runs(small, runs);
  parallel_for(team_for(small.count), groups.size(), [&](std::size_t i) {
    const ColumnGroup& group = groups[i];
    std::array<VectorSplit, 2> best;
    if (scan_small || subtracts) {
      with_histograms(small, group, runs > 1,
                      [&](const VectorHistograms& of_small, BinSet* occupied) {
                        if (scan_small) look(nodes[0], group, of_small, occupied, best[0]);
                        if (!subtracts) return;
                        const VectorHistograms of_large = histograms(large->slot, group);
                        subtract(of_small.words, of_large.words, group_words(group));
                        look(nodes[1], group, of_large, nullptr, best[1]);
                      });
    }
    if (scan_large && !subtracts) {
      with_histograms(*large, group, false,
                      [&](const VectorHistograms& of_large, BinSet* occupied) {
                        look(nodes[1], group, of_large, occupied, best[1]);
                      });
    }
    group_best[i] = std::move(best);
  });
  for (std::size_t which = 0; which < nodes.size(); ++which) choose(nodes[which].leaf, which);
  if (large && large->count < kKeepFromRows) pool.release(large->slot);
}

// The best over the groups.
void VectorGrower::State::choose(Leaf& leaf, std::size_t which) {
  for (std::array<VectorSplit, 2>& best : group_best) {
    if (!best[which].beats(leaf.best)) continue;
    leaf.best = best[which];
    left_sums[static_cast<std::size_t>(leaf.node)] = std::move(best[which].left_sums);
  }
}

void VectorGrower::State::plant_root() {
  Leaf root;
  root.count = bag.empty() ? bins.n_rows : bag.size();
  root.node = add_leaf(sum_up(root));
  evaluate(root, nullptr, -1);
  settle(root);
}

void VectorGrower::State::split(const Leaf& parent) {
  auto [left, right] = children(parent, parent.best.left.hc);
  Words of_left = std::move(left_sums[static_cast<std::size_t>(parent.node)]);
  Words of_right = sums_of(parent);
  subtract(of_left.data(), of_right.data(), of_right.size());
  left.node = add_leaf(std::move(of_left));
  right.node = add_leaf(std::move(of_right));
  record_split(parent, left.node, right.node);
  divide_rows(parent, left, right);
  const bool left_is_small = left.count <= right.count;
  evaluate(left_is_small ? left : right, left_is_small ? &right : &left, parent.slot);
  settle(left);
  settle(right);
}

// Lets all leaves take the steps that are best for them together, one for each output, where their
// own leave one.
void VectorGrower::State::move_together() {
  if (!settings.rules.steps_together()) return;
  const int n_outputs = gradients.lanes.n_outputs;
  for (int k = 0; k < n_outputs; ++k) {
    CommonStep common(settings.rules.leaf, settings.learning_rate);
    for (const Leaf& leaf : closed) {
      const Words& of_rows = sums_of(leaf);
      common.add(gradients.g(of_rows.data(), k + 1), gradients.h(of_rows.data(), k + 1),
                 tree.value[static_cast<std::size_t>(leaf.node * n_outputs + k)]);
    }
    const double step = common.step();
    for (auto i = static_cast<std::size_t>(k); i < tree.value.size();
         i += static_cast<std::size_t>(n_outputs)) {
      tree.value[i] += step;
    }
  }
}

void VectorGrower::State::finish(std::uint16_t* leaf_of_row) {
  Growth::finish(leaf_of_row);
  move_together();
}

VectorGrower::VectorGrower(const BinnedView& bins, const GrowSettings& settings, int threads)
    : state_(std::make_unique<State>(bins, settings, threads)) {}

VectorGrower::~VectorGrower() = default;

GrownTree VectorGrower::grow(const VectorGradients& gradients, std::span<const std::uint32_t> bag,
                             std::uint64_t tree_id, std::uint16_t* leaf_of_row) {
  return grow_tree(*state_, gradients, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow
