#include "predict/packed_forest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "shared/random.hpp"

namespace hedgerow::predict {
namespace {

constexpr std::size_t kFewRows = 8;  // up to here, trees are processed side by side instead of rows
constexpr std::size_t kCodeBytes = std::size_t{1} << 17;  // of a block of rows
constexpr std::size_t kMostBlockRows = 4096;
constexpr std::size_t kStrip = 256;  // rows that are encoded at a time

std::size_t block_rows_for(std::size_t n_features) {
  return std::clamp(kCodeBytes / (2 * n_features), std::size_t{64}, kMostBlockRows);
}

template <class Rows>
constexpr bool kIsSparse = false;
template <class T>
constexpr bool kIsSparse<StoredRows<T>> = true;

}  // namespace

template <class F>
void preorder_links(std::span<const F> feature, std::int32_t* left, std::int32_t* right) {
  std::vector<std::int32_t> waiting;  // nodes whose right child is pending
  for (std::size_t i = 0; i < feature.size(); ++i) {
    left[i] = right[i] = -1;
    const bool follows_a_leaf = i > 0 && feature[i - 1] < 0;
    if (follows_a_leaf && !waiting.empty()) {
      right[waiting.back()] = static_cast<std::int32_t>(i);
      waiting.pop_back();
    }
    if (feature[i] < 0) continue;
    left[i] = static_cast<std::int32_t>(i) + 1;
    waiting.push_back(static_cast<std::int32_t>(i));
  }
}

std::vector<std::int32_t> preorder(std::span<const std::int32_t> left,
                                   std::span<const std::int32_t> right) {
  std::vector<std::int32_t> order, waiting{0};
  while (!waiting.empty()) {
    const std::int32_t node = waiting.back();
    waiting.pop_back();
    order.push_back(node);
    if (left[static_cast<std::size_t>(node)] < 0) continue;
    waiting.push_back(right[static_cast<std::size_t>(node)]);
    waiting.push_back(left[static_cast<std::size_t>(node)]);
  }
  return order;
}

double LeafLoss::operator()(std::size_t leaf, std::size_t row) const {
  double loss = 0.0;
  for (std::size_t k = 0; k < n_outputs; ++k) {
    if (vote) {
      loss += vote[leaf * n_outputs + k] != label[row * n_outputs + k];
    } else {
      const double residual = target[row * n_outputs + k] - value[leaf * n_outputs + k];
      loss += residual * residual;
    }
  }
  return loss / static_cast<double>(n_outputs);
}

// The bins of a block of rows: as they are, where a missing value is above all bins, and
// incremented, where it wraps round to below them. Rows that are processed together are side by
// side.
class PackedForest::Codes {
 public:
  Codes(std::size_t n_features, std::size_t n_rows)
      : stride_(2 * n_features * kWalkers), codes_((n_rows + kWalkers - 1) / kWalkers * stride_) {}

  const std::uint8_t* group(std::size_t i) const { return codes_.data() + i / kWalkers * stride_; }
  std::uint8_t at(std::size_t i, std::size_t feature) const { return codes_[place(i, feature)]; }
  void set(std::size_t i, std::size_t feature, std::uint8_t code) {
    std::uint8_t* both = codes_.data() + place(i, feature);
    both[0] = code;
    both[kWalkers] = static_cast<std::uint8_t>(code + 1);
  }
  // Sets the codes of all rows.
  void set_all(std::span<const std::uint8_t> code_of_feature) {
    for (std::size_t begin = 0; begin < codes_.size();) {
      for (const std::uint8_t code : code_of_feature) {
        std::fill_n(codes_.data() + begin, kWalkers, code);
        std::fill_n(codes_.data() + begin + kWalkers, kWalkers,
                    static_cast<std::uint8_t>(code + 1));
        begin += 2 * kWalkers;
      }
    }
  }

 private:
  std::size_t place(std::size_t i, std::size_t feature) const {
    return i / kWalkers * stride_ + 2 * feature * kWalkers + i % kWalkers;
  }

