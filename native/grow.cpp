// Growing one tree. A leaf that is split leaves its rows, divided, in the other of two buffers; the
// smaller child's histogram is built from its rows and the larger one's is what remains of the
// parent's. Building, subtracting and scanning happen in one parallel region, a group of features
// at a time, so that a group's histograms are still in cache when they are scanned.
#include "grow.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "buffer.hpp"
#include "interrupt.hpp"
#include "random.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kFewestSlots = 4;
// Histogram updates that repay waking a thread, and what a scanned bin costs in updates.
constexpr std::size_t kUpdatesPerThread = 4'000;
constexpr std::size_t kScanCost = 2;
// Smaller nodes do not keep their histogram: adding up their children's rows costs less than a trip
// of 4 KiB a feature through the second-level cache.
constexpr std::size_t kKeepFromRows = 1024;
// A node with more rows is shared out among the threads by rows, so that each row is fetched once;
// a smaller one by features, which leaves nothing to add up.
constexpr std::size_t kRowsPerRun = 8192;
// Columns that repay reading a row's id and gradient.
constexpr std::size_t kNarrowestGroup = 4;

struct Leaf {
  int node = 0;  // its index in the tree
  int depth = 0;
  int buffer = -1;  // which row buffer its rows are in; −1: the bag itself
  std::size_t begin = 0, count = 0;
  int slot = -1;  // its histogram, −1 for none
  Sum sum = {0, 0};
  Split best;
};

// Histograms of n_columns × kBins sums, recycled.
class HistogramPool {
 public:
  HistogramPool(int n_columns, std::size_t budget)
      : sums_(kBins * static_cast<std::size_t>(n_columns)),
        most_(std::max(kFewestSlots, budget / (sums_ * sizeof(Sum)))) {}

