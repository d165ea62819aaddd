#include "thresholds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "random.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t max_sample = std::size_t{1} << 31;  // radix sort counts in 32 bits
constexpr std::size_t batch_columns = 16;  // one cache line of a float32 row is gathered at once
constexpr std::size_t gather_rows = 4096;
constexpr std::size_t small_work = 32768;  // values sorted in the time it takes to wake a thread

// ---- the sample of rows

struct Sample {
  std::size_t size = 0;
  std::vector<std::int64_t> rows;      // empty: every row
  std::vector<std::uint64_t> weights;  // one a sampled row; empty: every weight is one

  std::size_t row(std::size_t i) const { return rows.empty() ? i : rows[i]; }
  std::uint64_t weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }
};

// The `wanted` rows of smallest rank, in order, among the n_weighty that weigh something. Only
// ranks that are likely to be small enough are kept while looking: six standard deviations more of
// them than wanted, so that a second look is next to never needed.
std::vector<std::int64_t> rows_of_smallest_rank(std::size_t n_rows, std::size_t n_weighty,
                                                std::size_t wanted, std::uint64_t seed,
                                                std::span<const double> row_weight) {
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> ranks;
  for (double margin = 6;; margin *= 4) {
    const double share = (wanted + margin * std::sqrt(wanted + 1.0)) / n_weighty;
    const std::uint64_t bound = share < 1 ? static_cast<std::uint64_t>(share * 0x1p64) : ~0ull;
    rows.clear();
    ranks.clear();
    for (std::size_t row = 0; row < n_rows; ++row) {
      const std::uint64_t rank = hash_u64(seed, Purpose::bin_sample, 0, row);
      if (rank > bound || (!row_weight.empty() && !(row_weight[row] > 0))) continue;
      rows.push_back(static_cast<std::int64_t>(row));
      ranks.push_back(rank);
    }
    if (ranks.size() >= wanted) break;
  }
  if (wanted == 0) return {};
  std::vector<std::uint64_t> order(ranks);
  std::ranges::nth_element(order, order.begin() + (wanted - 1));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (ranks[i] <= order[wanted - 1]) rows[kept++] = rows[i];
  rows.resize(kept);
  return rows;
}

// Weights as integers, so that a sum of them is the same in any order. 2^62 bounds every sum, and a
// weight too small to register still counts as one.
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

Sample choose_sample(std::size_t n_rows, std::span<const double> row_weight,
                     const ThresholdOptions& options) {
  std::size_t n_weighty = n_rows;
  if (!row_weight.empty())
    n_weighty = std::ranges::count_if(row_weight, [](double w) { return w > 0; });
  Sample sample;
  sample.size = std::min({n_weighty, options.sample_size, max_sample});
  if (sample.size < n_rows)
    sample.rows = rows_of_smallest_rank(n_rows, n_weighty, sample.size, options.seed, row_weight);
  if (!row_weight.empty()) sample.weights = integer_weights(row_weight, sample);
  return sample;
}

// ---- sorting

// A real number as an unsigned integer of the same order; both zeros become one.
template <class Real>
auto key_of(Real value) {
  using Key = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  const Key bits = std::bit_cast<Key>(value + Real{0});
  return bits & sign ? static_cast<Key>(~bits) : static_cast<Key>(bits | sign);
}

double value_of(std::uint32_t key) {
  constexpr std::uint32_t sign = 1u << 31;
  return std::bit_cast<float>(key & sign ? key ^ sign : ~key);
}
double value_of(std::uint64_t key) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  return std::bit_cast<double>(key & sign ? key ^ sign : ~key);
}

// What is sorted: a key alone where every row weighs the same, else a key and its weight.
template <class Key>
struct Plain {
  Key key;
  std::uint64_t weight() const { return 1; }
};
template <class Key>
struct Weighted {
  Key key;
  std::uint64_t own_weight;
  std::uint64_t weight() const { return own_weight; }
};

// Sorts by key, a byte at a time from the lowest, with as much scratch space as there are items;
// the result is in one of the two. (Digits of 11 bits took as long, sample sizes 10^3 to 2 * 10^5.)
template <class Item>
Item* sort_items(Item* items, Item* scratch, std::size_t count) {
  constexpr std::size_t n_digits = sizeof(items->key);
  const auto digit_of = [](const Item& item, std::size_t digit) {
    return static_cast<std::uint8_t>(item.key >> (8 * digit));
  };
  std::uint32_t counts[n_digits][256] = {};
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t digit = 0; digit < n_digits; ++digit)
      ++counts[digit][digit_of(items[i], digit)];
  for (std::size_t digit = 0; digit < n_digits && count > 0; ++digit) {
    std::uint32_t (&at)[256] = counts[digit];
    if (at[digit_of(items[0], digit)] == count) continue;  // all alike in this digit
    std::exclusive_scan(std::begin(at), std::end(at), std::begin(at), 0u);
    for (std::size_t i = 0; i < count; ++i) scratch[at[digit_of(items[i], digit)]++] = items[i];
    std::swap(items, scratch);
  }
  return items;
}

// ---- from sorted values to thresholds

// The distinct values among sorted items, each a run of equal keys.
template <class Item>
struct Runs {
  std::span<const Item> sorted;

  std::size_t count() const {
    std::size_t n = !sorted.empty();
    for (std::size_t i = 1; i < sorted.size(); ++i) n += sorted[i].key != sorted[i - 1].key;
    return n;
  }

  // Calls visit(index, key, weight) for each distinct value in order.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (std::size_t i = 0, index = 0; i < sorted.size(); ++index) {
      const auto key = sorted[i].key;
      std::uint64_t weight = sorted[i].weight();
      while (++i < sorted.size() && sorted[i].key == key) weight += sorted[i].weight();
      visit(index, key, weight);
    }
  }
};

// Deals distinct values out to bins of nearly equal weight. A value that weighs as much as an
// average bin gets a bin of its own, and the others share the bins that are left.
template <class Item>
class Quantiles {
 public:
  Quantiles(const Runs<Item>& runs, int max_bins) : runs_(runs), light_bins_(max_bins) {
    for (const Item& item : runs.sorted) light_weight_ += item.weight();
    while (set_heavy_values_apart()) {
    }
    set_target();
  }

  std::vector<double> thresholds() && {
    auto heavy = heavy_.begin();
    runs_.for_each([&](std::size_t index, auto key, std::uint64_t weight) {
      const bool is_heavy = heavy != heavy_.end() && *heavy == index;
      heavy += is_heavy;
      const double value = value_of(key);
      if (is_heavy)
        place_heavy(value);
      else
        place_light(value, weight);
      last_value_ = value;
    });
    return std::move(thresholds_);
  }

 private:
  // One bin less for each value found changes the average, so others may be found next time.
  bool set_heavy_values_apart() {
    set_target();
    const std::size_t n_known = heavy_.size();
    std::size_t known = 0;
    runs_.for_each([&](std::size_t index, auto, std::uint64_t weight) {
      if (known < n_known && heavy_[known] == index) {
        ++known;
      } else if (weight >= target_) {
        heavy_.push_back(index);
        light_weight_ -= weight;
        --light_bins_;
      }
    });
    std::inplace_merge(heavy_.begin(), heavy_.begin() + n_known, heavy_.end());
    return heavy_.size() > n_known;
  }

  void place_heavy(double value) {
    // Few light values below a heavy one are not worth a bin: they join it.
    const bool enough = 2 * open_weight_ >= target_;
    if (open_weight_ > 0 && enough && may_close())
      close_light_bin();
    else
      light_weight_ -= std::exchange(open_weight_, 0);
    set_target();
    cut_if_closed(value);
    closed_ = true;
  }

  void place_light(double value, std::uint64_t weight) {
    const bool nearer_without = 2 * open_weight_ + weight > twice_target_;
    if (open_weight_ > 0 && nearer_without && may_close()) close_light_bin();
    cut_if_closed(value);
    open_weight_ += weight;
    if (open_weight_ >= target_ && may_close()) close_light_bin();
  }