  std::size_t stride_;
  std::vector<std::uint8_t> codes_;
};

template <class F>
PackedForest::PackedForest(const PackedTrees<F>& trees, const BinEdges& edges) {
  for (std::size_t f = 0; f < edges.n_features(); ++f) {
    const auto begin = static_cast<std::size_t>(edges.threshold_starts[f]);
    const auto end = static_cast<std::size_t>(edges.threshold_starts[f + 1]);
    const std::vector<double> points(edges.thresholds.begin() + static_cast<std::ptrdiff_t>(begin),
                                     edges.thresholds.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<float> rounded(points.size());
    std::transform(points.begin(), points.end(), rounded.begin(), round_down);
    edges_.push_back({edges.is_categorical[f], add_rank_tree(points, double_splits_),
                      add_rank_tree(rounded, float_splits_)});
    const auto below_zero = std::lower_bound(points.begin(), points.end(), 0.0) - points.begin();
    zero_code_.push_back(static_cast<std::uint8_t>(edges.is_categorical[f] ? 0 : below_zero));
  }
  nodes_.resize(trees.feature.size());
  leaf_.resize(trees.feature.size());
  std::size_t n_inner = 0;
  std::vector<std::uint32_t> places;  // of the nodes to come; preorder takes the last one first
  for (std::size_t t = 0; t + 1 < trees.tree_offset.size(); ++t) {
    const auto begin = static_cast<std::uint32_t>(trees.tree_offset[t]);
    const auto end = static_cast<std::uint32_t>(trees.tree_offset[t + 1]);
    roots_.push_back(begin);
    places.assign(1, begin);
    std::uint32_t free = begin + 1;
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t place = places.back();
      places.pop_back();
      if (trees.feature[i] < 0) {
        nodes_[place] = {place, 255};  // no bin is above 255: to itself
        leaf_[place] = static_cast<std::uint32_t>(n_leaves_++);
        continue;
      }
      const auto feature = static_cast<std::uint32_t>(trees.feature[i]);
      const std::uint32_t missing_left = trees.missing_left[n_inner];
      std::uint32_t test = (trees.split_bin[n_inner] + missing_left) | (2 * feature + missing_left)
                                                                           << 8;
      if (edges.is_categorical[feature]) {
        test = PackedNode::kCategorical | static_cast<std::uint32_t>(tests_.size());
        PackedCategoryTest& added =
            tests_.emplace_back(PackedCategoryTest{feature, missing_left, {}});
        std::copy_n(trees.category_bits.begin() + 8 * std::ptrdiff_t(tests_.size() - 1), 8,
                    added.bits);
      }
      nodes_[place] = {free, test};
      places.push_back(free + 1);
      places.push_back(free);
      free += 2;
      ++n_inner;
    }
  }
}

template <class T>
const T* PackedForest::tables() const {
  if constexpr (std::is_same_v<T, float>) {
    return float_splits_.data();
  } else {
    return double_splits_.data();
  }
}

template <class T>
void PackedForest::fill(const Strided<const T>& rows, std::size_t first_row, std::size_t n_rows,
                        Codes& codes) const {
  std::int8_t strip[kStrip];
  for (std::size_t begin = 0; begin < n_rows; begin += kStrip) {
    const std::size_t n = std::min(kStrip, n_rows - begin);
    for (std::size_t f = 0; f < edges_.size(); ++f) {
      const Strided<const T> column = rows.from(first_row + begin, f);
      const Coding& coding = edges_[f];
      const RankTree& search = std::is_same_v<T, float> ? coding.for_float : coding.for_double;
      if (coding.is_categorical) {
        category_codes(column, n, strip);
      } else {
        rank_codes(search, tables<T>() + search.begin, column, n, strip);
      }
      for (std::size_t i = 0; i < n; ++i) {
        codes.set(begin + i, f, static_cast<std::uint8_t>(strip[i] + 128));
      }
    }
  }
}

// Codes of stored values, among codes of 0 for all others.
template <class T>
void PackedForest::fill(const StoredRows<T>& rows, std::size_t first_row, std::size_t n_rows,
                        Codes& codes) const {
  const auto code_of = [&](const Coding& coding, T value) {
    if (coding.is_categorical) return category_code(value);
    if (value != value) return kMissingCode;
    const RankTree& search = std::is_same_v<T, float> ? coding.for_float : coding.for_double;
    return static_cast<int>(rank(search.levels, tables<T>() + search.begin, value));
  };
  for (std::size_t i = 0; i < n_rows; ++i) {
    rows.for_each(first_row + i, [&](std::size_t f, T value) {
      codes.set(i, f, static_cast<std::uint8_t>(code_of(edges_[f], value)));
    });
  }
}

template <class T>
void PackedForest::clear(const StoredRows<T>& rows, std::size_t first_row, std::size_t n_rows,
                         Codes& codes) const {
  for (std::size_t i = 0; i < n_rows; ++i)
    rows.for_each(first_row + i, [&](std::size_t f, T) { codes.set(i, f, zero_code_[f]); });
}

// The next node of a walker; `codes` are those of its row, kWalkers apart.
template <bool kCategories>
inline std::uint32_t PackedForest::next(std::uint32_t node, const std::uint8_t* codes) const {
  const PackedNode at = nodes_[node];
  if constexpr (kCategories) {
    if (at.test & PackedNode::kCategorical) {
      const PackedCategoryTest& test = tests_[at.test & ~PackedNode::kCategorical];
      const int code = codes[2 * test.feature * kWalkers];
      const bool left = code == kMissingCode ? test.missing_left != 0 : has_bit(test.bits, code);
      return at.left + !left;
    }
  }
  return at.left + (codes[(at.test >> 8) * kWalkers] > static_cast<std::uint8_t>(at.test));
}

// Follows every walker from its node to its leaf.
template <bool kCategories>
void PackedForest::walk(const std::uint8_t* group, Walkers& walkers) const {
  Walkers node = walkers;  // in registers
  const auto step = [&] {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kWalkers; ++i) node[i] = next<kCategories>(node[i], group + i);
  };
  for (std::uint32_t moved = 1; moved;) {
    step();
    moved = 0;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kWalkers; ++i) {
      const std::uint32_t to = next<kCategories>(node[i], group + i);
      moved |= to ^ node[i];
      node[i] = to;
    }
  }
  walkers = node;
}

