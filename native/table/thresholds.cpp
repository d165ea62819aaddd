#include "table/thresholds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "shared/random.hpp"
#include "table/bin_search.hpp"
#include "table/quantiles.hpp"

namespace hedgerow {
namespace {

// ---- the sample of rows

// The rows that quantiles are computed from: chosen by a hash of (seed, row), with integer weights.
struct Sample {
  std::size_t size = 0;
  std::size_t n_weighty = 0;           // rows with weight: those that could have been chosen
  std::vector<std::int64_t> rows;      // empty: every row
  std::vector<std::uint64_t> weights;  // one per sampled row; empty: all weights are 1

  std::size_t row(std::size_t i) const { return rows.empty() ? i : rows[i]; }
  std::uint64_t weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }
};

constexpr std::size_t kMaxSample = std::size_t{1} << 31;  // sorting counts in 32 bits

// Rows with their ranks.
struct RankedRows {
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> ranks;

  void append(const RankedRows& other) {
    rows.insert(rows.end(), other.rows.begin(), other.rows.end());
    ranks.insert(ranks.end(), other.ranks.begin(), other.ranks.end());
  }
};

constexpr std::size_t kRankedRows = std::size_t{1} << 17;  // that a task looks at

// The rows with weight whose rank is `bound` or less, in order.
RankedRows rows_up_to_rank(std::uint64_t bound, std::size_t n_rows, std::uint64_t seed,
                           std::span<const double> row_weight, int threads) {
  std::vector<RankedRows> parts((n_rows + kRankedRows - 1) / kRankedRows);
  parallel_for(threads, parts.size(), [&](std::size_t t) {
    const std::size_t end = std::min(n_rows, (t + 1) * kRankedRows);
    for (std::size_t row = t * kRankedRows; row < end; ++row) {
      const std::uint64_t rank = hash_u64(seed, Purpose::bin_sample, 0, row);
      if (rank > bound || (!row_weight.empty() && !(row_weight[row] > 0))) continue;
      parts[t].rows.push_back(static_cast<std::int64_t>(row));
      parts[t].ranks.push_back(rank);
    }
  });
  RankedRows all;
  for (const RankedRows& part : parts) all.append(part);
  return all;
}

// The `n_sampled` rows of smallest rank, in order, among the n_weighty rows with weight. Only ranks
// that are likely to be small enough are collected: six standard deviations more than needed, so
// that a second pass is almost never necessary.
std::vector<std::int64_t> rows_of_smallest_rank(std::size_t n_rows, std::size_t n_weighty,
                                                std::size_t n_sampled, std::uint64_t seed,
                                                std::span<const double> row_weight, int threads) {
  if (n_sampled == 0) return {};
  RankedRows found;
  for (double margin = 6; found.rows.size() < n_sampled; margin *= 4) {
    const double share = (n_sampled + margin * std::sqrt(n_sampled + 1.0)) / n_weighty;
    const std::uint64_t bound = share < 1 ? static_cast<std::uint64_t>(share * 0x1p64) : ~0ull;
    found = rows_up_to_rank(bound, n_rows, seed, row_weight, threads);
  }
  std::vector<std::uint64_t> order(found.ranks);
  std::ranges::nth_element(order, order.begin() + (n_sampled - 1));
  std::size_t n_kept = 0;
  for (std::size_t i = 0; i < found.rows.size(); ++i)
    if (found.ranks[i] <= order[n_sampled - 1]) found.rows[n_kept++] = found.rows[i];
  found.rows.resize(n_kept);
  return found.rows;
}

// Weights as integers, whose sums do not depend on the order. 2^62 bounds every sum, and tiny
// weights become 1.
std::vector<std::uint64_t> integer_weights(std::span<const double> row_weight,
                                           const Sample& sample) {
  double largest = 0;
  for (std::size_t i = 0; i < sample.size; ++i)
    largest = std::max(largest, row_weight[sample.row(i)]);
  const double scale =
      0x1p62 /
      static_cast<double>(std::bit_ceil(std::max<std::size_t>(sample.size, std::size_t{1} << 16)));
  std::vector<std::uint64_t> weights(sample.size);
  for (std::size_t i = 0; i < sample.size; ++i)
    weights[i] = static_cast<std::uint64_t>(
        std::max(1.0, std::floor(row_weight[sample.row(i)] / largest * scale)));
  return weights;
}

// At most `size` rows with weight: those with the smallest hashes. row_weight is empty (all weights
// are equal) or has a weight >= 0 for each row.
Sample choose_sample(std::size_t n_rows, std::span<const double> row_weight, std::size_t size,
                     std::uint64_t seed, int threads) {
  Sample sample;
  sample.n_weighty = n_rows;
  if (!row_weight.empty())
    sample.n_weighty = std::ranges::count_if(row_weight, [](double w) { return w > 0; });
  sample.size = std::min({sample.n_weighty, size, kMaxSample});
  if (sample.size < n_rows)
    sample.rows =
        rows_of_smallest_rank(n_rows, sample.n_weighty, sample.size, seed, row_weight, threads);
  if (!row_weight.empty()) sample.weights = integer_weights(row_weight, sample);
  return sample;
}

// ---- rare values, which a sample may miss: in a feature with few values each gets its own bin

// A small sorted set of values that stops growing once it is too large to be useful.
class FewValues {
 public:
  explicit FewValues(std::size_t max_size) : max_size_(max_size) {}

