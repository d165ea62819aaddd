#include "svm/kernel_table.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "shared/math.hpp"

namespace hedgerow::svm {
namespace {

// A tile is of kTileRows query rows and kVectors vectors of table rows: as many sums as registers
// hold beside what is being read.
#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64, kVectors = 4, kTileRows = 6;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32, kVectors = 2, kTileRows = 6;
#else
constexpr std::size_t kVectorBytes = 16, kVectors = 2, kTileRows = 6;
#endif
constexpr std::size_t kPanelRows = 64;   // of the table
constexpr std::size_t kRowsAtOnce = 48;  // query rows of a task, at least
// Fewer values than this are copied before another thread is awake.
constexpr std::size_t kFewValues = 1 << 15;

template <class T>
struct TileVectors {
  typedef T Lanes __attribute__((vector_size(kVectorBytes)));
  static constexpr std::size_t kCount = kVectorBytes / sizeof(T);
  static constexpr std::size_t kWidth = kVectors * kCount;  // of a tile

  static Lanes load(const T* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  static void store(const Lanes& lanes, T* to) { std::memcpy(to, &lanes, sizeof lanes); }
};

#if !defined(__FMA__) && !defined(__FP_FAST_FMAF)
// x · y + z rounded once, where the processor cannot: the product is exact as a double, and its sum
// with z is rounded to odd, so that rounding it again to a float is as rounding once.
inline float fused(float x, float y, float z) {
  const double product = static_cast<double>(x) * static_cast<double>(y);
  const double sum = product + static_cast<double>(z);
  const double of_z = sum - product;
  const double lost = (product - (sum - of_z)) + (static_cast<double>(z) - of_z);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (lost != 0.0 && std::isfinite(sum) && (bits & 1) == 0) {
    bits += (lost > 0.0) == (sum > 0.0) ? 1 : -1;
  }
  return static_cast<float>(std::bit_cast<double>(bits));
}
#endif

// Floats are multiplied and added with one rounding on every instruction set, which most of them
// have an instruction for; doubles with two, since some have none that would be fast enough.
struct Product {
  template <class Lanes>
  static Lanes add(const Lanes& sum, double x, const Lanes& row) {
    return sum + x * row;
  }
  template <class Lanes>
  static Lanes add(const Lanes& sum, float x, const Lanes& row) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(_mm512_set1_ps(x), row, sum);
#elif defined(__FMA__)
    return _mm256_fmadd_ps(_mm256_set1_ps(x), row, sum);
#else
    Lanes result;
    for (std::size_t i = 0; i < sizeof(Lanes) / sizeof(float); ++i) {
#if defined(__FP_FAST_FMAF)
      result[i] = __builtin_fmaf(x, row[i], sum[i]);
#else
      result[i] = fused(x, row[i], sum[i]);
#endif
    }
    return result;
#endif
  }
};

struct Distance {
  template <class T, class Lanes>
  static Lanes add(Lanes sum, T queries, Lanes row) {
    const Lanes apart = queries - row;
    return sum + (apart < 0 ? -apart : apart);
  }
};

// Sums over the features of kTileRows query rows, (d, kTileRows), with a panel of the table.
template <class Term, class T>
void sum_tile(const T* queries, const T* panel, std::size_t d, T* out) {
  using V = TileVectors<T>;
  for (std::size_t first = 0; first < kPanelRows; first += V::kWidth) {
    typename V::Lanes sums[kTileRows][kVectors] = {};
    for (std::size_t j = 0; j < d; ++j) {
      typename V::Lanes row[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        row[v] = V::load(panel + j * kPanelRows + first + v * V::kCount);
      }
      for (std::size_t q = 0; q < kTileRows; ++q) {
        const T x = queries[j * kTileRows + q];
        for (std::size_t v = 0; v < kVectors; ++v) sums[q][v] = Term::add(sums[q][v], x, row[v]);
      }
    }
    for (std::size_t q = 0; q < kTileRows; ++q) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        V::store(sums[q][v], out + q * kPanelRows + first + v * V::kCount);
      }
    }
  }
}