void PackedForest::walk(const std::uint8_t* group, Walkers& node) const {
  tests_.empty() ? walk<false>(group, node) : walk<true>(group, node);
}

// The leaf of each row; what is after the last row, up to a multiple of kWalkers, is overwritten.
void PackedForest::walk_block(std::uint32_t root, const Codes& codes, std::size_t n_rows,
                              std::uint32_t* leaf) const {
  for (std::size_t first = 0; first < n_rows; first += kWalkers) {
    Walkers node;
    node.fill(root);
    walk(codes.group(first), node);
    for (std::size_t i = 0; i < kWalkers; ++i) leaf[first + i] = leaf_[node[i]];
  }
}

// One row through many trees side by side.
template <class Rows, class Sink>
void PackedForest::visit_row(const Rows& rows, std::size_t row, std::size_t first, std::size_t last,
                             const Sink& sink) const {
  Codes codes(n_features(), kWalkers);
  if constexpr (kIsSparse<Rows>) codes.set_all(zero_code_);
  fill(rows, row, 1, codes);
  for (std::size_t f = 0; f < n_features(); ++f) {
    for (std::size_t i = 1; i < kWalkers; ++i) codes.set(i, f, codes.at(0, f));
  }
  for (std::size_t t = first; t < last; t += kWalkers) {
    Walkers node;
    for (std::size_t i = 0; i < kWalkers; ++i) node[i] = roots_[std::min(t + i, last - 1)];
    walk(codes.group(0), node);
    for (std::size_t i = 0; i < std::min(kWalkers, last - t); ++i) {
      sink(t + i, row, std::span<const std::uint32_t>(&leaf_[node[i]], 1));
    }
  }
}

// Calls sink(tree, first_row, leaves) for each tree in turn, for blocks of rows.
template <class Rows, class Sink>
void PackedForest::visit(const Rows& rows, std::size_t n_rows, std::size_t first, std::size_t last,
                         int threads, const Sink& sink) const {
  if (n_rows <= kFewRows) {
    for (std::size_t row = 0; row < n_rows; ++row) visit_row(rows, row, first, last, sink);
    return;
  }
  const std::size_t most = block_rows_for(n_features());
  const std::size_t share = n_rows / (4 * static_cast<std::size_t>(std::max(threads, 1)));
  const std::size_t step = std::min(most, (share / kWalkers + 1) * kWalkers);
  struct BlockScratch {
    Codes codes;
    std::vector<std::uint32_t> leaf;
  };
  const std::size_t n_blocks = (n_rows + step - 1) / step;
  const auto n_slots = std::min(n_blocks, static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<BlockScratch> scratch(
      n_slots, {Codes(n_features(), step), std::vector<std::uint32_t>(step + kWalkers)});
  if constexpr (kIsSparse<Rows>) {
    for (BlockScratch& own : scratch) own.codes.set_all(zero_code_);
  }
  parallel_for(static_cast<int>(n_slots), n_blocks, [&](std::size_t block, int slot) {
    const std::size_t first_row = block * step;
    const std::size_t n = std::min(step, n_rows - first_row);
    auto& [codes, leaf] = scratch[static_cast<std::size_t>(slot)];
    fill(rows, first_row, n, codes);
    for (std::size_t t = first; t < last; ++t) {
      check_interrupt();
      walk_block(roots_[t], codes, n, leaf.data());
      sink(t, first_row, std::span<const std::uint32_t>(leaf.data(), n));
    }
    if constexpr (kIsSparse<Rows>) clear(rows, first_row, n, codes);
  });
}

template <class Rows>
void PackedForest::add(const Rows& rows, std::size_t n_rows, std::size_t first, std::size_t last,
                       const double* values, std::size_t n_values, double* sums,
                       int threads) const {
  visit(rows, n_rows, first, last, threads,
        [&](std::size_t, std::size_t first_row, std::span<const std::uint32_t> leaf) {
          double* sum = sums + first_row * n_values;
          for (const std::uint32_t at : leaf) {
            const double* value = values + at * n_values;
            for (std::size_t v = 0; v < n_values; ++v) *sum++ += value[v];
          }
        });
}

template <class Rows>
void PackedForest::apply(const Rows& rows, std::size_t n_rows, Strided<std::int32_t> leaves,
                         int threads) const {
  visit(rows, n_rows, 0, n_trees(), threads,
        [&](std::size_t t, std::size_t first_row, std::span<const std::uint32_t> leaf) {
          for (std::size_t i = 0; i < leaf.size(); ++i) {
            leaves.at(first_row + i, t) = static_cast<std::int32_t>(leaf[i]);
          }
        });
}

template <class Rows>
void PackedForest::add_out_of_bag(const Rows& rows, std::size_t n_rows, const BagBits& out_of_bag,
                                  const double* values, std::size_t n_values, double* sums,
                                  std::int32_t* n_summed, int threads) const {
  visit(rows, n_rows, 0, n_trees(), threads,
        [&](std::size_t t, std::size_t first_row, std::span<const std::uint32_t> leaf) {
          for (std::size_t i = 0; i < leaf.size(); ++i) {
            const std::size_t row = first_row + i;
            if (!out_of_bag.is_out(t, row)) continue;
            const double* value = values + leaf[i] * n_values;
            for (std::size_t v = 0; v < n_values; ++v) sums[row * n_values + v] += value[v];
            ++n_summed[row];
          }
        });
}

template <class T>
void PackedForest::permute(Strided<const T> rows, std::size_t n_rows, const BagBits& out_of_bag,
                           const LeafLoss& loss, std::uint64_t seed, double* increases,
                           int threads) const {
  parallel_for(threads, n_trees(), [&](std::size_t t) {
    std::vector<std::uint32_t> out;
    for (std::size_t row = 0; row < n_rows; ++row) {
      if (out_of_bag.is_out(t, row)) out.push_back(static_cast<std::uint32_t>(row));
    }
    permute_tree(rows, out, t, loss, seed, increases + t * (n_features() + 1));
  });
}

template <class T>
void PackedForest::permute_tree(Strided<const T> rows, std::span<const std::uint32_t> out_of_bag,
                                std::size_t tree, const LeafLoss& loss, std::uint64_t seed,
                                double* increases) const {
  std::fill_n(increases, n_features() + 1, 0.0);
  const std::size_t n = out_of_bag.size();
  if (n == 0) return;
  Codes codes(n_features(), n);
  for (std::size_t i = 0; i < n; ++i) {  // gathered rows: one at a time
    Codes one(n_features(), 1);
    fill(rows, out_of_bag[i], 1, one);
    for (std::size_t f = 0; f < n_features(); ++f) codes.set(i, f, one.at(0, f));
  }
  std::vector<std::uint32_t> leaf(n + kWalkers);
  const auto mean_loss = [&] {
    walk_block(roots_[tree], codes, n, leaf.data());
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += loss(leaf[i], out_of_bag[i]);
    return sum / static_cast<double>(n);
  };
  increases[0] = mean_loss();
  const std::uint32_t end =
      tree + 1 < roots_.size() ? roots_[tree + 1] : static_cast<std::uint32_t>(nodes_.size());
  std::vector<bool> is_used(n_features());
  for (std::uint32_t node = roots_[tree]; node < end; ++node) {
    const std::uint32_t test = nodes_[node].test;
    if (nodes_[node].left == node) continue;
    is_used[test & PackedNode::kCategorical ? tests_[test & ~PackedNode::kCategorical].feature
                                            : test >> 9] = true;
  }
  std::vector<std::uint8_t> column(n);
  std::vector<std::uint32_t> order(n);
  for (std::size_t f = 0; f < n_features(); ++f) {
    if (!is_used[f]) continue;
    check_interrupt();
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = n; i-- > 1;) {  // Fisher and Yates'
      const std::uint64_t bits = hash_u64(seed, Purpose::permutation, tree * n_features() + f, i);
      std::swap(order[i],
                order[static_cast<std::size_t>(unit_interval(bits) * static_cast<double>(i + 1))]);
    }
    for (std::size_t i = 0; i < n; ++i) column[i] = codes.at(i, f);
    for (std::size_t i = 0; i < n; ++i) codes.set(i, f, column[order[i]]);
    increases[f + 1] = mean_loss() - increases[0];
    for (std::size_t i = 0; i < n; ++i) codes.set(i, f, column[i]);
  }
}

