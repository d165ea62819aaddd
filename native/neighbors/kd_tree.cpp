#include "neighbors/kd_tree.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/interrupt.hpp"
#include "core/threads.hpp"

namespace hedgerow::neighbors {
namespace {

constexpr std::size_t kMostDepth = 64;

// Part of a tree: a node and its blocks.
struct KdNode {
  std::size_t id, begin, end;

  bool is_leaf() const { return end - begin == 1; }
  std::size_t middle() const { return begin + left_blocks(end - begin); }
  KdNode left() const { return {id + 1, begin, middle()}; }
  KdNode right() const { return {id + 2 * (middle() - begin), middle(), end}; }
};

void fill_block(const Matrix& rows, const std::uint32_t* index, std::size_t b, double* values) {
  const std::size_t begin = b * kBlockRows, last = rows.n - 1;
  double* block = values + begin * rows.d;
  for (std::size_t i = 0; i < kBlockRows; ++i) {
    const double* row = rows.row(index[std::min(begin + i, last)]);
    for (std::size_t j = 0; j < rows.d; ++j) block[j * kBlockRows + i] = row[j];
  }
}

// Orders rows so that those of a leaf are contiguous. The order depends on their values alone.
class KdTreeBuilder {
 public:
  KdTreeBuilder(const Matrix& rows, std::size_t leaf_rows, std::uint32_t* index, double* boxes)
      : rows_(rows), leaf_rows_(leaf_rows), index_(index), boxes_(boxes) {}

  void run(int threads) const {
    std::iota(index_, index_ + rows_.n, std::uint32_t{0});
    // Level by level until there are enough subtrees for all threads.
    constexpr std::size_t kEnough = 64;
    std::vector<KdNode> level{{0, 0, (rows_.n + leaf_rows_ - 1) / leaf_rows_}};
    while (level.size() < kEnough && !level.front().is_leaf()) {
      parallel_for(threads, level.size(), [&](std::size_t i) { divide(level[i]); });
      std::vector<KdNode> next;
      for (const KdNode& node : level) {
        if (node.is_leaf()) continue;
        next.push_back(node.left());
        next.push_back(node.right());
      }
      level = std::move(next);
    }
    parallel_for(threads, level.size(), [&](std::size_t i) { divide_all(level[i]); });
  }

 private:
  // Computes the node's box and halves its rows along the widest side.
  void divide(const KdNode& node) const {
    std::vector<double> own(boxes_ ? 0 : 2 * rows_.d);
    double* low = boxes_ ? boxes_ + node.id * 2 * rows_.d : own.data();
    double* high = low + rows_.d;
    std::uint32_t* begin = index_ + node.begin * leaf_rows_;
    std::uint32_t* end = index_ + std::min(node.end * leaf_rows_, rows_.n);
    if (node.is_leaf()) std::sort(begin, end);
    if (node.is_leaf() && !boxes_) return;
    std::copy_n(rows_.row(*begin), rows_.d, low);
    std::copy_n(low, rows_.d, high);
    for (const std::uint32_t* i = begin + 1; i < end; ++i) {
      const double* row = rows_.row(*i);
      for (std::size_t j = 0; j < rows_.d; ++j) {
        low[j] = row[j] < low[j] ? row[j] : low[j];
        high[j] = row[j] > high[j] ? row[j] : high[j];
      }
    }
    if (node.is_leaf()) return;
    std::size_t widest = 0;
    for (std::size_t j = 1; j < rows_.d; ++j)
      if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const double x = rows_.row(a)[widest], y = rows_.row(b)[widest];
      return x < y || (x == y && a < b);
    };
    std::nth_element(begin, index_ + node.middle() * leaf_rows_, end, before);
    check_interrupt();
  }

  void divide_all(const KdNode& node) const {
    divide(node);
    if (node.is_leaf()) return;
    divide_all(node.left());
    divide_all(node.right());
  }

  const Matrix& rows_;
  std::size_t leaf_rows_;
  std::uint32_t* index_;
  double* boxes_;  // of all nodes, or none
};

template <class Distance, class Keeper>
void scan_block(const RowBlocks& rows, const Distance& distance, const double* query, std::size_t b,
                Keeper& keeper) {
  alignas(64) double found[kBlockRows];
  for (std::size_t i = 0; i < kBlockRows; i += distance_detail::kPart)
    distance.to_part(query, rows.block(b) + i, found + i);
  double least = found[0];
  for (std::size_t i = 1; i < kBlockRows; ++i) least = found[i] < least ? found[i] : least;
  if (least > keeper.bound()) return;
  const std::uint32_t* index = rows.index + b * kBlockRows;
  for (std::size_t i = 0; i < rows.rows_in(b); ++i)
    if (found[i] <= keeper.bound()) keeper.offer(found[i], index[i]);
}

// One query at a time through the tree, nearer children first.
template <class Distance, class Keeper>
class TreeSearch {
 public:
  TreeSearch(const RowBlocks& rows, const Distance& distance, const double* query, Keeper& keeper)
      : rows_(rows), distance_(distance), query_(query), keeper_(keeper) {}

