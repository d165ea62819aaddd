// Builds the histograms of nodes with several threads. In large nodes threads divide the rows, so
// that each row is read once; in smaller ones they divide the columns, which leaves nothing to add
// up. The functions that build a part are tasks: an engine runs those of several nodes side by
// side.
//
// A table that fits into the cache of every core is divided in one way throughout: each column has
// an owner, the thread that builds, subtracts and scans its histograms in every node. In larger
// tables this would be too slow, because every thread would read all rows.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/stages.hpp"
#include "hist/histogram.hpp"
#include "hist/tree_columns.hpp"

namespace hedgerow::hist {

// The columns of a task: groups of one block.
using Section = std::span<const ColumnGroup>;

// A node whose rows are divided into runs. The runs of a thread share histograms, which are added
// up in the end: all are sums of integers, so that it does not matter which thread has which run.
struct RowRuns {
  RowSet rows = {};
  GradientSum* histograms = nullptr;  // of all columns: of the first thread, then of all rows
  std::size_t count = 1;
  std::size_t index = 0;       // among the nodes that are built side by side
  std::size_t first_part = 0;  // where the builder has those of the second thread
};

class HistogramBuilder {
 public:
  HistogramBuilder(const BinnedView& bins, int threads);

  // Sets the columns of the following histograms.
  void set_columns(const TreeColumns& columns);
  // The columns, divided into at least `n_sections` sections, if that many are useful.
  std::span<const Section> sections(std::size_t n_sections) const;
  // The columns one by one.
  std::span<const Section> single_columns() const { return single_columns_.sections; }
  // The number of threads that can share the columns.
  int most_threads() const { return has_owners() ? n_owners_ : threads_; }
  // A stage of tasks run(i, slot) for each of some sections, whose columns may be owned.
  Stage stage_of(std::span<const Section> sections,
                 std::function<void(std::size_t, int)> run) const;
  // The groups of columns of a task, if threads divide the columns.
  const std::vector<ColumnGroup>& groups() const { return layouts_.back().groups; }

  // Writes the histograms of all columns, kColumnStride entries each; a node without rows has
  // zeros.
  void build(const Gradients& gradients, const RowSet& rows, int team, GradientSum* histograms);
  // The same for the columns of a section, with the accumulators of a thread's slot.
  void build_section(const Gradients& gradients, const RowSet& rows, Section section, int slot,
                     GradientSum* histograms) const;
  void build_group(const Gradients& gradients, const RowSet& rows, const ColumnGroup& group,
                   int slot, GradientSum* histograms) const {
    build_section(gradients, rows, {&group, 1}, slot, histograms);
  }

  // Whether a node has enough rows that threads should divide them.
  bool divides_rows(std::size_t n_rows, int team) const;
  // The number of runs of a node with `n_rows` rows that is to become `n_tasks` tasks.
  std::size_t runs_for(std::size_t n_rows, std::size_t n_tasks) const;
  // Provides the memory of runs for a team; those of an earlier call lose theirs.
  void make_room(std::span<RowRuns* const> nodes, int team);
  std::size_t n_tasks(const RowRuns& node) const { return blocks().size() * node.count; }
  // Adds a run to the histograms of its thread in a block.
  void build_run(const Gradients& gradients, const RowRuns& node, std::size_t task, int slot);
  // Adds up the histograms of all threads in the columns of a section.
  void add_runs(const RowRuns& node, Section section) const;

 private:
  // A division of the columns.
  struct Layout {
    std::vector<ColumnGroup> groups;
    std::vector<Section> sections;
  };

  bool has_owners() const { return n_owners_ > 1; }
  void set_owners();
  std::span<const Section> blocks() const { return layouts_.front().sections; }
  // The histograms of the first thread that has a run of a node in a block, of the second, and so
  // on.
  GradientSum* part(const RowRuns& node, std::size_t i) const {
    return i == 0 ? node.histograms : parts_.get() + (node.first_part + i - 1) * size();
  }
  std::size_t size() const { return columns_->columns().size() * kColumnStride; }

  const BinnedView& bins_;
  Buffer<Accumulators> words_;  // by slot
  const TreeColumns* columns_ = nullptr;
  std::vector<Layout> layouts_;  // from one section per block to narrow ones
  Layout single_columns_;
  int threads_;
  int n_owners_ = 1;
  std::vector<std::size_t> owner_of_;  // of each column of the tree
  Buffer<GradientSum> parts_;          // histograms of threads after the first
  std::size_t n_parts_ = 0;
  // Of the nodes that are built side by side, by node and block:
  std::unique_ptr<std::atomic<std::uint32_t>[]> n_in_use_;  // the number of parts
  std::vector<std::vector<std::int32_t>> part_of_slot_;  // by slot: which is its own; −1 for none
  std::size_t n_counted_ = 0;
};

}  // namespace hedgerow::hist