  bool too_many() const { return values_.size() > max_size_; }
  std::span<const double> values() const { return values_; }

  void insert(double value) {
    const auto at = std::ranges::lower_bound(values_, value);
    if (!too_many() && (at == values_.end() || *at != value)) values_.insert(at, value + 0.0);
  }

 private:
  std::size_t max_size_;
  std::vector<double> values_;
};

constexpr std::size_t kBlockColumns = 16;
constexpr std::size_t kTileRows = 256;
constexpr std::size_t kTaskRows = 16384;

// Recognises known values, many at a time. A search with the values as thresholds gives the only
// index at which x can be one of them; all other indices hold NaN, which equals nothing.
template <class Real>
class Recogniser {
 public:
  explicit Recogniser(std::span<const double> values) : tree_(values) {
    std::ranges::fill(value_, std::numeric_limits<Real>::quiet_NaN());
    for (std::size_t i = 0; i < values.size(); ++i) value_[i] = static_cast<Real>(values[i]);
  }

  // Calls visit(i) for each finite x[i] that is not a known value.
  template <class Visitor>
  void for_each_unknown(const Real* x, std::size_t count, Visitor&& visit) const {
    std::uint8_t place[kTileRows];
    search(tree_, x, count, place);
    unsigned any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= !(value_[place[i]] == x[i]);
    if (!any) return;
    for (std::size_t i = 0; i < count; ++i)
      if (!(value_[place[i]] == x[i]) && std::isfinite(x[i])) visit(i);
  }

