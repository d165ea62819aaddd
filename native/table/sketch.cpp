#include "table/sketch.hpp"

#include <algorithm>
#include <cmath>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "shared/bins.hpp"
#include "table/presort.hpp"
#include "table/quantiles.hpp"

namespace hedgerow {
namespace {

// Capacities of a bin that are tried, in 32nds of the average: the last one always suffices.
constexpr std::uint64_t kCapacities[] = {33, 34, 36, 40, 48, 64};

// Cells of a column, of which the sums and the bins stay in the first-level cache: 16 in each of
// 255 bins.
constexpr std::size_t kCells = 4096;

// Hessians as integers, whose sums do not depend on their order: at most 2^32 - 1, of which 2^32
// rows have sums below 2^64.
std::vector<std::uint32_t> fixed_weights(std::span<const double> hessian) {
  double largest = 0.0;
  for (const double h : hessian) largest = std::max(largest, h);
  std::vector<std::uint32_t> weights(hessian.size(), 1);
  if (!(largest > 0.0) || !std::isfinite(largest)) return weights;
  int exponent = 0;
  std::frexp(largest, &exponent);  // below 2^exponent
  const double scale = std::ldexp(1.0, 32 - std::max(exponent, -900));
  for (std::size_t i = 0; i < hessian.size(); ++i) {
    weights[i] = static_cast<std::uint32_t>(std::max(hessian[i], 0.0) * scale);
  }
  return weights;
}

// A column sorted by value, without its missing values.
struct SortedColumn {
  std::span<const std::uint32_t> rows, rank;  // rows in order; ranks by row

  std::size_t size() const { return rows.size(); }
  std::uint32_t rank_at(std::size_t i) const { return rank[rows[i]]; }
  // Where the value at position i begins and ends; equal values are side by side.
  std::size_t begin_of(std::size_t i) const { return bound(i, rank_at(i)); }
  std::size_t end_of(std::size_t i) const { return bound(i, rank_at(i) + 1); }

 private:
  // The first position of a rank that is not below `least`, which is near i: few values are equal.
  std::size_t bound(std::size_t i, std::uint32_t least) const {
    std::size_t low = i, high = i, step = 1;
    while (low > 0 && rank_at(low - 1) >= least) low -= std::min(low, step), step *= 2;
    for (step = 1; high < size() && rank_at(high) < least; step *= 2) {
      high = std::min(high + step, size());
    }
    const auto is_below = [&](std::uint32_t row) { return rank[row] < least; };
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(high);
    return static_cast<std::size_t>(std::partition_point(begin, end, is_below) - rows.begin());
  }
};

// A column of cells, each of which counts as a value.
struct CellColumn {
  std::size_t n_cells;

  std::size_t size() const { return n_cells; }
  std::size_t begin_of(std::size_t i) const { return i; }
  std::size_t end_of(std::size_t i) const { return i + 1; }
};

// The ends of bins for a capacity, or none if there are more than `most` bins. below[i] is the
// weight of the positions before i.
template <class Column>
std::vector<std::size_t> ends_for(const Column& column, std::span<const std::uint64_t> below,
                                  std::uint64_t capacity, std::size_t most) {
  std::vector<std::size_t> ends;
  const std::size_t n = column.size();
  for (std::size_t begin = 0, width = 1; begin < n;) {
    if (ends.size() == most) return {};
    const std::uint64_t limit = below[begin] + capacity;
    // The bin ends near where it would be as wide as the last one: search from there.
    std::size_t low = begin, high = std::min(begin + width, n), step = 1;
    while (high < n && below[high] <= limit) {
      low = high;
      high = std::min(high + step, n);
      step *= 2;
    }
    const auto from = below.begin() + static_cast<std::ptrdiff_t>(low);
    const auto to = below.begin() + static_cast<std::ptrdiff_t>(high + 1);
    std::size_t end = static_cast<std::size_t>(std::upper_bound(from, to, limit) - from) + low - 1;
    if (end < n) end = column.begin_of(end);
    if (end <= begin) end = column.end_of(begin);  // one heavy value
    ends.push_back(end);
    width = end - begin;
    begin = end;
  }
  return ends;
}

// 1/32 of the weight of an average bin.
std::uint64_t share_of(std::uint64_t weight, std::size_t most) { return weight / (32 * most) + 1; }

// The ends of bins. Few values have a bin each.
template <class Column>
std::vector<std::size_t> bin_ends(const Column& column, std::span<const std::uint64_t> below,
                                  std::size_t n_values, std::size_t most) {
  std::vector<std::size_t> ends;
  if (n_values <= most) {
    for (std::size_t end = 0; end < column.size();) ends.push_back(end = column.end_of(end));
    return ends;
  }
  const std::uint64_t share = share_of(below[column.size()], most);
  for (const std::uint64_t capacity : kCapacities) {
    ends = ends_for(column, below, capacity * share, most);
    if (!ends.empty()) break;
  }
  return ends;
}

void keep_categories(std::span<const std::uint32_t> ranks, std::uint8_t* bins) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    bins[i] = static_cast<std::uint8_t>(std::min<std::uint32_t>(ranks[i], kMissingBin));
  }
}

SortedColumn sorted_column(const RankedColumns& columns, std::size_t feature) {
  const std::span<const std::uint32_t> order = columns.order_of(feature);
  const std::span<const std::uint32_t> rank = columns.ranks(feature);
  const auto has_value = [&](std::uint32_t row) { return rank[row] != kMissingRank; };
  const auto missing = std::partition_point(order.begin(), order.end(), has_value);
  return {order.first(static_cast<std::size_t>(missing - order.begin())), rank};
}

