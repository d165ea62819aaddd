#include "hist/leaf_storage.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/threads.hpp"
#include "hist/partition.hpp"

namespace hedgerow::hist {
namespace {

// Rows to divide that justify waking a thread: with fewer, the row ids are moved between cores more
// often than within one.
constexpr std::size_t kRowsPerThread = 2 * kPartitionChunk;

// A node as rows walk past it: where they look, and where they go next. The bins that go left are
// a set, whatever the split is, so that the direction is read from memory: a branch would be
// unpredictable.
struct Signpost {
  const std::uint8_t* column = nullptr;  // of the split; none for a leaf
  std::uint32_t next[2] = {0, 0};        // the right child and the left one; of a leaf its number
  std::uint64_t to_left[kBins / 64] = {};

  std::uint32_t after(std::size_t row) const {
    const std::uint8_t bin = column[row];
    return next[to_left[bin / 64] >> (bin % 64) & 1];
  }
};

// The bins of a node that go left, in four words.
void write_bins_to_left(const GrownTree& tree, std::size_t node, std::uint64_t* to_left) {
  const int set = tree.category_set[node], n_bins = tree.split_bin[node] + 1;
  for (int word = 0; word < kBins / 64; ++word) {
    if (set >= 0) {
      const std::uint32_t* bits = tree.category_bits.data() + 8 * set + 2 * word;
      to_left[word] = bits[0] | static_cast<std::uint64_t>(bits[1]) << 32;
    } else {
      const int n_here = std::clamp(n_bins - 64 * word, 0, 64);
      to_left[word] = n_here == 0 ? 0 : ~std::uint64_t{0} >> (64 - n_here);
    }
  }
  constexpr std::uint64_t kMissing = std::uint64_t{1} << (kMissingBin % 64);
  std::uint64_t& last = to_left[kMissingBin / 64];
  last = tree.missing_left[node] ? last | kMissing : last & ~kMissing;
}

std::vector<Signpost> signposts(const GrownTree& tree, const BinnedView& bins) {
  std::vector<Signpost> posts(tree.feature.size());
  for (std::size_t node = 0; node < posts.size(); ++node) {
    if (tree.feature[node] < 0) continue;
    posts[node].column = bins.column(tree.feature[node]);
    posts[node].next[0] = static_cast<std::uint32_t>(tree.right[node]);
    posts[node].next[1] = static_cast<std::uint32_t>(tree.left[node]);
    write_bins_to_left(tree, node, posts[node].to_left);
  }
  for (std::size_t leaf = 0; leaf < tree.leaf_node.size(); ++leaf) {
    posts[static_cast<std::size_t>(tree.leaf_node[leaf])].next[0] =
        static_cast<std::uint32_t>(leaf);
  }
  return posts;
}

// Places the children of a leaf of which `n_left` rows go left.
void place(RowDivision& division, std::size_t n_left) {
  const auto& [buffer, begin, count] = division.leaf;
  const int other = buffer == 0 ? 1 : 0;
  division.left = {other, begin, n_left};
  division.right = {other, begin + n_left, count - n_left};
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

// Divides the rows of each leaf into chunks, with marks of their own.
void RowPartition::make_chunks(std::span<RowDivision> divisions) {
  const auto n_chunks = [](const RowDivision& division) {
    return std::max<std::size_t>((division.leaf.count + kPartitionChunk - 1) / kPartitionChunk, 1);
  };
  std::size_t n_words = 0, n_all = 0;
  for (const RowDivision& division : divisions) {
    n_words += division.leaf.count / 64 + 1;
    n_all += n_chunks(division);
  }
  if (marks_.size() < n_words) marks_.resize(n_words);
  chunks_.clear();
  chunks_.reserve(n_all);
  std::uint64_t* marks = marks_.data();
  for (RowDivision& division : divisions) {
    const std::size_t count = division.leaf.count, n = n_chunks(division);
    division.chunks = {chunks_.data() + chunks_.size(), n};
    for (std::size_t k = 0; k < n; ++k) {
      chunks_.push_back({k * kPartitionChunk, std::min(count, (k + 1) * kPartitionChunk), marks});
    }
    marks += count / 64 + 1;
  }
}

void RowPartition::mark(const RowDivision& division, RowChunk& chunk) const {
  chunk.to_left =
      mark_left(bins_, *division.split, rows(division.leaf), chunk.begin, chunk.end, chunk.marks);
}

// Finds the places of a leaf's rows, all of which are marked.
void RowPartition::finish_marks(RowDivision& division) {
  std::size_t n_left = 0;
  for (RowChunk& chunk : division.chunks) {
    chunk.left_before = n_left;
    n_left += chunk.to_left;
  }
  if (division.n_left.value_or(n_left) != n_left) {
    throw std::logic_error("a split does not divide the rows that its histogram counted");
  }
  place(division, n_left);
}

void RowPartition::move(const RowDivision& division, const RowChunk& chunk) const {
  std::uint32_t* target = buffers_[static_cast<std::size_t>(division.left.buffer)].get();
  hist::divide(rows(division.leaf), chunk.begin, chunk.end, chunk.marks, chunk.to_left,
               target + division.left.begin + chunk.left_before,
               target + division.right.begin + (chunk.begin - chunk.left_before));
}

std::vector<int> RowPartition::add_stages(std::span<RowDivision> divisions,
                                          std::vector<Stage>& stages) {
  make_chunks(divisions);
  std::vector<int> last;
  last.reserve(divisions.size());
  for (RowDivision& division : divisions) {
    if (division.n_left) place(division, *division.n_left);
    last.push_back(static_cast<int>(stages.size()));
    stages.push_back(
        {.n_tasks = division.chunks.size(), .run = [this, &division](std::size_t k, int) {
           mark(division, division.chunks[k]);
           if (division.chunks.size() > 1) return;
           finish_marks(division);
           move(division, division.chunks[0]);
         }});
    if (division.chunks.size() > 1) {
      stages.back().finish = [&division] { finish_marks(division); };
    }
  }
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    const RowDivision& division = divisions[i];
    if (division.chunks.size() == 1) continue;
    const int marked = std::exchange(last[i], static_cast<int>(stages.size()));
    stages.push_back(
        {.n_tasks = division.chunks.size(),
         .run = [this, &division](std::size_t k, int) { move(division, division.chunks[k]); },
         .after = marked});
  }
  return last;
}

void RowPartition::divide(std::span<RowDivision> divisions) {
  std::vector<Stage> stages;
  add_stages(divisions, stages);
  std::size_t n_rows = 0;
  for (const RowDivision& division : divisions) n_rows += division.leaf.count;
  run_stages(threads_for(n_rows, kRowsPerThread, threads_), stages);
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
  const std::vector<Signpost> posts = signposts(tree, bins_);
  const auto leaf_of = [&](std::size_t row) {
    const Signpost* post = posts.data();
    while (post->column) post = posts.data() + post->after(row);
    return static_cast<std::uint16_t>(post->next[0]);
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
  // A stretch stays in the cache; with shorter ones, more time is spent on searching their rows.
  constexpr std::size_t kLongest = 65'536, kShortest = 4096;
  const std::size_t n = bins_.n_rows;
  const int team = threads_for(n, kShortest, threads_);
  const std::size_t each = std::clamp(n / static_cast<std::size_t>(2 * team), kShortest, kLongest);
  parallel_for(team, (n + each - 1) / each, [&](std::size_t i) {
    number_stretch(leaves, i * each, std::min(n, (i + 1) * each), leaf_of_row);
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
