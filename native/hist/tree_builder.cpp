// The scaffolding of a tree. A leaf that is split leaves its rows, divided, in the other of two
// buffers, so that rows stay in order and every leaf's are side by side.
#include "hist/tree_builder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/threads.hpp"
#include "shared/random.hpp"

namespace hedgerow {
namespace {

// Columns that repay reading a row's id and gradient.
constexpr std::size_t kNarrowestGroup = 4;

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

// Whether a column's rows can be parted so that both sides have `fewest`: if they are not all, but
// for less than that, in one bin, which is always on one side. Few rows show it of most columns.
bool can_be_parted(const std::uint8_t* bins, std::size_t n_rows, std::size_t fewest) {
  std::array<std::size_t, kBins> count{};
  std::size_t seen = 0, most = 0;
  fewest = std::min(fewest, n_rows);
  for (std::size_t look = std::min(n_rows, 4 * fewest);; look = std::min(n_rows, 2 * look)) {
    for (; seen < look; ++seen) most = std::max(most, ++count[bins[seen]]);
    if (seen - most >= fewest) return true;
    if (seen == n_rows) return false;
  }
}

AllowedFeatures only(const std::vector<int>& features, int n_features) {
  AllowedFeatures allowed;
  allowed.flags.resize(static_cast<std::size_t>(n_features), false);
  for (const int feature : features) allowed.flags[static_cast<std::size_t>(feature)] = true;
  return allowed;
}

int most_leaves(const GrowthParams& params) {
  if (params.max_leaves <= 0) return kMostLeaves;
  return static_cast<int>(std::min<std::int64_t>(params.max_leaves, kMostLeaves));
}

bool goes_left(const GrownTree& tree, int node, std::uint8_t bin) {
  const auto i = static_cast<std::size_t>(node);
  if (bin == kMissingBin) return tree.missing_left[i];
  if (tree.category_set[i] < 0) return bin <= tree.split_bin[i];
  const auto set = static_cast<std::size_t>(tree.category_set[i]) * 8;
  return tree.category_bits[set + (bin >> 5)] >> (bin & 31) & 1;
}

}  // namespace

HistogramPool::HistogramPool(std::size_t bytes, std::size_t budget, std::size_t fewest)
    : bytes_(bytes), most_(std::max(fewest, budget / bytes)) {}

int HistogramPool::acquire() {
  if (free_.empty()) {
    if (slots_.size() >= most_) return -1;
    slots_.emplace_back(bytes_);
    free_.push_back(static_cast<int>(slots_.size()) - 1);
  }
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

void HistogramPool::release(int& slot) {
  if (slot >= 0) free_.push_back(slot);
  slot = -1;
}

void HistogramPool::release_all() {
  free_.resize(slots_.size());
  std::iota(free_.rbegin(), free_.rend(), 0);
}

Growth::Growth(const BinnedView& view, const GrowthParams& growth, const Constraints& constrained,
               int team, HistogramPool histograms)
    : bins(view),
      params(growth),
      constraints(constrained),
      max_leaves(most_leaves(growth)),
      threads(team),
      pool(std::move(histograms)),
      members(members_of(view.places, static_cast<std::size_t>(view.n_columns))),
      marks(view.n_rows / 64 + 1) {
  for (auto& buffer : row_buffer) buffer = Buffer<std::uint32_t>(view.n_rows);
  for (const std::vector<std::size_t>& sharing : members) {
    const std::size_t last = sharing.back();
    n_codes.push_back(view.places[last].first + view.n_bins[last]);
  }
  for (int feature = 0; feature < view.n_features; ++feature) {
    partable.push_back(can_be_parted(view.column(feature), view.n_rows, fewest_rows()));
  }
}

// The columns of the tree's features that could part its rows; one of them at least, for the sum of
// all rows.
std::vector<int> Growth::columns_to_add_up() const {
  std::vector<int> useful;
  std::copy_if(features.begin(), features.end(), std::back_inserter(useful),
               [&](int feature) { return partable[static_cast<std::size_t>(feature)]; });
  if (useful.empty()) useful.push_back(features.front());
  return columns_of(useful, bins.places);
}

std::size_t Growth::mean_codes() const {
  std::size_t sum = 0;
  for (const int column : columns) {
    sum += static_cast<std::size_t>(n_codes[static_cast<std::size_t>(column)]);
  }
  return sum / columns.size() + 1;
}

std::size_t Growth::fewest_rows() const { return static_cast<std::size_t>(params.fewest_rows()); }

bool Growth::begin(std::span<const std::uint32_t> rows, std::uint64_t id) {
  bag = rows;
  tree_id = id;
  tree = {};
  parent_of.clear();
  open.clear();
  closed.clear();
  pool.release_all();
  if (!features.empty() && params.colsample_bytree >= 1.0) return false;
  const std::vector<int> usable = constraints.usable(bins.n_features);
  features = sample_tree_features(usable, params.colsample_bytree, params.seed, tree_id);
  const bool all = features.size() == static_cast<std::size_t>(bins.n_features);
  in_tree = all ? AllowedFeatures{} : only(features, bins.n_features);
  columns = columns_to_add_up();
  return true;
}

std::vector<ColumnGroup> Growth::make_groups(std::size_t wanted, std::size_t widest) const {
  const int width = bins.width;
  std::vector<ColumnGroup> groups;
  for (std::size_t begin = 0; begin < columns.size();) {
    const int block = columns[begin] / width;
    std::size_t end = begin;
    while (end < columns.size() && columns[end] / width == block) ++end;
    const std::size_t fewest = (end - begin + widest - 1) / widest;
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
        group.n_codes[k] = n_codes[static_cast<std::size_t>(columns[begin + k])];
        group.offset[k] = static_cast<std::uint8_t>(columns[begin + k] % width);
        group.contiguous = group.contiguous && group.offset[k] == group.offset[0] + k;
      }
      groups.push_back(group);
      begin += take;
    }
  }
  return groups;
}