// Writes the code of each row, and returns the rank of the first value of each cell.
std::vector<std::uint32_t> divide_column(const RankedColumns& columns, std::size_t feature,
                                         std::uint16_t* code) {
  const SortedColumn column = sorted_column(columns, feature);
  const bool few_values = columns.values_of(feature).size() <= kCells;
  const std::size_t rows_of_cell = few_values ? 1 : column.size() / kCells + 1;
  std::vector<std::uint32_t> first;
  for (std::size_t i = 0, begin = 0; i < column.size(); ++i) {
    const std::uint32_t rank = column.rank_at(i);
    const bool is_next = i == 0 || rank != column.rank_at(i - 1);
    if (is_next && (i == 0 || i - begin >= rows_of_cell)) {
      first.push_back(rank);
      begin = i;
    }
    code[column.rows[i]] = static_cast<std::uint16_t>(first.size() - 1);
  }
  for (const std::uint32_t row : columns.order_of(feature).subspan(column.size())) {
    code[row] = static_cast<std::uint16_t>(first.size());
  }
  return first;
}

// Divides a column of cells into bins; false if a cell of several values is too heavy.
bool sketch_cells(const RankedColumns& columns, const ValueCells& cells, std::size_t feature,
                  std::span<const std::uint32_t> weights, std::size_t max_bins, std::uint8_t* bins,
                  std::vector<double>& thresholds) {
  const std::vector<std::uint32_t>& first = cells.first[feature];
  const std::uint16_t* code = cells.code.data() + feature * columns.n_rows;
  const std::span<const double> values = columns.values_of(feature);
  const std::size_t n_cells = first.size();
  std::vector<std::uint64_t> below(n_cells + 2);  // of missing values last, which are not used
  for (std::size_t i = 0; i < columns.n_rows; ++i) below[code[i] + std::size_t{1}] += weights[i];
  for (std::size_t c = 0; c < n_cells; ++c) below[c + 1] += below[c];
  const std::uint64_t most =
      kCapacities[std::size(kCapacities) - 1] * share_of(below[n_cells], max_bins);
  std::vector<std::uint8_t> bin_of(n_cells + 1, kMissingBin);
  std::size_t begin = 0;
  std::uint8_t bin = 0;
  for (const std::size_t end : bin_ends(CellColumn{n_cells}, below, values.size(), max_bins)) {
    const std::size_t past = end < n_cells ? first[end] : values.size();
    if (below[end] - below[begin] > most && past - first[begin] > 1) return false;
    if (begin > 0) {
      thresholds.push_back(threshold_between(values[first[begin] - 1], values[first[begin]]));
    }
    std::fill(bin_of.begin() + static_cast<std::ptrdiff_t>(begin),
              bin_of.begin() + static_cast<std::ptrdiff_t>(end), bin++);
    begin = end;
  }
  for (std::size_t i = 0; i < columns.n_rows; ++i) bins[i] = bin_of[code[i]];
  return true;
}

// `room` is working memory for one number more than there are rows.
std::vector<double> sketch_column(const RankedColumns& columns, std::size_t feature,
                                  std::span<const std::uint32_t> weights, std::size_t max_bins,
                                  std::span<std::uint64_t> room, std::uint8_t* bins) {
  const std::span<const std::uint32_t> order = columns.order_of(feature);
  const std::span<const double> values = columns.values_of(feature);
  const SortedColumn column = sorted_column(columns, feature);
  const std::span<std::uint64_t> below = room.first(column.size() + 1);
  below[0] = 0;
  for (std::size_t i = 0; i < column.size(); ++i) below[i + 1] = below[i] + weights[column.rows[i]];
  std::vector<double> thresholds;
  std::size_t begin = 0;
  std::uint8_t bin = 0;
  for (const std::size_t end : bin_ends(column, below, values.size(), max_bins)) {
    if (begin > 0) {
      const std::uint32_t first = column.rank_at(begin);
      thresholds.push_back(threshold_between(values[first - 1], values[first]));
    }
    for (; begin < end; ++begin) bins[order[begin]] = bin;
    ++bin;
  }
  for (; begin < order.size(); ++begin) bins[order[begin]] = kMissingBin;
  return thresholds;
}

}  // namespace

ValueCells divide_into_cells(const RankedColumns& columns, int threads) {
  ValueCells cells{std::vector<std::uint16_t>(columns.n_features * columns.n_rows), {}};
  cells.first.resize(columns.n_features);
  parallel_for(threads, columns.n_features, [&](std::size_t f) {
    if (columns.is_categorical[f]) return;
    cells.first[f] = divide_column(columns, f, cells.code.data() + f * columns.n_rows);
  });
  return cells;
}

std::vector<std::vector<double>> sketch_bins(const RankedColumns& columns, const ValueCells* cells,
                                             std::span<const double> hessian, int max_bins,
                                             std::uint8_t* bins, int threads) {
  const std::vector<std::uint32_t> weights = fixed_weights(hessian);
  const auto most = static_cast<std::size_t>(max_bins);
  std::vector<std::vector<double>> thresholds(columns.n_features);
  const std::size_t room_size = columns.n_rows + 1;
  Buffer<std::uint64_t> room(static_cast<std::size_t>(std::max(threads, 1)) * room_size);
  parallel_for(threads, columns.n_features, [&](std::size_t f, int slot) {
    std::uint8_t* of_feature = bins + f * columns.n_rows;
    if (columns.is_categorical[f]) return keep_categories(columns.ranks(f), of_feature);
    if (cells && sketch_cells(columns, *cells, f, weights, most, of_feature, thresholds[f])) return;
    thresholds[f] = sketch_column(
        columns, f, weights, most,
        {room.get() + static_cast<std::size_t>(slot) * room_size, room_size}, of_feature);
  });
  return thresholds;
}

}  // namespace hedgerow
