// Growing one tree. A leaf that is split leaves its rows, divided, in the other of two buffers; the
// smaller child's histogram is built from its rows and the larger one's is what remains of the
// parent's. Building, subtracting and scanning happen in one parallel region, a group of features
// at a time, so that a group's histograms are still in cache when they are scanned.
#include "hist/scalar_grower.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "hist/tree_builder.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kFewestSlots = 4;
// Histogram updates that repay waking a thread, and what a scanned bin costs in updates.
constexpr std::size_t kUpdatesPerThread = 4'000;
constexpr std::size_t kScanCost = 2;
// Smaller nodes, in rows a bin, do not keep their histogram: adding up their children's rows costs
// less than a trip of all bins through the second-level cache.
constexpr std::size_t kKeepFromRows = 4;
// A node with more rows is shared out among the threads by rows, so that each row is fetched once;
// a smaller one by features, which leaves nothing to add up.
constexpr std::size_t kRowsPerRun = 8192;
// A thread's working memory, a slot of a region's.
struct alignas(64) Scratch {
  Accumulators words;
  // The histogram of a feature that shares its column, which has no missing values; a scan may read
  // eight sums beyond its bins.
  Sum feature[kBins + 8];
  Sum group[kGroupWidth * kColumnStride];  // histograms of a group that need not be kept
};

Buffer<Scratch> make_scratch(int threads) {
  const auto slots = static_cast<std::size_t>(std::max(threads, 1));
  Buffer<Scratch> scratch(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    scratch[slot].words = {};
    std::fill(std::begin(scratch[slot].feature), std::end(scratch[slot].feature), Sum{0, 0});
  }
  return scratch;
}

std::vector<std::span<const ColumnGroup>> by_block(const std::vector<ColumnGroup>& groups) {
  std::vector<std::span<const ColumnGroup>> blocks;
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(
        begin, groups.end(), [&](const ColumnGroup& group) { return group.block != begin->block; });
    blocks.emplace_back(begin, end);
    begin = end;
  }
  return blocks;
}

}  // namespace

struct Grower::State : Growth {
  State(const BinnedView& view, const GrowSettings& given, int team)
      : Growth(view, given, team,
               HistogramPool(sizeof(Sum) * kColumnStride * static_cast<std::size_t>(view.n_columns),
                             given.histogram_bytes, kFewestSlots)),
        scratch(make_scratch(team)) {}

  Buffer<Scratch> scratch;  // by slot

  // Of the tree being grown.
  Gradients gradients;
  std::vector<ColumnGroup> groups;                   // shared out among the threads
  std::vector<ColumnGroup> wide_groups;              // for threads that share the rows out
  std::vector<std::span<const ColumnGroup>> blocks;  // the wide groups, block by block
  std::vector<Split> group_best;
  std::size_t keep_from = 0;  // rows of a node that keeps its histogram
  MonotoneLeaves monotone;    // the leaves, if their values must be

  void begin(const Gradients& given, std::span<const std::uint32_t> rows, std::uint64_t id);
  void plant_root();
  void split(const Leaf& parent);
  void finish(std::uint16_t* leaf_of_row);

  int add_leaf(const Sum& sum);
  bool may_split(const Leaf& leaf) const;
  int team_for(std::size_t rows) const;
  Sum* histogram(int slot) const { return pool.at<Sum>(slot); }
  Sum* histogram(int slot, const ColumnGroup& group) const {
    return histogram(slot) + group.first * kColumnStride;
  }
  void build(const Leaf& leaf);
  Sum sum_of_rows(const Leaf& leaf) const;
  void evaluate(Leaf& leaf);
  double weight(const Sum& sum) const;
  void limit_children(const Leaf& parent, const Leaf& left, const Leaf& right);
  void look_again(int left, int right);
  void choose_values();
  void move_together();
  void evaluate_children(Leaf& small, Leaf& large, int parent_slot);
  bool is_monotone() const { return settings.constraints.are_monotone(); }
  SplitSearch search(const Leaf& leaf) const {
    const LimitedLeaf limited = {is_monotone() ? &monotone : nullptr, leaf.node};
    return {settings.rules, gradients.fixed, leaf.sum, limited};
  }
  FeatureHistogram feature_histogram(std::size_t feature, const Sum& node, Sum* column,
                                     Sum* room) const;
  void offer_column(const SplitSearch& search, int column, Sum* sums,
                    const AllowedFeatures& allowed, Sum* room, Split& best) const;
  void offer(const SplitSearch& search, const ColumnGroup& group, Sum* sums,
             const AllowedFeatures& allowed, Sum* room, Split& best) const;
  void offer_remaining(const SplitSearch& search, const ColumnGroup& group, Sum* parent,
                       const Sum* child, const AllowedFeatures& allowed, Sum* room,
                       Split& best) const;
  Scratch& scratch_of(int slot) const { return scratch[static_cast<std::size_t>(slot)]; }
  void choose(Leaf& leaf, std::size_t first);
};