bool Growth::is_splittable(const Leaf& leaf) const {
  return leaf.count >= 2 * fewest_rows() &&
         (params.max_depth == 0 || leaf.depth < params.max_depth);
}

int Growth::add_node(double cover, std::size_t count) {
  tree.feature.push_back(-1);
  tree.left.push_back(-1);
  tree.right.push_back(-1);
  tree.category_set.push_back(-1);
  tree.split_bin.push_back(0);
  tree.missing_left.push_back(0);
  tree.gain.push_back(0.0);
  tree.cover.push_back(cover);
  tree.count.push_back(static_cast<std::int64_t>(count));
  parent_of.push_back(-1);
  return tree.n_nodes() - 1;
}

std::array<Leaf, 2> Growth::children(const Leaf& parent, std::size_t n_left) const {
  Leaf left, right;
  left.depth = right.depth = parent.depth + 1;
  left.buffer = right.buffer = parent.buffer == 0 ? 1 : 0;
  left.count = n_left;
  right.count = parent.count - n_left;
  left.begin = parent.begin;
  right.begin = parent.begin + n_left;
  return {left, right};
}

// The heap's order: whether a waits longer than b.
bool Growth::after(const Leaf& a, const Leaf& b) const {
  if (params.is_leafwise()) {
    const double merit_a = a.best.merit(), merit_b = b.best.merit();
    return merit_a != merit_b ? merit_a < merit_b : a.node > b.node;
  }
  return a.depth != b.depth ? a.depth > b.depth : a.node > b.node;
}

void Growth::settle(Leaf leaf) {
  if (!leaf.best.found()) {
    pool.release(leaf.slot);
    closed.push_back(leaf);
    return;
  }
  open.push_back(leaf);
  std::push_heap(open.begin(), open.end(),
                 [this](const Leaf& a, const Leaf& b) { return after(a, b); });
}

void Growth::put_in_order() {
  std::make_heap(open.begin(), open.end(),
                 [this](const Leaf& a, const Leaf& b) { return after(a, b); });
}

Leaf Growth::next() {
  std::pop_heap(open.begin(), open.end(),
                [this](const Leaf& a, const Leaf& b) { return after(a, b); });
  const Leaf leaf = open.back();
  open.pop_back();
  return leaf;
}

