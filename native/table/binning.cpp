#include "table/binning.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <variant>
#include <vector>

#include "core/compiler.hpp"
#include "core/threads.hpp"
#include "table/bin_search.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kMaxWidth = 32;
constexpr std::size_t kTileRows = 256;     // a tile of 32 float columns is 34 KiB: it stays in L1
constexpr std::size_t kTaskRows = 4096;    // some 30 us of work for 28 columns
constexpr std::size_t kTaskFeatures = 64;  // sparse ones
constexpr std::size_t kSmallWork = 65536;  // values mapped in the time it takes to wake a thread

// One tile of rows and columns on its way from values to bins. A column's values lie `kPitch`
// apart, not a power of two: columns 1 KiB apart would fall into the same few sets of the cache.
struct Tile {
  static constexpr std::size_t kPitch = kTileRows + 16;
  alignas(64) double values[kMaxWidth * kPitch];
  alignas(64) std::uint8_t bins[kMaxWidth * kPitch];

  float* reals(float) { return reinterpret_cast<float*>(values); }
  double* reals(double) { return values; }
};

using Rule = std::variant<std::span<const std::uint8_t>, SearchTree<float>, SearchTree<double>>;

std::span<const double> thresholds_of(const BinRules& rules, std::size_t f) {
  const auto start = rules.threshold_starts[f];
  return rules.thresholds.subspan(start, rules.threshold_starts[f + 1] - start);
}

Rule rule_for(const BinRules& rules, std::size_t f, ValueType type) {
  if (type == ValueType::category) {
    const auto start = rules.category_starts[f];
    return rules.category_bins.subspan(start, rules.category_starts[f + 1] - start);
  }
  if (is_single(type)) return SearchTree<float>(thresholds_of(rules, f));
  return SearchTree<double>(thresholds_of(rules, f));
}

// Codes outside the table are categories that training has not seen: missing.
void map_codes(std::span<const std::uint8_t> table, const ColumnView& column, std::size_t row,
               std::size_t count, std::uint8_t* bins) {
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t code;
    std::memcpy(&code, column.values + static_cast<std::ptrdiff_t>(row + i) * column.stride,
                sizeof code);
    bins[i] = static_cast<std::uint32_t>(code) < table.size() ? table[code] : kMissingBin;
  }
}

template <class T>
bool readable_in_place(const ColumnView& column) {
  return std::is_same_v<T, Real<T>> && !column.missing && column.stride == sizeof(T) &&
         reinterpret_cast<std::uintptr_t>(column.values) % alignof(T) == 0;
}

bool map_column(const Rule& rule, const ColumnView& column, std::size_t row, std::size_t count,
                Tile& tile, std::uint8_t* bins) {
  if (const auto* table = std::get_if<std::span<const std::uint8_t>>(&rule)) {
    map_codes(*table, column, row, count, bins);
    return true;
  }
  return visit_type(column.type, [&](auto zero) {
    using T = decltype(zero);
    const auto& tree = std::get<SearchTree<Real<T>>>(rule);
    if (readable_in_place<T>(column))
      return search(tree, reinterpret_cast<const Real<T>*>(column.values) + row, count, bins);
    Real<T>* values = tile.reals(Real<T>{});
    load_column<T>(column, [row](std::size_t i) { return row + i; }, count, values);
    return search(tree, values, count, bins);
  });
}

bool map_interleaved(std::span<const Rule> rules, std::span<const ColumnView> columns,
                     std::size_t row, std::size_t count, Tile& tile) {
  return visit_type(columns.front().type, [&](auto zero) {
    using T = decltype(zero);
    Real<T>* values = tile.reals(Real<T>{});
    load_interleaved<T>(
        columns, [row](std::size_t i) { return row + i; }, count, values, Tile::kPitch);
    bool finite = true;
    for (std::size_t j = 0; j < columns.size(); ++j)
      finite &= search(std::get<SearchTree<Real<T>>>(rules[j]), values + j * Tile::kPitch, count,
                       tile.bins + j * Tile::kPitch);
    return finite;
  });
}

using Bytes = std::uint8_t __attribute__((vector_size(16)));

// Sixteen columns of sixteen bytes to sixteen rows: each round interleaves the first half of the
// vectors with the second, which rotates the 8-bit (vector, byte) address by one; four rounds swap
// its halves.
void transpose(Bytes (&block)[16]) {
  for (int round = 0; round < 4; ++round) {
    Bytes next[16];
    for (int i = 0; i < 8; ++i) {
      next[2 * i] =
          shuffle<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(block[i], block[i + 8]);
      next[2 * i + 1] = shuffle<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(
          block[i], block[i + 8]);
    }
    std::copy(std::begin(next), std::end(next), std::begin(block));
  }
}