double Grower::State::weight(const Sum& sum) const {
  return settings.rules.weight(gradients.fixed.g(sum), gradients.fixed.h(sum));
}

int Grower::State::add_leaf(const Sum& sum) {
  tree.value.push_back(settings.learning_rate * weight(sum));
  return add_node(gradients.fixed.h(sum), gradients.fixed.count(sum));
}

bool Grower::State::may_split(const Leaf& leaf) const {
  return is_splittable(leaf) &&
         Least(settings.rules, gradients.fixed).fits_twice(gradients.fixed, leaf.sum);
}

int Grower::State::team_for(std::size_t rows) const {
  const std::size_t work = (rows + kScanCost * kBins) * columns.size();
  return threads_for(work, kUpdatesPerThread, threads);
}

void Grower::State::begin(const Gradients& given, std::span<const std::uint32_t> rows,
                          std::uint64_t id) {
  gradients = given;
  if (!Growth::begin(rows, id)) return;
  wide_groups = make_groups(1);
  blocks = by_block(wide_groups);
  const auto team = static_cast<std::size_t>(threads);
  groups = make_groups((team + blocks.size() - 1) / blocks.size());
  group_best.resize(2 * groups.size());
  keep_from = kKeepFromRows * mean_codes();
}

// Builds the histograms of a leaf. Threads divide the columns or, where there are many rows and
// more threads than blocks of columns, the rows too.
void Grower::State::build(const Leaf& leaf) {
  const RowSet rows = rows_of(leaf);
  const int team = team_for(leaf.count);
  const std::size_t wanted = (static_cast<std::size_t>(team) + blocks.size() - 1) / blocks.size();
  const std::size_t runs = std::clamp<std::size_t>(leaf.count / kRowsPerRun, 1, wanted);
  if (runs == 1) {
    parallel_for(team, groups.size(), [&](std::size_t i, int slot) {
      build_histograms(bins, {&groups[i], 1}, gradients, rows, scratch_of(slot).words,
                       histogram(leaf.slot, groups[i]));
    });
    return;
  }
  std::vector<int> part = {leaf.slot};
  for (std::size_t run = 1; run < runs; ++run) part.push_back(take_slot());
  parallel_for(team, blocks.size() * runs, [&](std::size_t i, int slot) {
    const std::size_t run = i % runs;
    const RowSet slice = rows.slice(leaf.count * run / runs, leaf.count * (run + 1) / runs);
    const std::span<const ColumnGroup> block = blocks[i / runs];
    build_histograms(bins, block, gradients, slice, scratch_of(slot).words,
                     histogram(part[run], block.front()));
  });
  parallel_for(team, columns.size(), [&](std::size_t k) {
    for (std::size_t run = 1; run < runs; ++run) {
      add_histogram(n_codes[static_cast<std::size_t>(columns[k])],
                    histogram(part[run]) + k * kColumnStride,
                    histogram(leaf.slot) + k * kColumnStride);
    }
  });
  for (std::size_t run = 1; run < runs; ++run) pool.release(part[run]);
}

// A feature's histogram in a node, taken out of its column's where it shares one: its bins follow
// each other there, and all other rows of the node are in its bin of zeros. `room` is for that.
FeatureHistogram Grower::State::feature_histogram(std::size_t feature, const Sum& node, Sum* column,
                                                  Sum* room) const {
  const Place& place = bins.places[feature];
  const int n_bins = bins.n_bins[feature], index = static_cast<int>(feature);
  const double weight = settings.constraints.weight(feature);
  if (!place.is_shared()) return {column, index, n_bins, bins.is_categorical[feature], weight};
  Sum* sums = room;
  std::fill_n(sums + n_bins, 8, Sum{0, 0});  // as far as a scan may read
  Sum zeros = node;
  for (int bin = 0; bin < n_bins; ++bin) {
    if (bin == place.zero_bin) continue;
    sums[bin] = column[place.code(bin)];
    zeros = zeros - sums[bin];
  }
  sums[place.zero_bin] = zeros;
  return {sums, index, n_bins, false, weight};
}

// Offers the features of a column to the search for a leaf's best split.
void Grower::State::offer_column(const SplitSearch& search, int column, Sum* sums,
                                 const AllowedFeatures& allowed, Sum* room, Split& best) const {
  for (const std::size_t feature : members[static_cast<std::size_t>(column)]) {
    if (allowed[feature]) search.offer(feature_histogram(feature, search.node(), sums, room), best);
  }
}