 private:
  SearchTree<Real> tree_;
  Real value_[256];
};

using AnyRecogniser = std::variant<Recogniser<float>, Recogniser<double>>;

AnyRecogniser recogniser_of(ValueType type, const FewValues& values) {
  if (is_single(type)) return Recogniser<float>(values.values());
  return Recogniser<double>(values.values());
}

// Adds to `rare` the values in rows [begin, end) that the recognisers do not know.
void look_through(std::span<const ColumnView> columns, std::span<const AnyRecogniser> recognisers,
                  std::span<const double> row_weight, std::size_t begin, std::size_t end,
                  std::span<FewValues> rare) {
  const auto memory = std::make_unique_for_overwrite<double[]>(kBlockColumns * kTileRows);
  const Slots slots{reinterpret_cast<std::byte*>(memory.get()), kTileRows * sizeof(double)};
  for (std::size_t row = begin; row < end; row += kTileRows)
    for (std::size_t first = 0; first < columns.size(); first += kBlockColumns) {
      const std::size_t n_columns = std::min(kBlockColumns, columns.size() - first);
      const std::size_t n_rows = std::min(kTileRows, end - row);
      const auto row_at = [row](std::size_t i) { return row + i; };
      load_block(columns.subspan(first, n_columns), row_at, 0, n_rows, slots);
      for (std::size_t j = 0; j < n_columns; ++j)
        std::visit(
            [&]<class R>(const Recogniser<R>& recogniser) {
              const R* x = slots.column<R>(j);
              recogniser.for_each_unknown(x, n_rows, [&](std::size_t i) {
                if (row_weight.empty() || row_weight[row + i] > 0) rare[first + j].insert(x[i]);
              });
            },
            recognisers[first + j]);
    }
}

// Adds to values[j], which must not be too large yet, the other finite values of columns[j] in rows
// with weight (in any row if row_weight is empty).
void add_rare_values(std::span<const ColumnView> columns, std::size_t n_rows,
                     std::span<const double> row_weight, std::span<FewValues> values, int threads) {
  std::vector<AnyRecogniser> recognisers;
  recognisers.reserve(columns.size());
  for (std::size_t j = 0; j < columns.size(); ++j)
    recognisers.push_back(recogniser_of(columns[j].type, values[j]));
  const std::vector<FewValues> before(values.begin(), values.end());
  std::mutex merging;
  parallel_for(threads, (n_rows + kTaskRows - 1) / kTaskRows, [&](std::size_t t) {
    // A task adds to its own sets. If one of them grows too large, so does the union: the result
    // does not depend on the order of tasks.
    std::vector<FewValues> rare(before);
    look_through(columns, recognisers, row_weight, t * kTaskRows,
                 std::min(n_rows, (t + 1) * kTaskRows), rare);
    const std::scoped_lock lock(merging);
    for (std::size_t j = 0; j < columns.size(); ++j)
      for (const double value : rare[j].values()) values[j].insert(value);
  });
}

// ---- one feature

// The result for one feature: its thresholds and, if each distinct value of the sample has its own
// bin, those values.
struct Finding {
  std::vector<double> thresholds;
  std::optional<FewValues> few;
};

std::vector<double> thresholds_between(std::span<const double> values) {
  std::vector<double> thresholds;
  for (std::size_t i = 1; i < values.size(); ++i)
    thresholds.push_back(threshold_between(values[i - 1], values[i]));
  return thresholds;
}

constexpr std::size_t kGroupFrom = 65536;  // fewer items are sorted as quickly as grouped

// `scratch` has room for as many items.
template <class Item>
Finding find_in_items(Item* items, Item* scratch, std::size_t count, int max_bins) {
  if (count >= kGroupFrom) {
    const KeyGroups<Item> groups({items, count}, scratch, max_bins);
    if (groups.is_useful()) {
      std::swap(items, scratch);
      auto thresholds = quantile_thresholds<Item>(groups, {items, count}, scratch, max_bins);
      if (thresholds) return {std::move(*thresholds), {}};
    }
  }
  const Runs<Item> runs{{sort_items(items, scratch, count), count}};
  if (runs.count() > static_cast<std::size_t>(max_bins))
    return {quantile_thresholds(runs, max_bins), {}};
  FewValues few(max_bins);
  runs.for_each([&](std::size_t, auto key, std::uint64_t) { few.insert(value_of(key)); });
  return {thresholds_between(few.values()), few};
}

// The bytes that a thread needs to sort the values of a feature. They are allocated for all threads
// together: C libraries keep what a thread frees for that thread.
template <class R>
std::size_t bytes_to_sort(const Sample& sample) {
  using Key = decltype(key_of(R{}));
  return 2 * sample.size * (sample.weights.empty() ? sizeof(Plain<Key>) : sizeof(Weighted<Key>));
}

template <class R>
Finding find_in_values(const R* values, const Sample& sample, int max_bins, std::byte* room) {
  using Key = decltype(key_of(R{}));
  const auto collect = [&](auto make_item) {
    using Item = decltype(make_item(R{}, 0));
    auto* items = reinterpret_cast<Item*>(room);
    std::size_t count = 0;
    for (std::size_t i = 0; i < sample.size; ++i) {
      items[count] = make_item(values[i], i);
      count += std::isfinite(values[i]);
    }
    return find_in_items(items, items + sample.size, count, max_bins);
  };
  if (sample.weights.empty())
    return collect([](R x, std::size_t) { return Plain<Key>{key_of(x)}; });
  return collect([&](R x, std::size_t i) { return Weighted<Key>{key_of(x), sample.weights[i]}; });
}

// ---- dense columns

constexpr std::size_t kBatchColumns = 16;  // one cache line of a float32 row is gathered at once
constexpr std::size_t kGatherRows = 4096;
constexpr std::size_t kSmallWork = 32768;  // values sorted in the time it takes to wake a thread

// Memory for the values of a batch of columns, and for each thread to sort those of one. It is
// allocated once for all batches: first writes to fresh memory take as long as sorting.
struct BatchRoom {
  std::size_t pitch, room_to_sort;
  Buffer<std::byte> values, rooms;

