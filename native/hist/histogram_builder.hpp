// Builds the histograms of nodes with several threads. In large nodes threads divide the rows, so
// that each row is read once; in smaller ones they divide the columns, which leaves nothing to add
// up. The functions that build a part are tasks: an engine runs those of several nodes side by
// side.
//
// A table that fits into the cache of every core is divided in one way throughout: each column has
// an owner, the thread that builds, subtracts and scans its histograms in every node. In larger
// tables it costs too much that so many threads read all rows.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/owned_tasks.hpp"
#include "core/threads.hpp"
#include "hist/histogram.hpp"
#include "hist/tree_columns.hpp"

namespace hedgerow::hist {

// The columns of a task: groups of one block.
using Section = std::span<const ColumnGroup>;

// A node whose rows are divided into runs, each of which has histograms of its own until they are
// added up.
struct RowRuns {
  RowSet rows = {};
  GradientSum* histograms = nullptr;  // of all columns: of the first run, then of all rows
  std::size_t count = 1;
  std::size_t first_part = 0;  // where the builder has those of the second run
};

class HistogramBuilder {
 public:
  HistogramBuilder(const BinnedView& bins, int threads);

  // Sets the columns of the following histograms.
  void set_columns(const TreeColumns& columns);
  // The columns, divided into at least `n_sections` sections, if so many are of use.
  std::span<const Section> sections(std::size_t n_sections) const;
  // The columns one by one.
  std::span<const Section> single_columns() const { return single_columns_.sections; }
  // The number of threads that can share the columns.
  int most_threads() const { return has_owners() ? n_owners_ : threads_; }
  // Runs task(i, slot) for i in [0, count), where the columns of section_of(i) are owned.
  template <class SectionOf, class Task>
  void run(int team, std::size_t count, SectionOf section_of, Task task) const {
    if (!has_owners()) return parallel_for(team, count, task);
    const auto owner = [&](std::size_t i) {
      return owner_of_[static_cast<std::size_t>(section_of(i).front().first)];
    };
    parallel_for_owned(team, count, owner, task);
  }
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
  // Provides the memory of runs; those of an earlier call lose theirs.
  void make_room(std::span<RowRuns* const> nodes);
  std::size_t n_tasks(const RowRuns& node) const { return blocks().size() * node.count; }
  // Builds the histograms of a run in a block.
  void build_run(const Gradients& gradients, const RowRuns& node, std::size_t task, int slot) const;
  // Adds up the runs in the columns of a section.
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
  GradientSum* part(const RowRuns& node, std::size_t run) const {
    return run == 0 ? node.histograms : parts_.get() + (node.first_part + run - 1) * size();
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
  Buffer<GradientSum> parts_;          // histograms of runs after the first
  std::size_t n_parts_ = 0;
};

}  // namespace hedgerow::hist