// The same for the columns of a group, whose histograms stand side by side.
void Grower::State::offer(const SplitSearch& search, const ColumnGroup& group, Sum* sums,
                          const AllowedFeatures& allowed, Sum* room, Split& best) const {
  for (int k = 0; k < group.count; ++k) {
    offer_column(search, group.column[k], sums + k * kColumnStride, allowed, room, best);
  }
}

// And for what remains of a parent when a child is taken away.
void Grower::State::offer_remaining(const SplitSearch& search, const ColumnGroup& group,
                                    Sum* parent, const Sum* child, const AllowedFeatures& allowed,
                                    Sum* room, Split& best) const {
  for (int k = 0; k < group.count; ++k, parent += kColumnStride, child += kColumnStride) {
    const std::size_t first = members[static_cast<std::size_t>(group.column[k])].front();
    if (!bins.places[first].is_shared() && allowed[first]) {
      search.offer_remaining(feature_histogram(first, search.node(), parent, room), child, best);
    } else {
      subtract_histogram(group.n_codes[k], child, parent);
      offer_column(search, group.column[k], parent, allowed, room, best);
    }
  }
}

// The best over the groups, whose results stand in group_best[first], [first + 2], …
void Grower::State::choose(Leaf& leaf, std::size_t first) {
  leaf.best = Split{};
  for (std::size_t i = first; i < group_best.size(); i += 2) {
    if (group_best[i].beats(leaf.best)) leaf.best = group_best[i];
  }
}

void Grower::State::evaluate(Leaf& leaf) {
  const auto allowed = allowed_features(leaf);
  const SplitSearch of_leaf = search(leaf);
  const bool is_kept = leaf.slot >= 0;
  parallel_for(team_for(is_kept ? 0 : leaf.count), groups.size(), [&](std::size_t i, int slot) {
    Scratch& own = scratch_of(slot);
    Sum* sums = is_kept ? histogram(leaf.slot, groups[i]) : own.group;
    if (!is_kept) {
      build_histograms(bins, {&groups[i], 1}, gradients, rows_of(leaf), own.words, sums);
    }
    group_best[2 * i] = Split{};
    offer(of_leaf, groups[i], sums, allowed, own.feature, group_best[2 * i]);
  });
  choose(leaf, 0);
}

// The sum over a leaf's rows: over all bins of any column.
Sum Grower::State::sum_of_rows(const Leaf& leaf) const {
  const Sum* sums = histogram(leaf.slot);
  Sum sum = sums[kMissingBin];
  for (int b = 0; b < std::min(groups.front().n_codes[0], kMissingBin); ++b) sum += sums[b];
  return sum;
}

void Grower::State::plant_root() {
  Leaf root;
  root.count = bag.empty() ? bins.n_rows : bag.size();
  root.slot = take_slot();
  build(root);
  root.sum = sum_of_rows(root);
  root.node = add_leaf(root.sum);
  if (is_monotone()) {
    monotone.plant(settings.constraints.directions, widest_limits(settings.rules),
                   weight(root.sum));
  }
  if (may_split(root)) evaluate(root);
  settle(root);
}

// Evaluates two new leaves. The smaller one's histogram is built from its rows; the larger one's is
// what remains of the parent's, if the parent kept it.
void Grower::State::evaluate_children(Leaf& small, Leaf& large, int parent_slot) {
  const bool room = n_leaves() + 2 < settings.max_leaves;  // or they would never be split
  const bool scan_small = room && may_split(small), scan_large = room && may_split(large);
  const bool subtract = scan_large && parent_slot >= 0;
  if (!subtract) pool.release(parent_slot);
  if (!scan_small && !scan_large) return;
  if (scan_small && small.count >= keep_from) small.slot = take_slot();
  if (scan_large && !subtract && large.count >= keep_from) large.slot = take_slot();
  if (subtract) large.slot = parent_slot;

  const auto allowed_small = allowed_features(small), allowed_large = allowed_features(large);
  const SplitSearch search_small = search(small), search_large = search(large);
  const int team = team_for(small.count);
  const bool is_built = team > 1 && small.slot >= 0 && small.count >= 2 * kRowsPerRun;
  if (is_built) build(small);
  parallel_for(team, groups.size(), [&](std::size_t i, int slot) {
    Scratch& own = scratch_of(slot);
    const ColumnGroup& group = groups[i];
    Split best_small, best_large;
    if (scan_small || subtract) {
      Sum* of_small = small.slot >= 0 ? histogram(small.slot, group) : own.group;
      if (!is_built) {
        build_histograms(bins, {&group, 1}, gradients, rows_of(small), own.words, of_small);
      }
      if (scan_small) offer(search_small, group, of_small, allowed_small, own.feature, best_small);
      if (subtract) {
        offer_remaining(search_large, group, histogram(large.slot, group), of_small, allowed_large,
                        own.feature, best_large);
      }
    }
    if (scan_large && !subtract) {
      Sum* of_large = large.slot >= 0 ? histogram(large.slot, group) : own.group;
      build_histograms(bins, {&group, 1}, gradients, rows_of(large), own.words, of_large);
      offer(search_large, group, of_large, allowed_large, own.feature, best_large);
    }
    group_best[2 * i] = best_small;
    group_best[2 * i + 1] = best_large;
  });
  if (scan_small) choose(small, 0);
  if (scan_large) choose(large, 1);
  if (large.count < keep_from) pool.release(large.slot);
}

