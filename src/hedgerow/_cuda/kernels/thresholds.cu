// Thresholds of numeric features from sorted samples. Mirrors native/table/thresholds.cpp and
// quantiles.hpp, for rows of equal weight.
//
// The CPU passes over all values in order. Here one thread deals a feature, and it jumps from bin
// to bin: the weight of neighbouring values is the distance between them in the sorted sample.
#include "shared/random.hpp"
#include "shared/sort_keys.hpp"
#include "state.hpp"

namespace hedgerow::cuda {

// The rank of each row, by which the sample is chosen.
extern "C" __global__ void rank_rows(uint64_t seed, uint64_t n_rows, uint64_t* ranks) {
  const uint64_t key = hash_key(seed, Purpose::bin_sample, 0);
  for (size_t row = thread_index(); row < n_rows; row += n_threads())
    ranks[row] = hash_at(key, row);
}

// Keys of missing and infinite values, behind those of all numbers.
template <class Key>
constexpr Key kNoNumber = static_cast<Key>(~Key{0});

// The keys of sampled rows, by column. Threads take rows, blocks groups of columns.
template <class Real, class Key>
inline void copy_keys(const Real* numbers, int64_t row_stride, int64_t column_stride,
                      const int64_t* rows, size_t n_sampled, int n_columns, Key* keys) {
  const int first = blockIdx.y * kGroupColumns, end = min(first + kGroupColumns, n_columns);
  for (size_t i = thread_index(); i < n_sampled; i += n_threads()) {
    const Real* row = numbers + (rows ? rows[i] : static_cast<int64_t>(i)) * row_stride;
    for (int column = first; column < end; ++column) {
      const Real x = row[column * column_stride];
      keys[column * n_sampled + i] = isfinite(x) ? key_of(x) : kNoNumber<Key>;
    }
  }
}

extern "C" __global__ void float_keys(const float* numbers, int64_t row_stride,
                                      int64_t column_stride, const int64_t* rows,
                                      uint64_t n_sampled, int32_t n_columns, uint32_t* keys) {
  copy_keys(numbers, row_stride, column_stride, rows, n_sampled, n_columns, keys);
}

extern "C" __global__ void double_keys(const double* numbers, int64_t row_stride,
                                       int64_t column_stride, const int64_t* rows,
                                       uint64_t n_sampled, int32_t n_columns, uint64_t* keys) {
  copy_keys(numbers, row_stride, column_stride, rows, n_sampled, n_columns, keys);
}

// ---- One feature --------------------------------------------------------------------------------

// Equal values: where they begin and end in the sorted sample.
struct Run {
  int64_t begin, end;
  int64_t weight() const { return end - begin; }
};

// The sorted values of a feature.
template <class Key>
struct SortedValues {
  const Key* keys;
  int64_t n;

  double value(int64_t at) const { return value_of(keys[at]); }

  // The run of the value at a place.
  Run run(int64_t at) const {
    const Key key = keys[at];
    int64_t begin = at, end = at + 1;
    if (begin > 0 && keys[begin - 1] == key) begin = first([&](Key other) { return other >= key; });
    if (end < n && keys[end] == key) end = first([&](Key other) { return other > key; });
    return {begin, end};
  }

