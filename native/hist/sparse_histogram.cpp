#include "hist/sparse_histogram.hpp"

#include <algorithm>
#include <cstring>

#include "hist/scan_vectors.hpp"

namespace hedgerow::hist {
namespace {

// Entries of a block: a megabyte, so that it stays in the second-level cache; fewer if there would
// be too few blocks for all threads.
constexpr std::size_t kMostEntries = 65'536, kFewestEntries = 4'096;
constexpr std::size_t kBlocksPerThread = 4;
constexpr std::size_t kRunEntries = 4;  // a feature's entries are filled up to a multiple
constexpr std::size_t kAhead = 8;       // rows to prefetch

typedef std::uint64_t Pair __attribute__((vector_size(16), may_alias));

std::size_t entries_of(const SparseBins& bins, std::size_t feature) {
  const auto n = static_cast<std::size_t>(bins.n_bins[feature]) + 1;  // with the missing values
  return (n + kRunEntries - 1) / kRunEntries * kRunEntries;
}

std::uint32_t entry_of(const SparseBins& bins, std::size_t feature, std::uint8_t bin) {
  return bin == kMissingBin ? static_cast<std::uint32_t>(bins.n_bins[feature]) : bin;
}

void add_feature(const SparseBins& bins, std::size_t feature, SparseBlock& block) {
  block.features.push_back(feature);
  block.first_entry.push_back(block.first_entry.back() +
                              static_cast<std::uint32_t>(entries_of(bins, feature)));
  for (std::size_t i = bins.begin(feature); i < bins.end(feature); ++i) {
    ++block.row_starts[bins.rows[i] + 1];
  }
}

// Lists the items of each row, whose numbers are known.
void list_items(const SparseBins& bins, SparseBlock& block) {
  for (std::size_t row = 0; row < bins.n_rows; ++row) {
    block.row_starts[row + 1] += block.row_starts[row];
  }
  block.items.resize(block.row_starts.back());
  std::vector<std::uint32_t> next(block.row_starts.begin(), block.row_starts.end() - 1);
  for (std::size_t j = 0; j < block.features.size(); ++j) {
    const std::size_t feature = block.features[j];
    for (std::size_t i = bins.begin(feature); i < bins.end(feature); ++i) {
      block.items[next[bins.rows[i]]++] =
          static_cast<std::uint32_t>(j << 8) | entry_of(bins, feature, bins.bins[i]);
    }
  }
}

SparseBlock empty_block(std::size_t n_rows) {
  return {{}, {0}, std::vector<std::uint32_t>(n_rows + 1), {}};
}

// Calls visit(row, item) for every item of the rows.
template <class Begin, class Visit>
inline __attribute__((always_inline)) void for_each_item(const SparseBlock& block,
                                                         const RowSet& rows, const Begin& begin,
                                                         const Visit& visit) {
  const std::uint32_t* starts = block.row_starts.data();
  const std::uint32_t* items = block.items.data();
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::size_t row = rows.ids ? rows.ids[i] : rows.first + i;
    if (rows.ids && i + kAhead < rows.count)
      __builtin_prefetch(items + starts[rows.ids[i + kAhead]]);
    const auto sum = begin(row);
    for (std::uint32_t k = starts[row]; k < starts[row + 1]; ++k) visit(items[k], sum);
  }
}

// The same with the gradients of each row.
template <class Visit>
void for_each_addend(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
                     const Visit& visit) {
  const auto pair = [](const GradientSum& sum) {
    return Pair{static_cast<std::uint64_t>(sum.g), sum.hc};
  };
  if (gradients.fixed.packed) {
    for_each_item(
        block, rows,
        [&](std::size_t row) { return pair(gradients.fixed.widen(gradients.packed[row])); }, visit);
  } else {
    for_each_item(block, rows, [&](std::size_t row) { return pair(gradients.wide[row]); }, visit);
  }
}

}  // namespace

std::vector<SparseBlock> make_blocks(const SparseBins& bins, std::size_t min_rows, int threads) {
  std::vector<std::size_t> chosen;
  std::size_t n_entries = 0;
  for (std::size_t f = 0; f < bins.n_features(); ++f) {
    if (bins.end(f) - bins.begin(f) < std::max<std::size_t>(min_rows, 1)) continue;
    chosen.push_back(f);
    n_entries += entries_of(bins, f);
  }
  const auto team = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t most =
      std::clamp(n_entries / (kBlocksPerThread * team), kFewestEntries, kMostEntries);
  std::vector<SparseBlock> blocks;
  for (const std::size_t feature : chosen) {
    if (blocks.empty() || blocks.back().n_entries() + entries_of(bins, feature) > most) {
      blocks.push_back(empty_block(bins.n_rows));
    }
    add_feature(bins, feature, blocks.back());
  }
  for (SparseBlock& block : blocks) list_items(bins, block);
  return blocks;
}

void add_rows(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
              GradientSum* histogram) {
  auto* sums = reinterpret_cast<Pair*>(histogram);
  const std::uint32_t* first = block.first_entry.data();
  for_each_addend(block, gradients, rows, [=](std::uint32_t item, Pair pair) {
    sums[first[item >> 8] + (item & 255)] += pair;
  });
}

void subtract_rows(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
                   GradientSum* histogram) {
  auto* sums = reinterpret_cast<Pair*>(histogram);
  const std::uint32_t* first = block.first_entry.data();
  for_each_addend(block, gradients, rows, [=](std::uint32_t item, Pair pair) {
    sums[first[item >> 8] + (item & 255)] -= pair;
  });
}

void add_and_count_rows(const SparseBlock& block, const Gradients& gradients, const RowSet& rows,
                        GradientSum* histogram, std::uint32_t* counts,
                        std::vector<std::uint32_t>& touched) {
  auto* sums = reinterpret_cast<Pair*>(histogram);
  const std::uint32_t* first = block.first_entry.data();
  for_each_addend(block, gradients, rows, [&](std::uint32_t item, Pair pair) {
    const std::uint32_t feature = item >> 8;
    sums[first[feature] + (item & 255)] += pair;
    if (counts[feature]++ == 0) touched.push_back(feature);
  });
}

void clear_rows(const SparseBlock& block, const RowSet& rows, GradientSum* histogram) {
  auto* sums = reinterpret_cast<Pair*>(histogram);
  const std::uint32_t* first = block.first_entry.data();
  for_each_item(
      block, rows, [](std::size_t) { return Pair{}; },
      [=](std::uint32_t item, Pair zero) { sums[first[item >> 8] + (item & 255)] = zero; });
}

GradientSum extract(const GradientSum* entries, std::size_t n_entries, int n_bins, int zero_bin,
                    const GradientSum& node, GradientSum* room) {
  Pairs<kRunEntries> total;
  for (std::size_t i = 0; i < n_entries; i += kRunEntries) {
    const auto run = Pairs<kRunEntries>::load(entries + i);
    run.store(room + i);
    total += run;
  }
  const GradientSum sum = total.sum();
  std::fill_n(room + n_bins, 8, GradientSum{0, 0});  // a scan may read this far
  room[zero_bin] = node - sum;
  return sum;
}

}  // namespace hedgerow::hist