void Grower::State::split(const Leaf& parent) {
  auto [left, right] = children(parent, gradients.fixed.count(parent.best.left));
  left.sum = parent.best.left;
  right.sum = parent.sum - parent.best.left;
  left.node = add_leaf(left.sum);
  right.node = add_leaf(right.sum);
  record_split(parent, left.node, right.node);
  if (is_monotone()) limit_children(parent, left, right);
  divide_rows(parent, left, right);
  if (left.count <= right.count) {
    evaluate_children(left, right, parent.slot);
  } else {
    evaluate_children(right, left, parent.slot);
  }
  settle(left);
  settle(right);
  if (is_monotone()) look_again(left.node, right.node);
}

// Gives two new leaves values that are monotone with those of all others.
void Grower::State::limit_children(const Leaf& parent, const Leaf& left, const Leaf& right) {
  const Split& split = parent.best;
  const bool takes_all = split.bin + 1 == bins.n_bins[split.feature];
  const double end = takes_all ? std::numeric_limits<double>::infinity() : split.bin;
  const Cut cut = {split.feature, end, split.missing_left, split.categorical, split.categories};
  monotone.split(parent.node, cut, left.node, right.node, weight(left.sum), weight(right.sum));
  for (const int node : {left.node, right.node}) {
    tree.value[static_cast<std::size_t>(node)] = settings.learning_rate * monotone.value(node);
  }
}

// Finds the best splits anew of leaves whose limits two new ones have changed: better ones, or
// worse, or one where there was none.
void Grower::State::look_again(int left, int right) {
  if (is_full()) return;
  std::vector<int> nodes = monotone.touching(left);
  for (const int node : monotone.touching(right)) nodes.push_back(node);
  std::erase_if(nodes, [&](int node) { return node == left || node == right; });
  std::sort(nodes.begin(), nodes.end());
  const auto is_changed = [&](const Leaf& leaf) {
    return std::binary_search(nodes.begin(), nodes.end(), leaf.node) && may_split(leaf);
  };
  std::vector<Leaf> changed;
  for (std::vector<Leaf>* leaves : {&open, &closed}) {
    std::copy_if(leaves->begin(), leaves->end(), std::back_inserter(changed), is_changed);
    std::erase_if(*leaves, is_changed);
  }
  put_in_order();
  for (Leaf& leaf : changed) {
    check_interrupt();
    evaluate(leaf);
    settle(leaf);
  }
}

// Once no leaf will be split any more, their values are the best that are monotone together.
void Grower::State::choose_values() {
  std::vector<int> nodes;
  std::vector<double> target, weights;
  for (const Leaf& leaf : closed) {
    nodes.push_back(leaf.node);
    target.push_back(weight(leaf.sum));
    weights.push_back(gradients.fixed.h(leaf.sum) + settings.rules.reg_lambda);
  }
  const std::vector<double> value = isotonic(monotone.links(nodes), target, weights);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    tree.value[static_cast<std::size_t>(nodes[i])] = settings.learning_rate * value[i];
  }
}

// Lets all leaves take the step that is best for them together, where their own leave one.
void Grower::State::move_together() {
  if (!settings.rules.steps_together()) return;
  CommonStep common(settings.rules.leaf, settings.learning_rate);
  for (const Leaf& leaf : closed) {
    common.add(gradients.fixed.g(leaf.sum), gradients.fixed.h(leaf.sum),
               settings.learning_rate * weight(leaf.sum));
  }
  const double step = common.step();
  for (double& value : tree.value) value += step;
}

void Grower::State::finish(std::uint16_t* leaf_of_row) {
  Growth::finish(leaf_of_row);
  if (is_monotone()) choose_values();
  move_together();
}

Grower::Grower(const BinnedView& bins, const GrowSettings& settings, int threads)
    : state_(std::make_unique<State>(bins, settings, threads)) {}

Grower::~Grower() = default;

GrownTree Grower::grow(const Gradients& gradients, std::span<const std::uint32_t> bag,
                       std::uint64_t tree_id, std::uint16_t* leaf_of_row) {
  return grow_tree(*state_, gradients, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow
