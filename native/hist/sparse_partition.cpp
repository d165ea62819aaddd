#include "hist/sparse_partition.hpp"

#include <algorithm>

namespace hedgerow::hist {
namespace {

BinnedView view_of(const SparseBins& bins, const std::vector<std::uint8_t>& columns) {
  BinnedView view{};
  view.by_column = columns.data();
  view.n_rows = bins.n_rows;
  view.n_features = 2;
  return view;
}

// A node, and the part of the rows outside the bag that reaches it.
struct RowsAtNode {
  std::size_t node, begin, end;
};

}  // namespace

SparsePartition::SparsePartition(const SparseBins& bins, int threads)
    : bins_(bins),
      columns_(2 * bins.n_rows),
      column_(columns_.data() + bins.n_rows),
      view_(view_of(bins, columns_)),
      rows_(view_, threads) {}

RowRange SparsePartition::begin(const Bag& bag) {
  bag_ = bag;
  return rows_.begin(bag);
}

void SparsePartition::fill_column(std::size_t feature) {
  const auto zero = static_cast<std::uint8_t>(bins_.zero_bin[feature]);
  if (zero != zero_bin_) {
    std::fill_n(column_, bins_.n_rows, zero);
    zero_bin_ = zero;
  }
  for (std::size_t i = bins_.begin(feature); i < bins_.end(feature); ++i) {
    column_[bins_.rows[i]] = bins_.bins[i];
  }
}

void SparsePartition::restore_column(std::size_t feature) {
  for (std::size_t i = bins_.begin(feature); i < bins_.end(feature); ++i) {
    column_[bins_.rows[i]] = zero_bin_;
  }
}

void SparsePartition::divide(const RowRange& leaf, const Split& split, RowRange& left,
                             RowRange& right) {
  const auto feature = static_cast<std::size_t>(split.feature);
  Split of_column = split;
  of_column.feature = 1;
  RowDivision division{leaf, &of_column, left.count};
  fill_column(feature);
  rows_.divide({&division, 1});
  restore_column(feature);
  left = division.left;
  right = division.right;
}

void SparsePartition::number_rows(const GrownTree& tree, std::span<const NumberedRows> leaves,
                                  std::uint16_t* leaf_of_row) {
  if (tree.n_nodes() == 1) {
    std::fill_n(leaf_of_row, bins_.n_rows, std::uint16_t{0});
    return;
  }
  rows_.begin({});  // the rows of leaves are not in the bag any more
  rows_.number_rows(tree, leaves, leaf_of_row);
  if (bag_) number_rows_outside_bag(tree, leaf_of_row);
}

// Rows outside the bag descend the tree together, so that a column is filled in once for each node.
void SparsePartition::number_rows_outside_bag(const GrownTree& tree, std::uint16_t* leaf_of_row) {
  std::vector<std::uint16_t> number(static_cast<std::size_t>(tree.n_nodes()));
  for (std::size_t leaf = 0; leaf < tree.leaf_node.size(); ++leaf) {
    number[static_cast<std::size_t>(tree.leaf_node[leaf])] = static_cast<std::uint16_t>(leaf);
  }
  std::vector<std::uint32_t> outside;
  auto inside = bag_->begin();
  for (std::uint32_t row = 0; row < bins_.n_rows; ++row) {
    if (inside != bag_->end() && *inside == row) {
      ++inside;
    } else {
      outside.push_back(row);
    }
  }
  std::vector<RowsAtNode> pending{{0, 0, outside.size()}};
  while (!pending.empty()) {
    const auto [node, begin, end] = pending.back();
    pending.pop_back();
    if (begin == end) continue;
    const auto first = outside.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = outside.begin() + static_cast<std::ptrdiff_t>(end);
    if (tree.feature[node] < 0) {
      std::for_each(first, last, [&](std::uint32_t row) { leaf_of_row[row] = number[node]; });
      continue;
    }
    const auto feature = static_cast<std::size_t>(tree.feature[node]);
    fill_column(feature);
    const auto middle = std::partition(first, last, [&](std::uint32_t row) {
      const std::uint8_t bin = column_[row];
      return bin == kMissingBin ? tree.missing_left[node] != 0 : bin <= tree.split_bin[node];
    });
    restore_column(feature);
    const std::size_t split = begin + static_cast<std::size_t>(middle - first);
    pending.push_back({static_cast<std::size_t>(tree.left[node]), begin, split});
    pending.push_back({static_cast<std::size_t>(tree.right[node]), split, end});
  }
}

}  // namespace hedgerow::hist
