// Histograms of a sparse table. A row lists only the bins that are not those of 0, and adds only
// to their sums; the sum of a feature's zeros is the node's minus its other bins, exactly, because
// sums are integers.
//
// Features are divided into blocks whose histograms stay in the second-level cache. In the
// histogram of a block, the entries of a feature are its bins, then the missing values; that of the
// bin of 0 is unused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hist/histogram.hpp"
#include "hist/split.hpp"
#include "table/sparse_bins.hpp"

namespace hedgerow::hist {

struct SparseBlock {
  std::vector<std::size_t> features;       // in increasing order
  std::vector<std::uint32_t> first_entry;  // of each feature, and the end of all
  std::vector<std::uint32_t> row_starts;   // of each row's items, and the end of all
  std::vector<std::uint32_t> items;        // feature << 8 | entry, by position and number

  std::size_t n_entries() const { return first_entry.back(); }
};

// The features with at least `min_rows` rows outside the bin of 0, in blocks. Others cannot be
// split: one side of a split has none of the zeros.
std::vector<SparseBlock> make_blocks(const SparseBins& bins, std::size_t min_rows, int threads);

// Adds the rows of a node to the histogram of a block.
void add_rows(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
              GradientSum* histogram);
// Subtracts them.
void subtract_rows(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
                   GradientSum* histogram);
// Adds them and counts the rows of each feature; `touched` gets the features that had none.
void add_and_count_rows(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
                        GradientSum* histogram, std::uint32_t* counts,
                        std::vector<std::uint32_t>& touched);
// Sets to zero what rows were added to.
void clear_rows(const SparseBlock& block, const RowSet& rows, GradientSum* histogram);

// Copies the bins of a feature in a node from the entries of its block's histogram to `room`, with
// eight zeros after the last; returns the sum of its rows outside the bin of 0.
GradientSum extract(const GradientSum* entries, std::size_t n_entries, int n_bins, int zero_bin,
                    const GradientSum& node, GradientSum* room);

}  // namespace hedgerow::hist
