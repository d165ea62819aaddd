#include "hist/histogram_builder.hpp"

#include <algorithm>
#include <cstring>

#include "core/threads.hpp"

namespace hedgerow::hist {
namespace {

// Rows that justify a histogram of their own, which is added to the others.
constexpr std::size_t kRowsPerRun = 8192;

std::vector<std::span<const ColumnGroup>> by_block(const std::vector<ColumnGroup>& groups) {
  std::vector<std::span<const ColumnGroup>> blocks;
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(
        begin, groups.end(), [&](const ColumnGroup& group) { return group.block != begin->block; });
    blocks.emplace_back(begin, end);
    begin = end;
  }
  return blocks;
}

Buffer<Accumulators> make_accumulators(int threads) {
  const auto slots = static_cast<std::size_t>(std::max(threads, 1));
  Buffer<Accumulators> words(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) words[slot] = {};
  return words;
}

}  // namespace

HistogramBuilder::HistogramBuilder(const BinnedView& bins, int threads)
    : bins_(bins), words_(make_accumulators(threads)), threads_(threads) {}

void HistogramBuilder::set_columns(const TreeColumns& columns) {
  columns_ = &columns;
  wide_groups_ = columns.make_groups(1);
  blocks_ = by_block(wide_groups_);
  const auto team = static_cast<std::size_t>(threads_);
  groups_ = columns.make_groups((team + blocks_.size() - 1) / blocks_.size());
}

bool HistogramBuilder::divides_rows(std::size_t n_rows, int team) const {
  return team > 1 && n_rows >= 2 * kRowsPerRun;
}

std::size_t HistogramBuilder::runs_for(std::size_t n_rows, int team) const {
  const std::size_t most = (static_cast<std::size_t>(team) + blocks_.size() - 1) / blocks_.size();
  return std::clamp<std::size_t>(n_rows / kRowsPerRun, 1, most);
}

void HistogramBuilder::build_group(const Gradients& gradients, const RowSet& rows,
                                   const ColumnGroup& group, int slot,
                                   GradientSum* histograms) const {
  if (rows.count == 0) {
    std::fill_n(histograms, static_cast<std::size_t>(group.count) * kColumnStride,
                GradientSum{0, 0});
    return;
  }
  build_histograms(bins_, {&group, 1}, gradients, rows, words_[static_cast<std::size_t>(slot)],
                   histograms);
}

void HistogramBuilder::build(const Gradients& gradients, const RowSet& rows, int team,
                             GradientSum* histograms) {
  const std::size_t runs = runs_for(rows.count, team);
  if (runs == 1) {
    parallel_for(team, groups_.size(), [&](std::size_t i, int slot) {
      const ColumnGroup& group = groups_[i];
      build_group(gradients, rows, group, slot, histograms + group.first * kColumnStride);
    });
    return;
  }
  const std::vector<int>& columns = columns_->columns();
  const std::size_t size = columns.size() * kColumnStride;
  if (n_parts_ < (runs - 1) * size) {
    n_parts_ = (runs - 1) * size;
    parts_ = Buffer<GradientSum>(n_parts_);
  }
  const auto part = [&](std::size_t run) {
    return run == 0 ? histograms : parts_.get() + (run - 1) * size;
  };
  parallel_for(team, blocks_.size() * runs, [&](std::size_t i, int slot) {
    const std::size_t run = i % runs;
    const RowSet slice = rows.slice(rows.count * run / runs, rows.count * (run + 1) / runs);
    const std::span<const ColumnGroup> block = blocks_[i / runs];
    build_histograms(bins_, block, gradients, slice, words_[static_cast<std::size_t>(slot)],
                     part(run) + block.front().first * kColumnStride);
  });
  parallel_for(team, columns.size(), [&](std::size_t k) {
    for (std::size_t run = 1; run < runs; ++run) {
      add_histogram(columns_->n_codes(columns[k]), part(run) + k * kColumnStride,
                    histograms + k * kColumnStride);
    }
  });
}

}  // namespace hedgerow::hist