// Writes the tile's bins as rows of `stride` bytes, padded with zeros.
void write_rows(const Tile& tile, std::size_t n_columns, std::size_t count, std::uint8_t* out,
                std::size_t stride) {
  for (std::size_t row = 0; row < count; row += 16)
    for (std::size_t first = 0; first < stride; first += 16) {
      Bytes block[16] = {};
      for (std::size_t j = first; j < std::min(first + 16, n_columns); ++j)
        std::memcpy(&block[j - first], tile.bins + j * Tile::kPitch + row, 16);
      transpose(block);
      const std::size_t bytes = std::min<std::size_t>(16, stride - first);
      std::uint8_t* at = out + row * stride + first;
      for (std::size_t i = 0; i < std::min<std::size_t>(16, count - row); ++i, at += stride)
        if (bytes == 16)
          std::memcpy(at, &block[i], 16);
        else
          std::memcpy(at, &block[i], bytes);
    }
}

// Calls task(tile, row, count) for every tile of rows.
template <class Task>
void for_each_tile(std::size_t n_rows, std::size_t n_features, int threads, const Task& task) {
  if (n_rows * n_features < kSmallWork) threads = 1;
  parallel_for(threads, (n_rows + kTaskRows - 1) / kTaskRows, [&](std::size_t t) {
    const auto tile = std::make_unique_for_overwrite<Tile>();
    const std::size_t end = std::min(n_rows, (t + 1) * kTaskRows);
    for (std::size_t row = t * kTaskRows; row < end; row += kTileRows)
      task(*tile, row, std::min(kTileRows, end - row));
  });
}

// Calls task(first, count, rows) for every block of columns, rows being its part of by_row.
template <class Task>
void for_each_block(const BinLayouts& out, std::size_t row, const Task& task) {
  for (std::size_t first = 0, block = 0; first < out.n_columns; first += out.width, ++block)
    task(first, std::min(out.width, out.n_columns - first),
         out.by_row ? out.by_row + (block * out.n_rows + row) * out.stride : nullptr);
}

bool map_block(std::span<const Rule> rules, std::span<const ColumnView> columns, std::size_t row,
               std::size_t count, Tile& tile) {
  if (interleaved(columns)) return map_interleaved(rules, columns, row, count, tile);
  bool finite = true;
  for (std::size_t j = 0; j < columns.size(); ++j)
    finite &= map_column(rules[j], columns[j], row, count, tile, tile.bins + j * Tile::kPitch);
  return finite;
}

// Maps the stored values of one feature, a tile at a time: calls write(first entry, count) for
// each.
template <class Write>
bool map_stored(const SparseView& table, std::span<const double> thresholds, std::size_t f,
                Tile& tile, const Write& write) {
  const ColumnView stored{table.values, static_cast<std::ptrdiff_t>(size_of(table.type)), nullptr,
                          0, table.type};
  const Rule rule = is_single(table.type) ? Rule(SearchTree<float>(thresholds))
                                          : Rule(SearchTree<double>(thresholds));
  bool finite = true;
  for (std::int64_t at = table.starts[f]; at < table.starts[f + 1]; at += kTileRows) {
    const std::int64_t count = std::min<std::int64_t>(kTileRows, table.starts[f + 1] - at);
    finite &= map_column(rule, stored, at, count, tile, tile.bins);
    write(at, count);
  }
  return finite;
}

// The same for all rows; those without a stored value have the bin of zero.
bool scatter_column(const SparseView& table, std::span<const double> thresholds, std::size_t f,
                    Tile& tile, std::uint8_t* bins) {
  const auto zero_bin = std::ranges::lower_bound(thresholds, 0.0) - thresholds.begin();
  std::memset(bins, static_cast<int>(zero_bin), table.n_rows);
  return map_stored(table, thresholds, f, tile, [&](std::int64_t at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) bins[table.row(at + i)] = tile.bins[i];
  });
}

std::vector<Place> own_columns(std::size_t n_features) {
  std::vector<Place> places;
  places.reserve(n_features);
  for (std::size_t f = 0; f < n_features; ++f) places.push_back({static_cast<std::int32_t>(f)});
  return places;
}