// e^x for x ≤ 0, within 2 units in the last place of a float; never below 2^-126.
inline float exp_of(float x) {
  constexpr float kRounder = 0x1.8p23f;
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * 0x1.715476p+0f + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  const float r2 = r * r;
  const float p01 = 0.5f + r * (1.0f / 6), p23 = 1.0f / 24 + r * (1.0f / 120);
  const float p45 = 1.0f / 720 + r * (1.0f / 5040);
  const float mantissa = 1.0f + (r + r2 * (p01 + r2 * (p23 + r2 * p45)));
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(mantissa) + exponent);
}
inline double exp_of(double x) { return exp(x); }

template <class T>
T power(T base, int exponent) {
  T result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// Σ coefficients · values, of up to a panel of them, in an order that does not depend on vectors.
template <class T>
double weighted_sum(const double* coefficients, const T* values, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  for (std::size_t r = 0; r + kLanes <= n; r += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      lanes[l] += coefficients[r + l] * static_cast<double>(values[r + l]);
    }
  }
  double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (std::size_t r = n / kLanes * kLanes; r < n; ++r) {
    sum += coefficients[r] * static_cast<double>(values[r]);
  }
  return sum;
}

// tanh by e^(−2|x|), which loses nothing that matters where tanh is near 0: at most some 1e-16.
inline double tanh_of(double x) {
  const double t = exp(-2.0 * (x < 0.0 ? -x : x));
  const double size = (1.0 - t) / (1.0 + t);
  return x < 0.0 ? -size : size;
}

// Kernels of one row with n others, from scalar products or distances; half norms are half of the
// squared lengths.
template <class T>
void finish_row(const KernelRule& rule, T* __restrict values, std::size_t n, T half_norm,
                const T* __restrict half_norms) {
  const T gamma = static_cast<T>(rule.gamma), coef0 = static_cast<T>(rule.coef0);
  switch (rule.kind) {
    case KernelKind::linear:
      return;
    case KernelKind::polynomial:
      for (std::size_t i = 0; i < n; ++i) values[i] = power(gamma * values[i] + coef0, rule.degree);
      return;
    case KernelKind::sigmoid:
      for (std::size_t i = 0; i < n; ++i) {
        values[i] = static_cast<T>(tanh_of(static_cast<double>(gamma * values[i] + coef0)));
      }
      return;
    case KernelKind::laplacian:
      for (std::size_t i = 0; i < n; ++i) values[i] = exp_of(-values[i]);
      return;
    case KernelKind::gaussian:
      for (std::size_t i = 0; i < n; ++i) {
        const T exponent = values[i] - (half_norm + half_norms[i]);
        values[i] = exp_of(exponent > T{0} ? T{0} : exponent);
      }
  }
}

}  // namespace

double KernelRule::scale() const {
  if (kind == KernelKind::gaussian) return std::sqrt(2.0 * gamma);
  return kind == KernelKind::laplacian ? gamma : 1.0;
}

void finish_kernels(const KernelRule& rule, std::span<const double> half_norms_of_rows,
                    std::span<const double> half_norms_of_columns, double* values) {
  const std::size_t n = half_norms_of_columns.size();
  for (std::size_t i = 0; i < half_norms_of_rows.size(); ++i) {
    finish_row(rule, values + i * n, n, half_norms_of_rows[i], half_norms_of_columns.data());
  }
}

void weighted_sums(const double* values, std::size_t n_rows, std::size_t n,
                   std::span<const double> coefficients, std::size_t n_sums, double* out) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::size_t m = 0; m < n_sums; ++m) {
      double sum = 0.0;
      for (std::size_t first = 0; first < n; first += kPanelRows) {
        sum += weighted_sum(coefficients.data() + m * n + first, values + i * n + first,
                            std::min(kPanelRows, n - first));
      }
      out[i * n_sums + m] = sum;
    }
  }
}

// Query rows in tiles: (n_tiles, d, kTileRows), padded with zeros.
template <class T>
struct KernelTable<T>::QueryTiles {
  std::size_t n;
  std::vector<T> values, half_norms;
};

template <class T>
T KernelTable<T>::centred(double value, std::size_t feature) const {
  // Squares of floats beyond this could not be added up; so far away all kernels are 0.
  constexpr double kFarthest = sizeof(T) == sizeof(float) ? 1e16 : 1e140;
  return static_cast<T>(std::clamp((value - centre_[feature]) * scale_, -kFarthest, kFarthest));
}

template <class T>
KernelTable<T>::KernelTable(const KernelRule& rule, const RowMatrix& rows,
                            std::span<const double> centre, int threads)
    : rule_(rule),
      n_(rows.n),
      d_(rows.d),
      centre_(centre.begin(), centre.end()),
      scale_(rule.scale()) {
  const std::size_t n_panels = (n_ + kPanelRows - 1) / kPanelRows;
  panels_ = Buffer<T>(n_panels * kPanelRows * d_);
  half_norms_.resize(n_panels * kPanelRows);
  parallel_for(threads_for(n_ * d_, kFewValues, threads), n_panels, [&](std::size_t panel) {
    T* to = panels_.get() + panel * kPanelRows * d_;
    const std::size_t first = panel * kPanelRows, n = std::min(kPanelRows, n_ - first);
    if (n < kPanelRows) std::fill_n(to, kPanelRows * d_, T{0});
    for (std::size_t i = 0; i < n; ++i) {
      double squares = 0.0;
      for (std::size_t j = 0; j < d_; ++j) {
        const T x = centred(rows.row(first + i)[j], j);
        to[j * kPanelRows + i] = x;
        squares += static_cast<double>(x) * static_cast<double>(x);
      }
      half_norms_[first + i] = static_cast<T>(0.5 * squares);
    }
  });
}

template <class T>
typename KernelTable<T>::QueryTiles KernelTable<T>::room_for(std::size_t n) const {
  const std::size_t n_tiles = (n + kTileRows - 1) / kTileRows;
  return {n, std::vector<T>(n_tiles * d_ * kTileRows), std::vector<T>(n_tiles * kTileRows)};
}

// Rows from first to last, not among the table's.
template <class T>
typename KernelTable<T>::QueryTiles KernelTable<T>::pack(const RowMatrix& rows, std::size_t first,
                                                         std::size_t last) const {
  QueryTiles queries = room_for(last - first);
  for (std::size_t q = 0; q < queries.n; ++q) {
    T* to = queries.values.data() + q / kTileRows * d_ * kTileRows + q % kTileRows;
    double squares = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      const T x = centred(rows.row(first + q)[j], j);
      to[j * kTileRows] = x;
      squares += static_cast<double>(x) * static_cast<double>(x);
    }
    queries.half_norms[q] = static_cast<T>(0.5 * squares);
  }
  return queries;
}

// Rows of the table.
template <class T>
typename KernelTable<T>::QueryTiles KernelTable<T>::pack(std::span<const std::int64_t> rows,
                                                         int threads) const {
  QueryTiles queries = room_for(rows.size());
  const std::size_t n_tasks = (rows.size() + kRowsAtOnce - 1) / kRowsAtOnce;
  parallel_for(threads_for(rows.size() * d_, kFewValues, threads), n_tasks, [&](std::size_t task) {
    const std::size_t end = std::min((task + 1) * kRowsAtOnce, queries.n);
    for (std::size_t q = task * kRowsAtOnce; q < end; ++q) {
      const auto row = static_cast<std::size_t>(rows[q]);
      T* to = queries.values.data() + q / kTileRows * d_ * kTileRows + q % kTileRows;
      const T* from = panels_.get() + row / kPanelRows * kPanelRows * d_ + row % kPanelRows;
      for (std::size_t j = 0; j < d_; ++j) to[j * kTileRows] = from[j * kPanelRows];
      queries.half_norms[q] = half_norms_[row];
    }
  });
  return queries;
}

template <class T>
void KernelTable<T>::tile(const QueryTiles& queries, std::size_t first, std::size_t panel,
                          T* out) const {
  const T* rows = queries.values.data() + first * d_;
  const T* columns = panels_.get() + panel * kPanelRows * d_;
  if (rule_.kind == KernelKind::laplacian) {
    sum_tile<Distance>(rows, columns, d_, out);
  } else {
    sum_tile<Product>(rows, columns, d_, out);
  }
  for (std::size_t q = 0; q < kTileRows; ++q) {
    finish_row(rule_, out + q * kPanelRows, kPanelRows, queries.half_norms[first + q],
               half_norms_.data() + panel * kPanelRows);
  }
}