  // The last bin takes whatever is left.
  bool may_close() const { return light_bins_ > 1 || open_weight_ == light_weight_; }

  void close_light_bin() {
    closed_ = true;
    light_weight_ -= std::exchange(open_weight_, 0);
    --light_bins_;
    set_target();
  }

  void cut_if_closed(double value) {
    if (std::exchange(closed_, false)) thresholds_.push_back(threshold_between(last_value_, value));
  }

  // Weights are integers, so comparing with the average rounded loses nothing.
  void set_target() {
    const std::uint64_t bins = std::max(light_bins_, 1);
    target_ = (light_weight_ + bins - 1) / bins;
    twice_target_ = 2 * light_weight_ / bins;
  }

  Runs<Item> runs_;
  std::vector<std::size_t> heavy_;  // indices of the heavy values, increasing
  int light_bins_;                  // bins not yet given away
  std::uint64_t light_weight_ = 0;  // weight of the light values not yet in a closed bin
  std::uint64_t open_weight_ = 0;   // of those, in the open bin
  std::uint64_t target_ = 0;        // weight of an average light bin, rounded up
  std::uint64_t twice_target_ = 0;  // twice that weight, rounded down
  double last_value_ = 0;           // the value placed last
  bool closed_ = false;             // its bin ends with it
  std::vector<double> thresholds_;
};

template <class Item>
std::vector<double> thresholds_between(const Runs<Item>& runs, int max_bins) {
  if (runs.count() > static_cast<std::size_t>(max_bins))
    return Quantiles<Item>(runs, max_bins).thresholds();
  std::vector<double> thresholds;
  double last_value = 0;
  runs.for_each([&](std::size_t index, auto key, std::uint64_t) {
    if (index > 0) thresholds.push_back(threshold_between(last_value, value_of(key)));
    last_value = value_of(key);
  });
  return thresholds;
}

// ---- one feature

template <class Item>
std::vector<double> thresholds_of_items(Item* items, std::size_t count, int max_bins) {
  const auto scratch = std::make_unique_for_overwrite<Item[]>(count);
  const Item* sorted = sort_items(items, scratch.get(), count);
  return thresholds_between(Runs<Item>{{sorted, count}}, max_bins);
}

template <class Real>
std::vector<double> thresholds_of_values(const Real* values, const Sample& sample, int max_bins) {
  using Key = decltype(key_of(Real{}));
  const auto collect = [&](auto make_item) {
    using Item = decltype(make_item(Real{}, 0));
    const auto items = std::make_unique_for_overwrite<Item[]>(sample.size);
    std::size_t count = 0;
    for (std::size_t i = 0; i < sample.size; ++i) {
      items[count] = make_item(values[i], i);
      count += std::isfinite(values[i]);
    }
    return thresholds_of_items(items.get(), count, max_bins);
  };
  if (sample.weights.empty())
    return collect([](Real x, std::size_t) { return Plain<Key>{key_of(x)}; });
  return collect(
      [&](Real x, std::size_t i) { return Weighted<Key>{key_of(x), sample.weights[i]}; });
}

// ---- batches of columns

// Room for the sampled values of a batch of columns, each column float or double.
class Batch {
 public:
  Batch(std::span<const ColumnView> columns, const Sample& sample)
      : columns_(columns), sample_(sample), start_(columns.size() + 1) {
    for (std::size_t j = 0; j < columns.size(); ++j)
      start_[j + 1] = start_[j] + sample.size * bytes_of(columns[j].type);
    values_ = std::make_unique_for_overwrite<double[]>(start_.back() / sizeof(double) + 1);
  }

  void gather(std::size_t first, std::size_t count) {
    const auto row_at = [&](std::size_t i) { return sample_.row(first + i); };
    if (interleaved(columns_)) {
      visit_type(columns_.front().type, [&](auto zero) {
        using T = decltype(zero);
        load_interleaved<T>(columns_, row_at, count, values<Real<T>>(0) + first, sample_.size);
      });
      return;
    }
    for (std::size_t j = 0; j < columns_.size(); ++j)
      if (columns_[j].type != ValueType::category)
        visit_type(columns_[j].type, [&](auto zero) {
          using T = decltype(zero);
          load_column<T>(columns_[j], row_at, count, values<Real<T>>(j) + first);
        });
  }

  std::vector<double> thresholds(std::size_t j, int max_bins) {
    if (columns_[j].type == ValueType::category) return {};
    if (is_single(columns_[j].type))
      return thresholds_of_values(values<float>(j), sample_, max_bins);
    return thresholds_of_values(values<double>(j), sample_, max_bins);
  }

 private:
  static std::size_t bytes_of(ValueType type) {
    if (type == ValueType::category) return 0;
    return is_single(type) ? sizeof(float) : sizeof(double);
  }

  template <class Real>
  Real* values(std::size_t j) {
    return reinterpret_cast<Real*>(reinterpret_cast<std::byte*>(values_.get()) + start_[j]);
  }

  std::span<const ColumnView> columns_;
  const Sample& sample_;
  std::vector<std::size_t> start_;  // in bytes
  std::unique_ptr<double[]> values_;
};

// ---- sparse columns

// Where each row stands in the sample, or -1.
std::vector<std::int32_t> positions(const Sample& sample, std::size_t n_rows) {
  std::vector<std::int32_t> position(n_rows, -1);
  for (std::size_t i = 0; i < sample.size; ++i)
    position[sample.row(i)] = static_cast<std::int32_t>(i);
  return position;
}

template <class T>
std::vector<double> sparse_feature(const SparseView& table, std::size_t f, const Sample& sample,
                                   std::span<const std::int32_t> position,
                                   std::uint64_t total_weight, int max_bins) {
  using Key = decltype(key_of(Real<T>{}));
  const std::int64_t start = table.starts[f], end = table.starts[f + 1];
  auto items = std::make_unique_for_overwrite<Weighted<Key>[]>(end - start + 1);
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
  return thresholds_of_items(items.get(), count, max_bins);
}

}  // namespace

double threshold_between(double lower, double upper) {
  const double sum = lower + upper;
  const double middle = std::isfinite(sum) ? sum * 0.5 : lower * 0.5 + upper * 0.5;
  return lower <= middle && middle < upper ? middle : lower;
}

std::vector<std::vector<double>> find_thresholds(std::span<const ColumnView> columns,
                                                 std::size_t n_rows,
                                                 std::span<const double> row_weight,
                                                 const ThresholdOptions& options, int threads) {
  const Sample sample = choose_sample(n_rows, row_weight, options);
  std::vector<std::vector<double>> thresholds(columns.size());
  for (std::size_t first = 0; first < columns.size(); first += batch_columns) {
    const std::size_t count = std::min(batch_columns, columns.size() - first);
    const int useful_threads = sample.size * count < small_work ? 1 : threads;
    Batch batch(columns.subspan(first, count), sample);
    parallel_for(useful_threads, (sample.size + gather_rows - 1) / gather_rows, [&](std::size_t t) {
      batch.gather(t * gather_rows, std::min(gather_rows, sample.size - t * gather_rows));
    });
    parallel_for(useful_threads, count, [&](std::size_t j) {
      thresholds[first + j] = batch.thresholds(j, options.max_bins);
    });
  }
  return thresholds;
}

std::vector<std::vector<double>> find_sparse_thresholds(const SparseView& table,
                                                        std::span<const double> row_weight,
                                                        const ThresholdOptions& options,
                                                        int threads) {
  const Sample sample = choose_sample(table.n_rows, row_weight, options);
  const std::vector<std::int32_t> position = positions(sample, table.n_rows);
  std::uint64_t total_weight = 0;
  for (std::size_t i = 0; i < sample.size; ++i) total_weight += sample.weight(i);
  std::vector<std::vector<double>> thresholds(table.starts.size() - 1);
  parallel_for(threads, thresholds.size(), [&](std::size_t f) {
    thresholds[f] = visit_type(table.type, [&](auto zero) {
      return sparse_feature<decltype(zero)>(table, f, sample, position, total_weight,
                                            options.max_bins);
    });
  });
  return thresholds;
}

}  // namespace hedgerow