  // The first place whose key is beyond a bound.
  template <class Beyond>
  int64_t first(Beyond is_beyond) const {
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (is_beyond(keys[middle])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

constexpr int kMostHeavy = 256;  // as many as bins, at most

// Divides sorted values into bins of nearly equal weight, by the rule of table/quantiles.hpp. One
// thread.
template <class Key>
struct QuantileDealer {
  SortedValues<Key> values;
  int light_bins;
  Run* heavy;      // values with a bin of their own, in order
  Run* new_heavy;  // room for as many
  double* thresholds;
  int n_heavy = 0, n_thresholds = 0;
  int64_t light_weight = 0, open_weight = 0, target = 0, twice_target = 0;
  double last_value = 0.0;
  bool closed = false;

  void deal() {
    light_weight = values.n;
    while (set_heavy_values_apart()) {
    }
    set_target();
    int64_t at = 0;
    for (int i = 0; i <= n_heavy; ++i) {
      const int64_t end = i < n_heavy ? heavy[i].begin : values.n;
      while (at < end) at = place_next(at, end);
      if (i == n_heavy) break;
      place_heavy(values.value(at));
      at = heavy[i].end;
      last_value = values.value(at - 1);
    }
  }

  void set_target() {
    const int64_t bins = light_bins > 1 ? light_bins : 1;
    target = (light_weight + bins - 1) / bins;
    twice_target = 2 * light_weight / bins;
  }

  // Among the light values a run of the target's length has one of every `target` places.
  bool set_heavy_values_apart() {
    set_target();
    const int64_t least = target > 0 ? target : 1;
    int n = 0;
    int64_t begin = 0;
    const int n_known = n_heavy;
    for (int i = 0; i <= n_known; ++i) {
      const int64_t end = i < n_known ? heavy[i].begin : values.n;
      for (int64_t at = begin + least - 1; at < end; at += least) {
        const Run run = values.run(at);
        if (run.weight() < least || (n > 0 && new_heavy[n - 1].begin == run.begin)) continue;
        new_heavy[n++] = run;
        light_weight -= run.weight();
        --light_bins;
      }
      if (i == n_known) break;
      new_heavy[n++] = heavy[i];
      begin = heavy[i].end;
    }
    Run* const old = heavy;
    heavy = new_heavy;
    new_heavy = old;
    n_heavy = n;
    return n > n_known;
  }

  // Places light values from `at` up to the next that ends a bin, but not beyond `end`; returns
  // where the next begin.
  int64_t place_next(int64_t at, int64_t end) {
    int64_t next = at;
    if (open_weight > 0) {
      next = light_bins > 1 ? next_cut(at, end) : values.run(end - 1).begin;
      open_weight += next - at;
      if (next > at) last_value = values.value(next - 1);
      if (next == end) return end;
    }
    const Run run = values.run(next);
    place_light(values.value(next), run.weight());
    last_value = values.value(next);
    return run.end;
  }

  // The first run from `at` on that closes the bin, before it or with it; `end` if there is none.
  int64_t next_cut(int64_t at, int64_t end) const {
    // The open weight is `place + shift` before the value at a place.
    const int64_t shift = open_weight - at;
    const int64_t fills = at_least(target - shift - 1, at);
    const int64_t half = at_least((twice_target - 2 * shift) / 2, at);
    int64_t next = end;
    if (fills < end) next = values.run(fills).begin;
    if (half < end) {
      Run nearer = values.run(half);
      if (nearer.begin + nearer.end <= twice_target - 2 * shift) nearer.begin = nearer.end;
      next = nearer.begin < next ? nearer.begin : next;
    }
    return next < at ? at : next;
  }
  static int64_t at_least(int64_t place, int64_t least) { return place < least ? least : place; }

  void place_light(double value, int64_t weight) {
    const bool nearer_without = 2 * open_weight + weight > twice_target;
    if (open_weight > 0 && nearer_without && may_close()) close_light_bin();
    cut_if_closed(value);
    open_weight += weight;
    if (open_weight >= target && may_close()) close_light_bin();
  }

  void place_heavy(double value) {
    const bool enough = 2 * open_weight >= target;
    if (open_weight > 0 && enough && may_close()) {
      close_light_bin();
    } else {
      light_weight -= open_weight;
      open_weight = 0;
    }
    set_target();
    cut_if_closed(value);
    closed = true;
  }

  bool may_close() const { return light_bins > 1 || open_weight == light_weight; }

  void close_light_bin() {
    closed = true;
    light_weight -= open_weight;
    open_weight = 0;
    --light_bins;
    set_target();
  }

  void cut_if_closed(double value) {
    if (!closed) return;
    closed = false;
    thresholds[n_thresholds++] = threshold_between(last_value, value);
  }
};

// The thresholds of feature blockIdx.x, or −1 as their number if it has few values: then rare ones
// in other rows count, too.
template <class Key>
inline void deal_column(const Key* keys, size_t n_sampled, int max_bins, double* thresholds,
                        int32_t* counts) {
  __shared__ uint32_t n_runs;
  __shared__ Run heavy[2][kMostHeavy];
  SortedValues<Key> values = {keys + blockIdx.x * n_sampled, static_cast<int64_t>(n_sampled)};
  values.n = values.first([](Key key) { return key == kNoNumber<Key>; });
  if (threadIdx.x == 0) n_runs = 0;
  __syncthreads();
  uint32_t own = 0;
  for (int64_t i = threadIdx.x; i < values.n; i += blockDim.x) {
    own += i == 0 || values.keys[i] != values.keys[i - 1];
  }
  atomic_add(&n_runs, own);
  __syncthreads();
  if (threadIdx.x > 0) return;
  if (n_runs <= static_cast<uint32_t>(max_bins)) {
    counts[blockIdx.x] = -1;
    return;
  }
  QuantileDealer<Key> dealer = {values, max_bins, heavy[0], heavy[1],
                                thresholds + size_t(blockIdx.x) * kBins};
  dealer.deal();
  counts[blockIdx.x] = dealer.n_thresholds;
}

extern "C" __global__ void deal_floats(const uint32_t* keys, uint64_t n_sampled, int32_t max_bins,
                                       double* thresholds, int32_t* counts) {
  deal_column(keys, n_sampled, max_bins, thresholds, counts);
}

extern "C" __global__ void deal_doubles(const uint64_t* keys, uint64_t n_sampled, int32_t max_bins,
                                        double* thresholds, int32_t* counts) {
  deal_column(keys, n_sampled, max_bins, thresholds, counts);
}

}  // namespace hedgerow::cuda