void Growth::record_split(const Leaf& leaf, int left, int right) {
  const auto i = static_cast<std::size_t>(leaf.node);
  const Split& split = leaf.best;
  tree.feature[i] = split.feature;
  tree.left[i] = left;
  tree.right[i] = right;
  for (const int child : {left, right}) parent_of[static_cast<std::size_t>(child)] = leaf.node;
  tree.gain[i] = split.gain;
  tree.missing_left[i] = split.missing_left;
  if (split.categorical) {
    tree.category_set[i] = static_cast<std::int32_t>(tree.category_bits.size() / 8);
    tree.category_bits.insert(tree.category_bits.end(), split.categories, split.categories + 8);
  } else {
    tree.split_bin[i] = split.bin;
  }
}

int Growth::take_slot() {
  int slot = pool.acquire();
  if (slot >= 0) return slot;
  Leaf* smallest = nullptr;
  for (Leaf& leaf : open) {
    if (leaf.slot >= 0 && (!smallest || leaf.count < smallest->count)) smallest = &leaf;
  }
  if (!smallest) return -1;
  pool.release(smallest->slot);
  return pool.acquire();
}

// The features tested on the way to a node, in increasing order.
std::vector<int> Growth::features_above(int node) const {
  std::vector<int> tested;
  for (int above = parent_of[static_cast<std::size_t>(node)]; above >= 0;
       above = parent_of[static_cast<std::size_t>(above)]) {
    tested.push_back(tree.feature[static_cast<std::size_t>(above)]);
  }
  std::sort(tested.begin(), tested.end());
  tested.erase(std::unique(tested.begin(), tested.end()), tested.end());
  return tested;
}

// What the level drew, of that what interactions allow, and of that what the node drew.
AllowedFeatures Growth::allowed_features(const Leaf& leaf) const {
  const Interactions& interactions = constraints.interactions;
  const bool draws = params.colsample_bylevel < 1.0 || params.colsample_bynode < 1.0;
  if (!draws && !interactions.any()) return in_tree;
  const std::uint64_t tree_key = mix_u64(tree_id);
  auto level =
      sample_features(features, params.colsample_bylevel, params.seed, Purpose::level_features,
                      tree_key + static_cast<std::uint64_t>(leaf.depth));
  if (interactions.any()) level = interactions.allowed(level, features_above(leaf.node));
  const auto node =
      sample_features(level, params.colsample_bynode, params.seed, Purpose::node_features,
                      tree_key + static_cast<std::uint64_t>(leaf.node));
  return only(node, bins.n_features);
}

void Growth::divide_rows(const Leaf& parent, const Leaf& left, const Leaf& right) {
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

// Notes the leaf of the rows in [begin, end), which stay in the second-level cache meanwhile: every
// leaf has rows all over the table.
void Growth::number_rows(std::size_t begin, std::size_t end, std::uint16_t* leaf_of_row) const {
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
void Growth::number_rows_outside_bag(const std::vector<std::uint16_t>& number,
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

void Growth::finish(std::uint16_t* leaf_of_row) {
  closed.insert(closed.end(), open.begin(), open.end());
  std::sort(closed.begin(), closed.end(),
            [](const Leaf& a, const Leaf& b) { return a.node < b.node; });
  std::vector<std::uint16_t> number(tree.feature.size());
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const auto node = static_cast<std::size_t>(closed[i].node);
    number[node] = static_cast<std::uint16_t>(i);
    tree.leaf_node.push_back(closed[i].node);
  }
  constexpr std::size_t kStretch = 65'536;
  parallel_for(threads_for(bins.n_rows, 16'384, threads), (bins.n_rows + kStretch - 1) / kStretch,
               [&](std::size_t i) {
                 number_rows(i * kStretch, std::min(bins.n_rows, (i + 1) * kStretch), leaf_of_row);
               });
  if (!bag.empty()) number_rows_outside_bag(number, leaf_of_row);
}

std::vector<int> sample_tree_features(const std::vector<int>& features, double fraction,
                                      std::uint64_t seed, std::uint64_t tree_id) {
  return sample_features(features, fraction, seed, Purpose::tree_features, tree_id);
}

}  // namespace hedgerow
