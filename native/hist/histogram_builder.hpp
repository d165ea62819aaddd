// Builds the histograms of a node's rows with several threads. In large nodes threads divide the
// rows, so that each row is read once; in smaller ones they divide the columns, which leaves
// nothing to add up.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "hist/histogram.hpp"
#include "hist/tree_columns.hpp"

namespace hedgerow::hist {

class HistogramBuilder {
 public:
  HistogramBuilder(const BinnedView& bins, int threads);

  // Sets the columns of the following histograms.
  void set_columns(const TreeColumns& columns);
  // The groups of columns of a task, if threads divide the columns.
  const std::vector<ColumnGroup>& groups() const { return groups_; }
  // Whether a node has enough rows that threads should divide them.
  bool divides_rows(std::size_t n_rows, int team) const;
  // Writes the histograms of all columns, kColumnStride entries each; a node without rows has
  // zeros.
  void build(const Gradients& gradients, const RowSet& rows, int team, GradientSum* histograms);
  // The same for one group of columns, with the accumulators of a thread's slot.
  void build_group(const Gradients& gradients, const RowSet& rows, const ColumnGroup& group,
                   int slot, GradientSum* histograms) const;

 private:
  std::size_t runs_for(std::size_t n_rows, int team) const;

  const BinnedView& bins_;
  Buffer<Accumulators> words_;  // by slot
  const TreeColumns* columns_ = nullptr;
  std::vector<ColumnGroup> groups_;                   // for threads that divide the columns
  std::vector<ColumnGroup> wide_groups_;              // for threads that divide the rows
  std::vector<std::span<const ColumnGroup>> blocks_;  // the wide groups, block by block
  int threads_;
  Buffer<GradientSum> parts_;  // histograms of the runs of rows after the first
  std::size_t n_parts_ = 0;
};

}  // namespace hedgerow::hist