// Adds a feature's part of the codes of its column.
void add_codes(const Place& place, const std::uint8_t* bins, std::size_t count,
               std::uint8_t* codes) {
  const auto stride = static_cast<std::uint8_t>(place.is_joint() ? place.stride : 1);
  if (place.is_bundled()) {  // no row has another bin than that of zero in two of its features
    const auto zero = static_cast<std::uint8_t>(place.zero_bin);
    const auto first = static_cast<std::uint8_t>(place.first);
    for (std::size_t i = 0; i < count; ++i) {
      const auto code = static_cast<std::uint8_t>(first + bins[i] - (bins[i] > zero));
      codes[i] += static_cast<std::uint8_t>(bins[i] == zero ? 0 : code * stride);
    }
  } else if (place.is_joint()) {
    const auto last = static_cast<std::uint8_t>(place.radix - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t digit = bins[i] == kMissingBin ? last : bins[i];
      codes[i] += static_cast<std::uint8_t>(digit * stride);
    }
  } else {
    std::memcpy(codes, bins, count);
  }
}

}  // namespace

bool map_to_bins(std::span<const ColumnView> columns, const BinRules& rules, const BinLayouts& out,
                 RowStretch stretch, int threads) {
  std::vector<Rule> rule;
  rule.reserve(columns.size());
  for (std::size_t f = 0; f < columns.size(); ++f)
    rule.push_back(rule_for(rules, f, columns[f].type));
  const std::span<const Rule> all(rule);
  std::atomic<bool> finite = true;
  for_each_tile(
      stretch.count, out.n_features, threads, [&](Tile& tile, std::size_t row, std::size_t n) {
        const std::size_t out_row = stretch.first + row;
        for_each_block(out, out_row, [&](std::size_t first, std::size_t count, std::uint8_t* rows) {
          if (!map_block(all.subspan(first, count), columns.subspan(first, count), row, n, tile))
            finite.store(false, std::memory_order_relaxed);
          for (std::size_t j = 0; j < count; ++j)
            std::memcpy(out.by_column + (first + j) * out.n_rows + out_row,
                        tile.bins + j * Tile::kPitch, n);
          if (rows) write_rows(tile, count, n, rows, out.stride);
        });
      });
  return finite;
}

bool map_sparse_to_bins(const SparseView& table, const BinRules& rules, const BinLayouts& out,
                        int threads) {
  std::atomic<bool> finite = true;
  parallel_for(threads, out.n_features, [&](std::size_t f) {
    const auto tile = std::make_unique_for_overwrite<Tile>();
    if (!scatter_column(table, thresholds_of(rules, f), f, *tile, out.by_column + f * out.n_rows))
      finite.store(false, std::memory_order_relaxed);
  });
  if (out.by_row) interleave(out, own_columns(out.n_features), threads);
  return finite;
}

bool map_stored_to_bins(const SparseView& table, const BinRules& rules, std::uint8_t* bins,
                        int threads) {
  std::atomic<bool> finite = true;
  const std::size_t n_features = table.starts.size() - 1;
  const std::size_t n_tasks = (n_features + kTaskFeatures - 1) / kTaskFeatures;
  parallel_for(threads, n_tasks, [&](std::size_t task) {
    const auto tile = std::make_unique_for_overwrite<Tile>();
    const std::size_t end = std::min(n_features, (task + 1) * kTaskFeatures);
    for (std::size_t f = task * kTaskFeatures; f < end; ++f) {
      const auto write = [&](std::int64_t at, std::int64_t count) {
        std::memcpy(bins + at, tile->bins, static_cast<std::size_t>(count));
      };
      if (!map_stored(table, thresholds_of(rules, f), f, *tile, write))
        finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

void interleave(const BinLayouts& out, std::span<const Place> places, int threads) {
  const auto members = members_of(places, out.n_columns);
  for_each_tile(
      out.n_rows, out.n_columns, threads, [&](Tile& tile, std::size_t row, std::size_t n) {
        for_each_block(out, row, [&](std::size_t first, std::size_t count, std::uint8_t* rows) {
          for (std::size_t j = 0; j < count; ++j) {
            std::uint8_t* codes = tile.bins + j * Tile::kPitch;
            std::memset(codes, 0, n);
            for (const std::size_t f : members[first + j])
              add_codes(places[f], out.by_column + f * out.n_rows + row, n, codes);
          }
          write_rows(tile, count, n, rows, out.stride);
        });
      });
}

}  // namespace hedgerow