  // −1 when the budget is spent.
  int acquire() {
    if (free_.empty()) {
      if (slots_.size() == most_) return -1;
      slots_.emplace_back(sums_);
      free_.push_back(static_cast<int>(slots_.size()) - 1);
    }
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void release(int& slot) {
    if (slot >= 0) free_.push_back(slot);
    slot = -1;
  }
  void release_all() {
    free_.resize(slots_.size());
    std::iota(free_.rbegin(), free_.rend(), 0);
  }
  Sum* operator[](int slot) { return slots_[static_cast<std::size_t>(slot)].get(); }

 private:
  std::size_t sums_, most_;  // sums in a histogram, histograms in the budget
  std::vector<Buffer<Sum>> slots_;
  std::vector<int> free_;
};

// A share of `from`, at least one, chosen by the rank of their hashes; in increasing order.
std::vector<int> sample_features(const std::vector<int>& from, double fraction, std::uint64_t seed,
                                 Purpose purpose, std::uint64_t key) {
  if (fraction >= 1.0) return from;
  const auto wanted = static_cast<std::size_t>(
      std::max(1.0, std::floor(fraction * static_cast<double>(from.size()) + 0.5)));
  std::vector<std::pair<std::uint64_t, int>> ranked;
  for (const int feature : from) {
    ranked.emplace_back(hash_u64(seed, purpose, key, static_cast<std::uint64_t>(feature)), feature);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> chosen;
  for (std::size_t i = 0; i < std::min(wanted, ranked.size()); ++i)
    chosen.push_back(ranked[i].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Groups of columns that share a block, of nearly equal size, and if possible `wanted` a block.
std::vector<ColumnGroup> make_groups(const std::vector<int>& columns, int width,
                                     std::size_t wanted) {
  std::vector<ColumnGroup> groups;
  for (std::size_t begin = 0; begin < columns.size();) {
    const int block = columns[begin] / width;
    std::size_t end = begin;
    while (end < columns.size() && columns[end] / width == block) ++end;
    const std::size_t fewest = (end - begin + kGroupWidth - 1) / kGroupWidth;
    const std::size_t most = std::max<std::size_t>(1, (end - begin) / kNarrowestGroup);
    std::size_t parts = std::max(fewest, std::min(wanted, most));
    for (; begin < end; --parts) {
      const std::size_t take = (end - begin + parts - 1) / parts;
      ColumnGroup group{};
      group.block = block;
      group.first = static_cast<int>(begin);
      group.count = static_cast<int>(take);
      group.contiguous = true;
      for (std::size_t k = 0; k < take; ++k) {
        group.column[k] = columns[begin + k];
        group.offset[k] = static_cast<std::uint8_t>(columns[begin + k] % width);
        group.contiguous = group.contiguous && group.offset[k] == group.offset[0] + k;
      }
      groups.push_back(group);
      begin += take;
    }
  }
  return groups;
}

// The columns of some features, in increasing order.
std::vector<int> columns_of(const std::vector<int>& features, std::span<const Place> places) {
  std::vector<int> columns;
  for (const int feature : features) {
    columns.push_back(places[static_cast<std::size_t>(feature)].column);
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

// The features that a node may be split on.
struct AllowedFeatures {
  std::vector<bool> flags;  // empty: all

  bool operator[](std::size_t feature) const { return flags.empty() || flags[feature]; }
};

AllowedFeatures only(const std::vector<int>& features, int n_features) {
  AllowedFeatures allowed;
  allowed.flags.resize(static_cast<std::size_t>(n_features), false);
  for (const int feature : features) allowed.flags[static_cast<std::size_t>(feature)] = true;
  return allowed;
}

// This thread's room for the histogram of a feature that shares its column.
[[gnu::noinline]] Sum* feature_scratch() {
  alignas(64) thread_local Sum sums[kBins];
  return sums;
}

// Room for the histograms of a group that need not be kept.
[[gnu::noinline]] Sum* group_scratch() {
  alignas(64) thread_local Sum sums[kGroupWidth * kBins];
  return sums;
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

bool goes_left(const GrownTree& tree, int node, std::uint8_t bin) {
  const auto i = static_cast<std::size_t>(node);
  if (bin == kMissingBin) return tree.missing_left[i];
  if (tree.category_set[i] < 0) return bin <= tree.split_bin[i];
  const auto set = static_cast<std::size_t>(tree.category_set[i]) * 8;
  return tree.category_bits[set + (bin >> 5)] >> (bin & 31) & 1;
}

}  // namespace

struct Grower::State {
  State(const BinnedView& view, const GrowSettings& given, int team)
      : bins(view),
        settings(given),
        threads(team),
        pool(view.n_columns, given.histogram_bytes),
        members(members_of(view.places, static_cast<std::size_t>(view.n_columns))),
        marks(view.n_rows / 64 + 1) {
    for (auto& buffer : row_buffer) buffer = Buffer<std::uint32_t>(view.n_rows);
  }

  BinnedView bins;
  GrowSettings settings;
  int threads;
  HistogramPool pool;
  std::vector<std::vector<std::size_t>> members;  // the features of each column
  std::array<Buffer<std::uint32_t>, 2> row_buffer;
  std::vector<std::uint64_t> marks;

  // Of the tree being grown.
  Gradients gradients;
  std::span<const std::uint32_t> bag;
  std::uint64_t tree_id = 0;
  std::vector<int> features;
  AllowedFeatures in_tree;                           // the same as flags
  std::vector<int> columns;                          // those that hold them
  std::vector<ColumnGroup> groups;                   // shared out among the threads
  std::vector<ColumnGroup> wide_groups;              // for threads that share the rows out
  std::vector<std::span<const ColumnGroup>> blocks;  // the wide groups, block by block
  GrownTree tree;
  std::vector<Leaf> open;    // a heap: the next to split in front
  std::vector<Leaf> closed;  // will stay leaves
  std::vector<Split> group_best;

  void begin(const Gradients& given, std::span<const std::uint32_t> rows, std::uint64_t id);
  void plant_root();
  void split(Leaf parent);
  void finish(std::uint16_t* leaf_of_row);

  RowSet rows_of(const Leaf& leaf) const {
    if (leaf.buffer >= 0) return {row_buffer[leaf.buffer].get() + leaf.begin, 0, leaf.count};
    return {bag.empty() ? nullptr : bag.data(), 0, leaf.count};
  }
  int n_leaves() const { return static_cast<int>(open.size() + closed.size()); }
  bool after(const Leaf& a, const Leaf& b) const;
  void settle(Leaf leaf);
  Leaf next();

  int add_node(const Sum& sum);
  void record_split(const Leaf& leaf, int left, int right);
  bool may_split(const Leaf& leaf) const;
  int take_slot();
  AllowedFeatures allowed_features(const Leaf& leaf) const;
  void divide_rows(const Leaf& parent, Leaf& left, Leaf& right);
  int team_for(std::size_t rows) const;
  Sum* histogram(int slot, const ColumnGroup& group) { return pool[slot] + group.first * kBins; }
  void build(const Leaf& leaf);
  void evaluate(Leaf& leaf);
  void evaluate_children(Leaf& small, Leaf& large, int parent_slot);
  SplitSearch search(const Leaf& leaf) const { return {settings.rules, gradients.fixed, leaf.sum}; }
  FeatureHistogram feature_histogram(std::size_t feature, const Sum& node, Sum* column) const;
  void offer_column(const SplitSearch& search, int column, Sum* sums,
                    const AllowedFeatures& allowed, Split& best) const;
  void offer(const SplitSearch& search, const ColumnGroup& group, Sum* sums,
             const AllowedFeatures& allowed, Split& best) const;
  void offer_remaining(const SplitSearch& search, const ColumnGroup& group, Sum* parent,
                       const Sum* child, const AllowedFeatures& allowed, Split& best) const;
  void choose(Leaf& leaf, std::size_t first);
  void number_rows(std::size_t begin, std::size_t end, std::uint16_t* leaf_of_row) const;
  void number_rows_outside_bag(const std::vector<std::uint16_t>& number,
                               std::uint16_t* leaf_of_row) const;
};

// The heap's order: whether a waits longer than b.
bool Grower::State::after(const Leaf& a, const Leaf& b) const {
  if (settings.leafwise) {
    return a.best.gain != b.best.gain ? a.best.gain < b.best.gain : a.node > b.node;
  }
  return a.depth != b.depth ? a.depth > b.depth : a.node > b.node;
}

// Files an evaluated leaf: open if it has a split worth making.
void Grower::State::settle(Leaf leaf) {
  if (!leaf.best.found()) {
    pool.release(leaf.slot);
    closed.push_back(leaf);
    return;
  }
  open.push_back(leaf);
  std::push_heap(open.begin(), open.end(),
                 [this](const Leaf& a, const Leaf& b) { return after(a, b); });
}

Leaf Grower::State::next() {
  std::pop_heap(open.begin(), open.end(),
                [this](const Leaf& a, const Leaf& b) { return after(a, b); });
  const Leaf leaf = open.back();
  open.pop_back();
  return leaf;
}

int Grower::State::add_node(const Sum& sum) {
  const double G = gradients.fixed.g(sum), H = gradients.fixed.h(sum);
  tree.feature.push_back(-1);
  tree.left.push_back(-1);
  tree.right.push_back(-1);
  tree.category_set.push_back(-1);
  tree.split_bin.push_back(0);
  tree.missing_left.push_back(0);
  tree.value.push_back(settings.learning_rate * leaf_weight(settings.rules, G, H));
  tree.gain.push_back(0.0);
  tree.cover.push_back(H);
  tree.count.push_back(static_cast<std::int64_t>(gradients.fixed.count(sum)));
  return tree.n_nodes() - 1;
}

void Grower::State::record_split(const Leaf& leaf, int left, int right) {
  const auto i = static_cast<std::size_t>(leaf.node);
  const Split& split = leaf.best;
  tree.feature[i] = split.feature;
  tree.left[i] = left;
  tree.right[i] = right;
  tree.gain[i] = split.gain;
  tree.missing_left[i] = split.missing_left;
  if (split.categorical) {
    tree.category_set[i] = static_cast<std::int32_t>(tree.category_bits.size() / 8);
    tree.category_bits.insert(tree.category_bits.end(), split.categories, split.categories + 8);
  } else {
    tree.split_bin[i] = split.bin;
  }
}

bool Grower::State::may_split(const Leaf& leaf) const {
  const auto fewest =
      static_cast<std::size_t>(std::max<std::int64_t>(1, settings.rules.min_samples_leaf));
  return leaf.count >= 2 * fewest && (settings.max_depth == 0 || leaf.depth < settings.max_depth) &&
         gradients.fixed.h(leaf.sum) >= 2.0 * settings.rules.min_child_weight;
}

// A free histogram; if the budget is spent, that of the smallest open leaf.
int Grower::State::take_slot() {
  int slot = pool.acquire();
  if (slot >= 0) return slot;
  Leaf* smallest = nullptr;
  for (Leaf& leaf : open) {
    if (leaf.slot >= 0 && (!smallest || leaf.count < smallest->count)) smallest = &leaf;
  }
  pool.release(smallest->slot);
  return pool.acquire();
}

AllowedFeatures Grower::State::allowed_features(const Leaf& leaf) const {
  if (settings.colsample_bylevel >= 1.0 && settings.colsample_bynode >= 1.0) return in_tree;
  const std::uint64_t tree_key = mix_u64(tree_id);
  const auto level =
      sample_features(features, settings.colsample_bylevel, settings.seed, Purpose::level_features,
                      tree_key + static_cast<std::uint64_t>(leaf.depth));
  const auto node =
      sample_features(level, settings.colsample_bynode, settings.seed, Purpose::node_features,
                      tree_key + static_cast<std::uint64_t>(leaf.node));
  return only(node, bins.n_features);
}

int Grower::State::team_for(std::size_t rows) const {
  const std::size_t work = (rows + kScanCost * kBins) * columns.size();
  return threads_for(work, kUpdatesPerThread, threads);
}

void Grower::State::begin(const Gradients& given, std::span<const std::uint32_t> rows,
                          std::uint64_t id) {
  gradients = given;
  bag = rows;
  tree_id = id;
  tree = {};
  open.clear();
  closed.clear();
  pool.release_all();
  if (features.empty() || settings.colsample_bytree < 1.0) {
    features =
        sample_tree_features(bins.n_features, settings.colsample_bytree, settings.seed, tree_id);
    in_tree = settings.colsample_bytree < 1.0 ? only(features, bins.n_features) : AllowedFeatures{};
    columns = columns_of(features, bins.places);
    wide_groups = make_groups(columns, bins.width, 1);
    blocks = by_block(wide_groups);
    const auto team = static_cast<std::size_t>(threads);
    groups = make_groups(columns, bins.width, (team + blocks.size() - 1) / blocks.size());
    group_best.resize(2 * groups.size());
  }
}

// Builds the histograms of a leaf. Threads divide the columns or, where there are many rows and
// more threads than blocks of columns, the rows too.
void Grower::State::build(const Leaf& leaf) {
  const RowSet rows = rows_of(leaf);
  const int team = team_for(leaf.count);
  const std::size_t wanted = (static_cast<std::size_t>(team) + blocks.size() - 1) / blocks.size();
  const std::size_t runs = std::clamp<std::size_t>(leaf.count / kRowsPerRun, 1, wanted);
  if (runs == 1) {
    parallel_for(team, groups.size(), [&](std::size_t i) {
      build_histograms(bins, {&groups[i], 1}, gradients, rows, histogram(leaf.slot, groups[i]));
    });
    return;
  }
  std::vector<int> part = {leaf.slot};
  for (std::size_t run = 1; run < runs; ++run) part.push_back(take_slot());
  parallel_for(team, blocks.size() * runs, [&](std::size_t i) {
    const std::size_t run = i % runs;
    const RowSet slice = rows.slice(leaf.count * run / runs, leaf.count * (run + 1) / runs);
    const std::span<const ColumnGroup> block = blocks[i / runs];
    build_histograms(bins, block, gradients, slice, histogram(part[run], block.front()));
  });
  parallel_for(team, columns.size(), [&](std::size_t k) {
    for (std::size_t run = 1; run < runs; ++run) {
      add_histogram(pool[part[run]] + k * kBins, pool[leaf.slot] + k * kBins);
    }
  });
  for (std::size_t run = 1; run < runs; ++run) pool.release(part[run]);
}

// A feature's histogram in a node, taken out of its column's where it shares one: its bins follow
// each other there, and all other rows of the node are in its bin of zeros.
FeatureHistogram Grower::State::feature_histogram(std::size_t feature, const Sum& node,
                                                  Sum* column) const {
  const Place& place = bins.places[feature];
  const int n_bins = bins.n_bins[feature], index = static_cast<int>(feature);
  if (!place.is_shared()) return {column, index, n_bins, bins.is_categorical[feature]};
  Sum* sums = feature_scratch();
  std::fill_n(sums + n_bins, 8, Sum{0, 0});  // as far as a scan may read
  Sum zeros = node;
  for (int bin = 0; bin < n_bins; ++bin) {
    if (bin == place.zero_bin) continue;
    sums[bin] = column[place.code(bin)];
    zeros = zeros - sums[bin];
  }
  sums[place.zero_bin] = zeros;
  return {sums, index, n_bins, false};
}

// Offers the features of a column to the search for a leaf's best split.
void Grower::State::offer_column(const SplitSearch& search, int column, Sum* sums,
                                 const AllowedFeatures& allowed, Split& best) const {
  for (const std::size_t feature : members[static_cast<std::size_t>(column)]) {
    if (allowed[feature]) search.offer(feature_histogram(feature, search.node(), sums), best);
  }
}

// The same for the columns of a group, whose histograms stand side by side.
void Grower::State::offer(const SplitSearch& search, const ColumnGroup& group, Sum* sums,
                          const AllowedFeatures& allowed, Split& best) const {
  for (int k = 0; k < group.count; ++k) {
    offer_column(search, group.column[k], sums + k * kBins, allowed, best);
  }
}

// And for what remains of a parent when a child is taken away.
void Grower::State::offer_remaining(const SplitSearch& search, const ColumnGroup& group,
                                    Sum* parent, const Sum* child, const AllowedFeatures& allowed,
                                    Split& best) const {
  for (int k = 0; k < group.count; ++k, parent += kBins, child += kBins) {
    const std::size_t first = members[static_cast<std::size_t>(group.column[k])].front();
    if (!bins.places[first].is_shared() && allowed[first]) {
      search.offer_remaining(feature_histogram(first, search.node(), parent), child, best);
    } else {
      subtract_histogram(child, parent);
      offer_column(search, group.column[k], parent, allowed, best);
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
  parallel_for(team_for(0), groups.size(), [&](std::size_t i) {
    group_best[2 * i] = Split{};
    offer(of_leaf, groups[i], histogram(leaf.slot, groups[i]), allowed, group_best[2 * i]);
  });
  choose(leaf, 0);
}

void Grower::State::plant_root() {
  Leaf root;
  root.count = bag.empty() ? bins.n_rows : bag.size();
  root.slot = take_slot();
  build(root);
  for (int b = 0; b < kBins; ++b) root.sum += pool[root.slot][b];
  root.node = add_node(root.sum);
  if (may_split(root)) evaluate(root);
  settle(root);
}

void Grower::State::divide_rows(const Leaf& parent, Leaf& left, Leaf& right) {
  const RowSet rows = rows_of(parent);
  const std::size_t chunks = (parent.count + kPartitionChunk - 1) / kPartitionChunk;
  const int team = threads_for(chunks, 1, threads);
  const auto range = [&](std::size_t chunk) {
    return std::pair{chunk * kPartitionChunk,
                     std::min(parent.count, (chunk + 1) * kPartitionChunk)};
  };
  std::vector<std::size_t> to_left(chunks);
  parallel_for(team, chunks, [&](std::size_t chunk) {
    const auto [begin, end] = range(chunk);
    to_left[chunk] = mark_left(bins, parent.best, rows, begin, end, marks.data());
  });
  // The rows must be those that the histogram counted, or they would be written out of bounds.
  if (std::accumulate(to_left.begin(), to_left.end(), std::size_t{0}) != left.count) {
    throw std::logic_error("a split does not part the rows that its histogram counted");
  }
  std::exclusive_scan(to_left.begin(), to_left.end(), to_left.begin(), std::size_t{0});
  std::uint32_t* target = row_buffer[left.buffer].get();
  parallel_for(team, chunks, [&](std::size_t chunk) {
    const auto [begin, end] = range(chunk);
    divide(rows, begin, end, marks.data(), target + left.begin + to_left[chunk],
           target + right.begin + (begin - to_left[chunk]));
  });
}

// Evaluates two new leaves. The smaller one's histogram is built from its rows; the larger one's is
// what remains of the parent's, if the parent kept it.
void Grower::State::evaluate_children(Leaf& small, Leaf& large, int parent_slot) {
  const bool room = n_leaves() + 2 < settings.max_leaves;  // or they would never be split
  const bool scan_small = room && may_split(small), scan_large = room && may_split(large);
  const bool subtract = scan_large && parent_slot >= 0;
  if (!subtract) pool.release(parent_slot);
  if (!scan_small && !scan_large) return;
  if (scan_small && small.count >= kKeepFromRows) small.slot = take_slot();
  if (scan_large && !subtract && large.count >= kKeepFromRows) large.slot = take_slot();
  if (subtract) large.slot = parent_slot;

  const auto allowed_small = allowed_features(small), allowed_large = allowed_features(large);
  const SplitSearch search_small = search(small), search_large = search(large);
  const int team = team_for(small.count);
  const bool is_built = team > 1 && small.slot >= 0 && small.count >= 2 * kRowsPerRun;
  if (is_built) build(small);
  parallel_for(team, groups.size(), [&](std::size_t i) {
    Sum* scratch = group_scratch();
    const ColumnGroup& group = groups[i];
    Split best_small, best_large;
    if (scan_small || subtract) {
      Sum* of_small = small.slot >= 0 ? histogram(small.slot, group) : scratch;
      if (!is_built) build_histograms(bins, {&group, 1}, gradients, rows_of(small), of_small);
      if (scan_small) offer(search_small, group, of_small, allowed_small, best_small);
      if (subtract) {
        offer_remaining(search_large, group, histogram(large.slot, group), of_small, allowed_large,
                        best_large);
      }
    }
    if (scan_large && !subtract) {
      Sum* of_large = large.slot >= 0 ? histogram(large.slot, group) : scratch;
      build_histograms(bins, {&group, 1}, gradients, rows_of(large), of_large);
      offer(search_large, group, of_large, allowed_large, best_large);
    }
    group_best[2 * i] = best_small;
    group_best[2 * i + 1] = best_large;
  });
  if (scan_small) choose(small, 0);
  if (scan_large) choose(large, 1);
  if (large.count < kKeepFromRows) pool.release(large.slot);
}

void Grower::State::split(Leaf parent) {
  Leaf left, right;
  left.sum = parent.best.left;
  right.sum = parent.sum - parent.best.left;
  left.node = add_node(left.sum);
  right.node = add_node(right.sum);
  record_split(parent, left.node, right.node);
  left.depth = right.depth = parent.depth + 1;
  left.buffer = right.buffer = parent.buffer == 0 ? 1 : 0;
  left.count = gradients.fixed.count(left.sum);
  right.count = parent.count - left.count;
  left.begin = parent.begin;
  right.begin = parent.begin + left.count;
  divide_rows(parent, left, right);
  if (left.count <= right.count) {
    evaluate_children(left, right, parent.slot);
  } else {
    evaluate_children(right, left, parent.slot);
  }
  settle(left);
  settle(right);
}

// Notes the leaf of the rows in [begin, end), which stay in the second-level cache meanwhile: every
// leaf has rows all over the table.
void Grower::State::number_rows(std::size_t begin, std::size_t end,
                                std::uint16_t* leaf_of_row) const {
  for (std::size_t number = 0; number < closed.size(); ++number) {
    const RowSet rows = rows_of(closed[number]);
    const auto value = static_cast<std::uint16_t>(number);
    if (!rows.ids) {
      std::fill(leaf_of_row + begin, leaf_of_row + end, value);
      continue;
    }
    const std::uint32_t* last = rows.ids + rows.count;
    const std::uint32_t* id = std::lower_bound(rows.ids, last, begin);
    for (; id != last && *id < end; ++id) leaf_of_row[*id] = value;
  }
}

// Rows that the tree was not trained on find their leaves by going down it.
void Grower::State::number_rows_outside_bag(const std::vector<std::uint16_t>& number,
                                            std::uint16_t* leaf_of_row) const {
  constexpr std::size_t kBlock = 8192;
  parallel_for(threads_for(bins.n_rows, kBlock, threads), (bins.n_rows + kBlock - 1) / kBlock,
               [&](std::size_t block) {
                 const std::size_t end = std::min(bins.n_rows, (block + 1) * kBlock);
                 auto inside = std::lower_bound(bag.begin(), bag.end(), block * kBlock);
                 for (std::size_t row = block * kBlock; row < end; ++row) {
                   if (inside != bag.end() && *inside == row) {
                     ++inside;
                     continue;
                   }
                   int node = 0;
                   while (tree.feature[static_cast<std::size_t>(node)] >= 0) {
                     const auto i = static_cast<std::size_t>(node);
                     node = goes_left(tree, node, bins.column(tree.feature[i])[row])
                                ? tree.left[i]
                                : tree.right[i];
                   }
                   leaf_of_row[row] = number[static_cast<std::size_t>(node)];
                 }
               });
}

void Grower::State::finish(std::uint16_t* leaf_of_row) {
  closed.insert(closed.end(), open.begin(), open.end());
  std::sort(closed.begin(), closed.end(),
            [](const Leaf& a, const Leaf& b) { return a.node < b.node; });
  std::vector<std::uint16_t> number(tree.feature.size());
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const auto node = static_cast<std::size_t>(closed[i].node);
    number[node] = static_cast<std::uint16_t>(i);
    tree.leaf_value.push_back(tree.value[node]);
  }
  constexpr std::size_t kStretch = 65'536;
  parallel_for(threads_for(bins.n_rows, 16'384, threads), (bins.n_rows + kStretch - 1) / kStretch,
               [&](std::size_t i) {
                 number_rows(i * kStretch, std::min(bins.n_rows, (i + 1) * kStretch), leaf_of_row);
               });
  if (!bag.empty()) number_rows_outside_bag(number, leaf_of_row);
}

Grower::Grower(const BinnedView& bins, const GrowSettings& settings, int threads)
    : state_(std::make_unique<State>(bins, settings, threads)) {}

Grower::~Grower() = default;

GrownTree Grower::grow(const Gradients& gradients, std::span<const std::uint32_t> bag,
                       std::uint64_t tree_id, std::uint16_t* leaf_of_row) {
  State& state = *state_;
  state.begin(gradients, bag, tree_id);
  state.plant_root();
  while (!state.open.empty() && state.n_leaves() < state.settings.max_leaves) {
    check_interrupt();
    state.split(state.next());
  }
  state.finish(leaf_of_row);
  return std::move(state.tree);
}

std::vector<int> sample_tree_features(int n_features, double fraction, std::uint64_t seed,
                                      std::uint64_t tree_id) {
  std::vector<int> all(static_cast<std::size_t>(n_features));
  std::iota(all.begin(), all.end(), 0);
  return sample_features(all, fraction, seed, Purpose::tree_features, tree_id);
}

}  // namespace hedgerow