  void run() {
    push({0, 0, rows_.n_blocks()}, 0.0);
    while (depth_ > 0) {
      const Waiting next = waiting_[--depth_];
      if (next.distance <= keeper_.bound()) descend(next.node);
    }
  }

 private:
  struct Waiting {
    KdNode node;
    double distance;
  };

  void push(const KdNode& node, double distance) { waiting_[depth_++] = {node, distance}; }

  double to_box(const KdNode& node) const {
    const double* low = rows_.boxes + node.id * 2 * rows_.d;
    return distance_.to_box(query_, low, low + rows_.d);
  }

  void descend(KdNode node) {
    while (!node.is_leaf()) {
      KdNode near = node.left(), far = node.right();
      double to_near = to_box(near), to_far = to_box(far);
      if (to_far < to_near) {
        std::swap(near, far);
        std::swap(to_near, to_far);
      }
      if (to_far <= keeper_.bound()) push(far, to_far);
      if (to_near > keeper_.bound()) return;
      node = near;
    }
    scan_block(rows_, distance_, query_, node.begin, keeper_);
    keeper_.tighten();
  }

  const RowBlocks& rows_;
  const Distance& distance_;
  const double* query_;
  Keeper& keeper_;
  std::array<Waiting, kMostDepth> waiting_;
  std::size_t depth_ = 0;
};

template <class Distance>
constexpr bool has_boxes =
    requires(const Distance& distance) { distance.to_box(nullptr, nullptr, nullptr); };

// Queries of a task on the tree, and of a pass over all blocks: enough to reuse a block while it is
// in the cache.
constexpr std::size_t kTreeQueries = 32, kScanQueries = 64;

template <class Distance, class Output>
void search_tree(const RowBlocks& rows, const Distance& distance, const Matrix& queries,
                 const Output& output, int threads) {
  const std::size_t tasks = (queries.n + kTreeQueries - 1) / kTreeQueries;
  // Nearby queries are processed together, so that their blocks are in the cache.
  std::vector<std::uint32_t> order(queries.n);
  order_by_tree(queries, kTreeQueries, order.data(), threads);
  parallel_for(threads, tasks, [&](std::size_t task) {
    const std::size_t end = std::min((task + 1) * kTreeQueries, queries.n);
    for (std::size_t place = task * kTreeQueries; place < end; ++place) {
      const std::size_t q = order[place];
      auto keeper = output.keeper(distance);
      TreeSearch(rows, distance, queries.row(q), keeper).run();
      output.write(distance, q, keeper);
      check_interrupt();
    }
  });
}

template <class Distance, class Output>
void scan_all(const RowBlocks& rows, const Distance& distance, const Matrix& queries,
              const Output& output, int threads) {
  const std::size_t share =
      (queries.n + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  const std::size_t width =
      std::clamp<std::size_t>(share, 1, std::min(kScanQueries, output.most_at_once()));
  parallel_for(threads, (queries.n + width - 1) / width, [&](std::size_t task) {
    const std::size_t first = task * width, count = std::min(width, queries.n - first);
    std::vector<typename Output::Keeper> keepers;
    keepers.reserve(count);
    for (std::size_t q = 0; q < count; ++q) keepers.push_back(output.keeper(distance));
    for (std::size_t b = 0; b < rows.n_blocks(); ++b) {
      for (std::size_t q = 0; q < count; ++q)
        scan_block(rows, distance, queries.row(first + q), b, keepers[q]);
      if (b % 16 == 0) check_interrupt();
    }
    for (std::size_t q = 0; q < count; ++q) output.write(distance, first + q, keepers[q]);
  });
}

}  // namespace

void pack_blocks(const Matrix& rows, double* values, std::uint32_t* index, double* boxes,
                 int threads) {
  if (boxes)
    KdTreeBuilder(rows, kBlockRows, index, boxes).run(threads);
  else
    std::iota(index, index + rows.n, std::uint32_t{0});
  parallel_for(threads, (rows.n + kBlockRows - 1) / kBlockRows,
               [&](std::size_t b) { fill_block(rows, index, b, values); });
}

void order_by_tree(const Matrix& rows, std::size_t leaf_rows, std::uint32_t* index, int threads) {
  KdTreeBuilder(rows, leaf_rows, index, nullptr).run(threads);
}

template <class Output>
void search_blocks(const RowBlocks& rows, const Metric& metric, const Matrix& queries,
                   const Output& output, int threads) {
  with_distance(metric, rows.d, [&](const auto& distance) {
    if constexpr (has_boxes<decltype(distance)>) {
      if (rows.boxes) return search_tree(rows, distance, queries, output, threads);
    }
    scan_all(rows, distance, queries, output, threads);
  });
}

template void search_blocks(const RowBlocks&, const Metric&, const Matrix&, const NearestOutput&,
                            int);
template void search_blocks(const RowBlocks&, const Metric&, const Matrix&, const RadiusOutput&,
                            int);

}  // namespace hedgerow::neighbors
