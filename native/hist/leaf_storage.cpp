#include "hist/leaf_storage.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/threads.hpp"
#include "hist/partition.hpp"

namespace hedgerow::hist {
namespace {

// Rows to divide that justify waking a thread: with fewer, the row ids are moved between cores more
// often than within one.
constexpr std::size_t kRowsPerThread = 2 * kPartitionChunk;

bool goes_left(const GrownTree& tree, std::size_t node, std::uint8_t bin) {
  if (bin == kMissingBin) return tree.missing_left[node];
  if (tree.category_set[node] < 0) return bin <= tree.split_bin[node];
  const auto set = static_cast<std::size_t>(tree.category_set[node]) * 8;
  return tree.category_bits[set + (bin >> 5)] >> (bin & 31) & 1;
}

}  // namespace

RowPartition::RowPartition(const BinnedView& bins, int threads)
    : bins_(bins), threads_(threads), marks_(bins.n_rows / 64 + 1) {
  for (auto& buffer : buffers_) buffer = Buffer<std::uint32_t>(bins.n_rows);
}

RowRange RowPartition::begin(const Bag& bag) {
  bag_ = bag;
  return {-1, 0, bag ? bag->size() : bins_.n_rows};
}

RowSet RowPartition::rows(const RowRange& leaf) const {
  if (leaf.buffer >= 0) {
    const auto& buffer = buffers_[static_cast<std::size_t>(leaf.buffer)];
    return {buffer.get() + leaf.begin, 0, leaf.count};
  }
  return {bag_ ? bag_->data() : nullptr, 0, leaf.count};
}

// The rows of all leaves in chunks, each leaf with marks of its own.
std::vector<RowPartition::RowChunk> RowPartition::chunks_of(
    std::span<const RowDivision> divisions) {
  std::size_t words = 0;
  for (const RowDivision& division : divisions) words += division.leaf.count / 64 + 1;
  if (marks_.size() < words) marks_.resize(words);
  std::vector<RowChunk> chunks;
  std::uint64_t* marks = marks_.data();
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    const std::size_t count = divisions[i].leaf.count;
    std::size_t begin = 0;
    do {
      const std::size_t end = std::min(count, begin + kPartitionChunk);
      chunks.push_back({i, begin, end, marks});
      begin = end;
    } while (begin < count);
    marks += count / 64 + 1;
  }
  return chunks;
}

void RowPartition::mark(const RowDivision& division, RowChunk& chunk) const {
  chunk.to_left =
      mark_left(bins_, *division.split, rows(division.leaf), chunk.begin, chunk.end, chunk.marks);
}

// Places the children of a leaf of which `n_left` rows go left.
void RowPartition::place(RowDivision& division, std::size_t n_left) {
  const auto& [buffer, begin, count] = division.leaf;
  const int other = buffer == 0 ? 1 : 0;
  division.left = {other, begin, n_left};
  division.right = {other, begin + n_left, count - n_left};
}

void RowPartition::move(const RowDivision& division, const RowChunk& chunk) const {
  std::uint32_t* target = buffers_[static_cast<std::size_t>(division.left.buffer)].get();
  hist::divide(rows(division.leaf), chunk.begin, chunk.end, chunk.marks,
               target + division.left.begin + chunk.left_before,
               target + division.right.begin + (chunk.begin - chunk.left_before));
}

void RowPartition::divide(std::span<RowDivision> divisions) {
  std::vector<RowChunk> chunks = chunks_of(divisions);
  std::size_t n_rows = 0;
  for (const RowDivision& division : divisions) n_rows += division.leaf.count;
  const int team = threads_for(n_rows, kRowsPerThread, threads_);
  const auto of = [&](const RowChunk& chunk) -> RowDivision& { return divisions[chunk.division]; };
  const auto is_whole = [&](const RowChunk& chunk) {
    return chunk.begin == 0 && chunk.end == of(chunk).leaf.count;
  };
  parallel_for(team, chunks.size(), [&](std::size_t i) {
    RowChunk& chunk = chunks[i];
    mark(of(chunk), chunk);
    if (!is_whole(chunk)) return;
    place(of(chunk), chunk.to_left);
    move(of(chunk), chunk);
  });
  std::erase_if(chunks, is_whole);
  std::size_t n_left = 0;
  for (RowChunk& chunk : chunks) {
    if (chunk.begin == 0) n_left = 0;
    chunk.left_before = n_left;
    n_left += chunk.to_left;
    if (chunk.end == of(chunk).leaf.count) place(of(chunk), n_left);
  }
  parallel_for(team, chunks.size(), [&](std::size_t i) { move(of(chunks[i]), chunks[i]); });
}

// Writes the leaf of the rows in [begin, end), which stay in the second-level cache meanwhile:
// every leaf has rows all over the table.
void RowPartition::number_stretch(std::span<const NumberedRows> leaves, std::size_t begin,
                                  std::size_t end, std::uint16_t* leaf_of_row) const {
  for (const NumberedRows& leaf : leaves) {
    const RowSet rows = this->rows(leaf.rows);
    if (!rows.ids) {
      std::fill(leaf_of_row + begin, leaf_of_row + end, leaf.number);
      continue;
    }
    const std::uint32_t* last = rows.ids + rows.count;
    const std::uint32_t* id = std::lower_bound(rows.ids, last, begin);
    for (; id != last && *id < end; ++id) leaf_of_row[*id] = leaf.number;
  }
}

// Rows outside the bag find their leaves by walking down the tree.
void RowPartition::number_rows_outside_bag(const GrownTree& tree,
                                           std::uint16_t* leaf_of_row) const {
  constexpr std::size_t kBlock = 8192;
  std::vector<std::uint16_t> number(tree.feature.size());
  for (std::size_t leaf = 0; leaf < tree.leaf_node.size(); ++leaf) {
    number[static_cast<std::size_t>(tree.leaf_node[leaf])] = static_cast<std::uint16_t>(leaf);
  }
  const auto leaf_of = [&](std::size_t row) {
    std::size_t node = 0;
    while (tree.feature[node] >= 0) {
      const bool left = goes_left(tree, node, bins_.column(tree.feature[node])[row]);
      node = static_cast<std::size_t>(left ? tree.left[node] : tree.right[node]);
    }
    return number[node];
  };
  parallel_for(threads_for(bins_.n_rows, kBlock, threads_), (bins_.n_rows + kBlock - 1) / kBlock,
               [&](std::size_t block) {
                 const std::size_t end = std::min(bins_.n_rows, (block + 1) * kBlock);
                 auto inside = std::lower_bound(bag_->begin(), bag_->end(), block * kBlock);
                 for (std::size_t row = block * kBlock; row < end; ++row) {
                   if (inside != bag_->end() && *inside == row) {
                     ++inside;
                   } else {
                     leaf_of_row[row] = leaf_of(row);
                   }
                 }
               });
}

void RowPartition::number_rows(const GrownTree& tree, std::span<const NumberedRows> leaves,
                               std::uint16_t* leaf_of_row) const {
  constexpr std::size_t kStretch = 65'536;
  const std::size_t n = bins_.n_rows;
  parallel_for(threads_for(n, 16'384, threads_), (n + kStretch - 1) / kStretch, [&](std::size_t i) {
    number_stretch(leaves, i * kStretch, std::min(n, (i + 1) * kStretch), leaf_of_row);
  });
  if (bag_) number_rows_outside_bag(tree, leaf_of_row);
}

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

}  // namespace hedgerow::hist
