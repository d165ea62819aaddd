// The rows of a tree's leaves. A split writes the divided rows of a leaf to the other of two
// buffers, so that rows keep their order and those of a leaf are contiguous. The rows of the leaf
// itself remain until one of its children is divided.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "hist/grown_tree.hpp"
#include "hist/histogram.hpp"
#include "hist/split.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::hist {

// Where the rows of a leaf are.
struct RowRange {
  int buffer = -1;  // −1: the bag itself
  std::size_t begin = 0, count = 0;
};

class RowPartition {
 public:
  RowPartition(const BinnedView& bins, int threads);

  // Starts a tree on the rows in `bag` (increasing; empty: all rows); returns where they are.
  RowRange begin(std::span<const std::uint32_t> bag);
  RowSet rows(const RowRange& leaf) const;
  // Where the rows of a leaf's children will be.
  std::array<RowRange, 2> children(const RowRange& leaf, std::size_t n_left) const;
  void divide(const RowRange& leaf, const Split& split, std::size_t n_left);
  // Writes the leaf number of every row; `leaves` are in the order of their numbers.
  void number_rows(const GrownTree& tree, std::span<const RowRange> leaves,
                   std::uint16_t* leaf_of_row) const;

 private:
  void number_stretch(std::span<const RowRange> leaves, std::size_t begin, std::size_t end,
                      std::uint16_t* leaf_of_row) const;
  void number_rows_outside_bag(const GrownTree& tree, std::uint16_t* leaf_of_row) const;

  const BinnedView& bins_;
  int threads_;
  std::span<const std::uint32_t> bag_;
  std::array<Buffer<std::uint32_t>, 2> buffers_;
  std::vector<std::uint64_t> marks_;
};

}  // namespace hedgerow::hist