  BatchRoom(std::span<const ColumnView> columns, const Sample& sample, int threads) {
    const bool single = std::ranges::all_of(columns, is_single, &ColumnView::type);
    const std::size_t n_columns = std::min(kBatchColumns, columns.size());
    pitch = sample.size * (single ? sizeof(float) : sizeof(double));
    room_to_sort = single ? bytes_to_sort<float>(sample) : bytes_to_sort<double>(sample);
    values = Buffer<std::byte>(n_columns * pitch);
    rooms = Buffer<std::byte>(std::min<std::size_t>(threads, n_columns) * room_to_sort);
  }
};

// Processes a batch of columns, one cache line of each sampled row.
void find_in_batch(std::span<const ColumnView> columns, const Sample& sample, int max_bins,
                   int threads, const BatchRoom& room, Finding* findings) {
  if (sample.size * columns.size() < kSmallWork) threads = 1;
  const Slots slots{room.values.get(), room.pitch};
  parallel_for(threads, (sample.size + kGatherRows - 1) / kGatherRows, [&](std::size_t t) {
    const std::size_t first = t * kGatherRows;
    load_block(
        columns, [&](std::size_t i) { return sample.row(i); }, first,
        std::min(sample.size, first + kGatherRows), slots);
  });
  threads = std::min(threads, static_cast<int>(columns.size()));
  parallel_for(threads, columns.size(), [&](std::size_t j, int slot) {
    const ValueType type = columns[j].type;
    std::byte* own = room.rooms.get() + static_cast<std::size_t>(slot) * room.room_to_sort;
    if (type != ValueType::category)
      findings[j] = is_single(type)
                        ? find_in_values(slots.column<float>(j), sample, max_bins, own)
                        : find_in_values(slots.column<double>(j), sample, max_bins, own);
  });
}

// Scans all rows for further values of features with few values.
void add_rare_values(std::span<const ColumnView> columns, std::size_t n_rows,
                     std::span<const double> row_weight, std::span<Finding> findings, int threads) {
  std::vector<std::size_t> features;
  std::vector<ColumnView> views;
  std::vector<FewValues> few;
  for (std::size_t f = 0; f < columns.size(); ++f) {
    if (!findings[f].few) continue;
    features.push_back(f);
    views.push_back(columns[f]);
    few.push_back(*findings[f].few);
  }
  add_rare_values(views, n_rows, row_weight, few, threads);
  for (std::size_t i = 0; i < features.size(); ++i)
    if (!few[i].too_many()) findings[features[i]].thresholds = thresholds_between(few[i].values());
}

// ---- sparse columns

// The index of each row in the sample, or -1.
std::vector<std::int32_t> positions(const Sample& sample, std::size_t n_rows) {
  std::vector<std::int32_t> position(n_rows, -1);
  for (std::size_t i = 0; i < sample.size; ++i)
    position[sample.row(i)] = static_cast<std::int32_t>(i);
  return position;
}

template <class T>
Finding find_in_stored(const SparseView& table, std::size_t f, const Sample& sample,
                       std::span<const std::int32_t> position, std::uint64_t total_weight,
                       int max_bins) {
  using Key = decltype(key_of(Real<T>{}));
  const std::int64_t start = table.starts[f], end = table.starts[f + 1];
  const auto items = std::make_unique_for_overwrite<Weighted<Key>[]>(end - start + 1);
  std::size_t count = 0;
  std::uint64_t zero_weight = total_weight;
  for (std::int64_t at = start; at < end; ++at) {
    const std::int32_t i = position[table.row(at)];
    if (i < 0) continue;
    zero_weight -= sample.weight(i);
    const Real<T> value = load<T>(table.values + at * sizeof(T));
    items[count] = {key_of(value), sample.weight(i)};
    count += std::isfinite(value);
  }
  if (zero_weight > 0) items[count++] = {key_of(Real<T>{0}), zero_weight};
  const auto scratch = std::make_unique_for_overwrite<Weighted<Key>[]>(count);
  return find_in_items(items.get(), scratch.get(), count, max_bins);
}

template <class T>
void add_rare_stored(const SparseView& table, std::size_t f, const Sample& sample,
                     std::span<const double> row_weight, Finding& finding) {
  FewValues& few = *finding.few;
  std::size_t n_stored = 0;
  for (std::int64_t at = table.starts[f]; at < table.starts[f + 1]; ++at) {
    if (!row_weight.empty() && !(row_weight[table.row(at)] > 0)) continue;
    ++n_stored;
    const double value = load<T>(table.values + at * sizeof(T));
    if (std::isfinite(value)) few.insert(value);
  }
  if (n_stored < sample.n_weighty) few.insert(0.0);
  if (!few.too_many()) finding.thresholds = thresholds_between(few.values());
}

std::vector<std::vector<double>> thresholds_of(std::vector<Finding> findings) {
  std::vector<std::vector<double>> thresholds;
  thresholds.reserve(findings.size());
  for (Finding& finding : findings) thresholds.push_back(std::move(finding.thresholds));
  return thresholds;
}

}  // namespace