template void preorder_links(std::span<const std::int16_t>, std::int32_t*, std::int32_t*);
template void preorder_links(std::span<const std::int32_t>, std::int32_t*, std::int32_t*);
template PackedForest::PackedForest(const PackedTrees<std::int16_t>&, const BinEdges&);
template PackedForest::PackedForest(const PackedTrees<std::int32_t>&, const BinEdges&);
#define HEDGEROW_INSTANTIATE(Rows)                                                               \
  template void PackedForest::add(const Rows&, std::size_t, std::size_t, std::size_t,            \
                                  const double*, std::size_t, double*, int) const;               \
  template void PackedForest::apply(const Rows&, std::size_t, Strided<std::int32_t>, int) const; \
  template void PackedForest::add_out_of_bag(const Rows&, std::size_t, const BagBits&,           \
                                             const double*, std::size_t, double*, std::int32_t*, \
                                             int) const;
HEDGEROW_INSTANTIATE(Strided<const float>)
HEDGEROW_INSTANTIATE(Strided<const double>)
HEDGEROW_INSTANTIATE(StoredRows<float>)
HEDGEROW_INSTANTIATE(StoredRows<double>)
#undef HEDGEROW_INSTANTIATE
template void PackedForest::permute(Strided<const float>, std::size_t, const BagBits&,
                                    const LeafLoss&, std::uint64_t, double*, int) const;
template void PackedForest::permute(Strided<const double>, std::size_t, const BagBits&,
                                    const LeafLoss&, std::uint64_t, double*, int) const;

}  // namespace hedgerow::predict
