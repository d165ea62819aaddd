// Neighbours among rows in blocks: all blocks are searched, or those of a k-d tree that are near
// the query.
//
// The tree is balanced and has no links. Its leaves are the blocks, one after another; node v over
// the blocks [begin, end) has its left half at v + 1 and its right half at v + 2 · (blocks of the
// left half), the left having the odd block. Each node has the smallest box around its rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neighbors/distances.hpp"
#include "neighbors/search_state.hpp"

namespace hedgerow::neighbors {

struct Matrix {
  const double* values;  // (n, d), row by row
  std::size_t n, d;

  const double* row(std::size_t i) const { return values + i * d; }
};

// Rows in blocks of kBlockRows, the last one filled up with copies of its last row.
struct RowBlocks {
  const double* values;        // (n_blocks, d, kBlockRows)
  const std::uint32_t* index;  // (n,): each place's row
  const double* boxes;         // (2 · n_blocks − 1, 2, d): of each node, lows and highs; or none
  std::size_t n, d;

  std::size_t n_blocks() const { return (n + kBlockRows - 1) / kBlockRows; }
  const double* block(std::size_t b) const { return values + b * d * kBlockRows; }
  std::size_t rows_in(std::size_t b) const {
    return b + 1 < n_blocks() ? kBlockRows : n - b * kBlockRows;
  }
};

inline std::size_t left_blocks(std::size_t n_blocks) { return (n_blocks + 1) / 2; }

// Puts rows into blocks in their order or, if there are boxes to fill, into those of a k-d tree:
// each node is halved across the widest side of its box.
void pack_blocks(const Matrix& rows, double* values, std::uint32_t* index, double* boxes,
                 int threads);

// Returns an order of rows in which each leaf of `leaf_rows` rows is contiguous.
void order_by_tree(const Matrix& rows, std::size_t leaf_rows, std::uint32_t* index, int threads);

// The k nearest rows of every query, or all within a radius: NearestOutput or RadiusOutput.
template <class Output>
void search_blocks(const RowBlocks& rows, const Metric& metric, const Matrix& queries,
                   const Output& output, int threads);

}  // namespace hedgerow::neighbors
