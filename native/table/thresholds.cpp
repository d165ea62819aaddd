#include "table/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "core/threads.hpp"
#include "table/quantiles.hpp"
#include "table/rare_values.hpp"
#include "table/row_sample.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kBatchColumns = 16;  // one cache line of a float32 row is gathered at once
constexpr std::size_t kGatherRows = 4096;
constexpr std::size_t kSmallWork = 32768;  // values sorted in the time it takes to wake a thread

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

template <class Item>
Finding find_in_items(Item* items, std::size_t count, int max_bins) {
  const auto scratch = std::make_unique_for_overwrite<Item[]>(count);
  const Runs<Item> runs{{sort_items(items, scratch.get(), count), count}};
  if (runs.count() > static_cast<std::size_t>(max_bins))
    return {Quantiles<Item>(runs, max_bins).thresholds(), {}};
  FewValues few(max_bins);
  runs.for_each([&](std::size_t, auto key, std::uint64_t) { few.insert(value_of(key)); });
  return {thresholds_between(few.values()), few};
}

template <class R>
Finding find_in_values(const R* values, const Sample& sample, int max_bins) {
  using Key = decltype(key_of(R{}));
  const auto collect = [&](auto make_item) {
    using Item = decltype(make_item(R{}, 0));
    const auto items = std::make_unique_for_overwrite<Item[]>(sample.size);
    std::size_t count = 0;
    for (std::size_t i = 0; i < sample.size; ++i) {
      items[count] = make_item(values[i], i);
      count += std::isfinite(values[i]);
    }
    return find_in_items(items.get(), count, max_bins);
  };
  if (sample.weights.empty())
    return collect([](R x, std::size_t) { return Plain<Key>{key_of(x)}; });
  return collect([&](R x, std::size_t i) { return Weighted<Key>{key_of(x), sample.weights[i]}; });
}

// ---- dense columns

// Processes a batch of columns, one cache line of each sampled row.
void find_in_batch(std::span<const ColumnView> columns, const Sample& sample, int max_bins,
                   int threads, Finding* findings) {
  if (sample.size * columns.size() < kSmallWork) threads = 1;
  const bool single = std::ranges::all_of(columns, is_single, &ColumnView::type);
  const std::size_t pitch = sample.size * (single ? sizeof(float) : sizeof(double));
  const auto memory =
      std::make_unique_for_overwrite<double[]>(columns.size() * pitch / sizeof(double) + 1);
  const Slots slots{reinterpret_cast<std::byte*>(memory.get()), pitch};
  parallel_for(threads, (sample.size + kGatherRows - 1) / kGatherRows, [&](std::size_t t) {
    const std::size_t first = t * kGatherRows;
    load_block(
        columns, [&](std::size_t i) { return sample.row(i); }, first,
        std::min(sample.size, first + kGatherRows), slots);
  });
  parallel_for(threads, columns.size(), [&](std::size_t j) {
    const ValueType type = columns[j].type;
    if (type != ValueType::category)
      findings[j] = is_single(type) ? find_in_values(slots.column<float>(j), sample, max_bins)
                                    : find_in_values(slots.column<double>(j), sample, max_bins);
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
  return find_in_items(items.get(), count, max_bins);
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
  const Sample sample = choose_sample(n_rows, row_weight, options.sample_size, options.seed);
  std::vector<Finding> findings(columns.size());
  for (std::size_t first = 0; first < columns.size(); first += kBatchColumns)
    find_in_batch(columns.subspan(first, std::min(kBatchColumns, columns.size() - first)), sample,
                  options.max_bins, threads, &findings[first]);
  if (sample.size < sample.n_weighty)
    add_rare_values(columns, n_rows, row_weight, findings, threads);
  return thresholds_of(std::move(findings));
}

std::vector<std::vector<double>> find_sparse_thresholds(const SparseView& table,
                                                        std::span<const double> row_weight,
                                                        const ThresholdOptions& options,
                                                        int threads) {
  const Sample sample = choose_sample(table.n_rows, row_weight, options.sample_size, options.seed);
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