template <class T>
void KernelTable<T>::fill(std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                          T* values, int threads) const {
  // A task multiplies some rows with as many panels as stay in the cache meanwhile, and there are
  // several tasks for each thread: few panels, then parts of the rows.
  constexpr std::size_t kNear = 1 << 18, kTasksPerThread = 4;
  const auto n_threads = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t n_panels = (n_ + kPanelRows - 1) / kPanelRows;
  const std::size_t panel_bytes = kPanelRows * std::max<std::size_t>(d_, 1) * sizeof(T);
  const std::size_t at_once =
      std::clamp<std::size_t>(std::min(kNear / panel_bytes, n_panels / n_threads), 2, 16);
  const std::size_t n_columns = (n_panels + at_once - 1) / at_once;
  const std::size_t parts = (kTasksPerThread * n_threads + n_columns - 1) / n_columns;
  const std::size_t row_step =
      threads > 1 ? std::max(kRowsAtOnce, (rows.size() / parts + kTileRows) / kTileRows * kTileRows)
                  : std::max(kTileRows, rows.size());
  const std::size_t n_parts = (rows.size() + row_step - 1) / row_step;
  const QueryTiles all = pack(rows, threads);
  parallel_for(threads, n_columns * n_parts, [&](std::size_t task) {
    alignas(64) T out[kTileRows * kPanelRows];
    const std::size_t first_panel = task / n_parts * at_once;
    const std::size_t last_panel = std::min(first_panel + at_once, n_panels);
    const std::size_t begin = task % n_parts * row_step;
    const std::size_t end = std::min(begin + row_step, rows.size());
    for (std::size_t first = begin; first < end; first += kTileRows) {
      check_interrupt();
      for (std::size_t panel = first_panel; panel < last_panel; ++panel) {
        tile(all, first, panel, out);
        const std::size_t n = std::min(kPanelRows, n_ - panel * kPanelRows);
        for (std::size_t q = 0; q < std::min(kTileRows, end - first); ++q) {
          std::copy_n(
              out + q * kPanelRows, n,
              values + static_cast<std::size_t>(slots[first + q]) * n_ + panel * kPanelRows);
        }
      }
    }
  });
}

template <class T>
void KernelTable<T>::fill_diagonal(double* values) const {
  for (std::size_t i = 0; i < n_; ++i) {
    // A row's product with itself is twice its half norm, its distance from itself is 0.
    T value = rule_.kind == KernelKind::laplacian ? T{0} : 2 * half_norms_[i];
    finish_row(rule_, &value, 1, half_norms_[i], &half_norms_[i]);
    values[i] = static_cast<double>(value);
  }
}

template <class T>
void KernelTable<T>::sum(const RowMatrix& queries, std::span<const double> coefficients,
                         std::size_t n_sums, double* out, int threads) const {
  const std::size_t n_panels = (n_ + kPanelRows - 1) / kPanelRows;
  parallel_for(threads, (queries.n + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::size_t task) {
    const std::size_t begin = task * kRowsAtOnce, end = std::min(begin + kRowsAtOnce, queries.n);
    const QueryTiles all = pack(queries, begin, end);
    alignas(64) T values[kTileRows * kPanelRows];
    std::fill(out + begin * n_sums, out + end * n_sums, 0.0);
    for (std::size_t panel = 0; panel < n_panels; ++panel) {
      if (panel % 16 == 0) check_interrupt();
      const std::size_t n = std::min(kPanelRows, n_ - panel * kPanelRows);
      for (std::size_t first = 0; first < end - begin; first += kTileRows) {
        tile(all, first, panel, values);
        for (std::size_t q = 0; q < std::min(kTileRows, end - begin - first); ++q) {
          double* sums = out + (begin + first + q) * n_sums;
          for (std::size_t m = 0; m < n_sums; ++m) {
            sums[m] += weighted_sum(coefficients.data() + m * n_ + panel * kPanelRows,
                                    values + q * kPanelRows, n);
          }
        }
      }
    }
  });
}

template class KernelTable<float>;
template class KernelTable<double>;

}  // namespace hedgerow::svm