std::vector<std::vector<double>> find_thresholds(std::span<const ColumnView> columns,
                                                 std::size_t n_rows,
                                                 std::span<const double> row_weight,
                                                 const ThresholdOptions& options, int threads) {
  const Sample sample =
      choose_sample(n_rows, row_weight, options.sample_size, options.seed, threads);
  std::vector<Finding> findings(columns.size());
  threads = std::max(1, threads);
  const BatchRoom room(columns, sample, threads);
  for (std::size_t first = 0; first < columns.size(); first += kBatchColumns)
    find_in_batch(columns.subspan(first, std::min(kBatchColumns, columns.size() - first)), sample,
                  options.max_bins, threads, room, &findings[first]);
  if (sample.size < sample.n_weighty)
    add_rare_values(columns, n_rows, row_weight, findings, threads);
  return thresholds_of(std::move(findings));
}

std::vector<std::vector<double>> find_sparse_thresholds(const SparseView& table,
                                                        std::span<const double> row_weight,
                                                        const ThresholdOptions& options,
                                                        int threads) {
  const Sample sample =
      choose_sample(table.n_rows, row_weight, options.sample_size, options.seed, threads);
  const std::vector<std::int32_t> position = positions(sample, table.n_rows);
  std::uint64_t total_weight = 0;
  for (std::size_t i = 0; i < sample.size; ++i) total_weight += sample.weight(i);
  std::vector<Finding> findings(table.starts.size() - 1);
  parallel_for(threads, findings.size(), [&](std::size_t f) {
    visit_type(table.type, [&](auto zero) {
      using T = decltype(zero);
      findings[f] = find_in_stored<T>(table, f, sample, position, total_weight, options.max_bins);
      if (findings[f].few && sample.size < sample.n_weighty)
        add_rare_stored<T>(table, f, sample, row_weight, findings[f]);
    });
  });
  return thresholds_of(std::move(findings));
}

}  // namespace hedgerow
