// Distances of a query to a block of rows, in float64. A distance is a sum (or a maximum) over the
// features in their order, with every operation rounded: it is the same in every block, at every
// instruction-set level, and equal to that of a simple loop.
//
// A metric is a functor here and a row of kMetrics at the end of this file; Python selects it by
// name (src/hedgerow/_neighbors/metrics.py has a row of the same name).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/compiler.hpp"
#include "shared/double_double.hpp"
#include "shared/math.hpp"
#include "shared/named.hpp"

namespace hedgerow::neighbors {

// Rows of a block; it is stored by feature: [feature][row].
inline constexpr std::size_t kBlockRows = 32;

namespace distance_detail::inline HEDGEROW_LEVEL {

// As many as fit into a register.
#if defined(__AVX512F__)
inline constexpr std::size_t kLanes = 8;
#elif defined(__AVX2__)
inline constexpr std::size_t kLanes = 4;
#else
inline constexpr std::size_t kLanes = 2;
#endif
// Sums at a time: enough to hide the latency of additions, few enough to stay in registers.
inline constexpr std::size_t kVectors = kLanes == 8 ? 4 : 8;
inline constexpr std::size_t kPart = kVectors * kLanes;
static_assert(kBlockRows % kPart == 0);
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));

inline Lanes load(const double* from) { return load_unaligned<Lanes>(from); }
inline void store(double* to, Lanes lanes) { store_unaligned(to, lanes); }
// Whether a comparison holds in any lane.
template <class Mask>
bool any(Mask mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0;
#else
  bool found = false;
  for (std::size_t i = 0; i < kLanes; ++i) found |= mask[i] != 0;
  return found;
#endif
}

template <class T>
T absolute(T x) {
  return x < 0.0 ? -x : x;
}

// More than d + 1 roundings can lose in a sum of positive terms.
inline double enlarged(double reduced, std::size_t d) {
  return reduced * (1.0 + static_cast<double>(d + 8) * 0x1p-51);
}

}  // namespace distance_detail::inline HEDGEROW_LEVEL

// The terms of distances: what a difference adds, and the final function of the sum. Rounding is
// monotone (a ≤ b gives fl(a) ≤ fl(b)), so sums of smaller differences are not larger: the distance
// to a box never exceeds the computed distance to a row in it.
struct Squares {
  template <class T>
  T add(T sum, T difference) const {
    return sum + difference * difference;
  }
  double finish(double sum) const { return std::sqrt(sum); }
  double undo(double distance) const { return distance * distance; }
};

struct Absolutes {
  template <class T>
  T add(T sum, T difference) const {
    return sum + distance_detail::absolute(difference);
  }
  double finish(double sum) const { return sum; }
  double undo(double distance) const { return distance; }
};

struct Largest {
  template <class T>
  T add(T largest, T difference) const {
    const T size = distance_detail::absolute(difference);
    return largest < size ? size : largest;
  }
  double finish(double largest) const { return largest; }
  double undo(double distance) const { return distance; }
};

// x^p for x ≥ 0 and p > 0, within some units in the last place: with x = m 2^k and m near 1 it is
// e^(p log m) 2^(p k), in which only the second has many digits before the point, and is exact.
inline double power(double x, double p) {
  if (x == 0.0 || x == std::numeric_limits<double>::infinity()) return x;
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  int k;
  double m = std::frexp(x, &k);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2.0;
    k -= 1;
  }
  const DoubleDouble doublings = exact_product(p, k);
  const double log_m = p * log(m);
  const double whole = std::floor(doublings.high), more = std::floor(log_m / ln2);
  const double rest = (doublings.high - whole) + doublings.low;
  const double shift = std::clamp(whole + more, -5000.0, 5000.0);
  return std::ldexp(exp((log_m - more * ln2) + rest * ln2), static_cast<int>(shift));
}

// The p-th root, with one step of Newton's: 1 / p has been rounded.
inline double root(double x, double p) {
  const double near = power(x, 1.0 / p);
  if (near == 0.0 || near == std::numeric_limits<double>::infinity()) return near;
  return near + near * ((x / power(near, p) - 1.0) / p);
}

// A whole p: by multiplications.
struct WholePowers {
  int p;

  template <class T>
  T add(T sum, T difference) const {
    const T size = distance_detail::absolute(difference);
    T product = size;
    for (int i = 1; i < p; ++i) product *= size;
    return sum + product;
  }
  double finish(double sum) const { return root(sum, p); }
  double undo(double distance) const { return power(distance, p) * (1.0 + 0x1p-38); }
};

struct Powers {
  double p;

  double add(double sum, double difference) const {
    return sum + power(distance_detail::absolute(difference), p);
  }
  distance_detail::Lanes add(distance_detail::Lanes sum, distance_detail::Lanes difference) const {
    for (std::size_t i = 0; i < distance_detail::kLanes; ++i) sum[i] = add(sum[i], difference[i]);
    return sum;
  }
  double finish(double sum) const { return root(sum, p); }
  double undo(double distance) const { return power(distance, p) * (1.0 + 0x1p-38); }
  // Powers by exp and log are monotone only up to rounding.
  static constexpr double kToBox = 1.0 - 0x1p-38;
};

// A distance between rows of d numbers.
template <class Term>
struct NumberDistance {
  std::size_t d;
  Term term;

  void to_part(const double* query, const double* block, double* out) const {
    using namespace distance_detail;
    Lanes sum[kVectors] = {};
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Lanes difference = load(block + j * kBlockRows + v * kLanes) - query[j];
        sum[v] = term.add(sum[v], difference);
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) store(out + v * kLanes, sum[v]);
  }

  double to_row(const double* query, const double* row) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d; ++j) sum = term.add(sum, row[j] - query[j]);
    return sum;
  }

  // To the nearest point of a box.
  double to_box(const double* query, const double* low, const double* high) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      const double below = low[j] - query[j], above = query[j] - high[j];
      const double outside = below < above ? above : below;
      sum = term.add(sum, outside < 0.0 ? 0.0 : outside);
    }
    if constexpr (requires { Term::kToBox; }) sum *= Term::kToBox;
    return sum;
  }

  double finish(double reduced) const { return term.finish(reduced); }

  // The least distance of a row in a box, from the sum of squares that leads to the box.
  double from_box(double sum) const { return sum; }

  // An upper bound on the exact sum of a row whose computed sum does not exceed `reduced`.
  double exact_sum_at_most(double reduced) const { return distance_detail::enlarged(reduced, d); }

  // An upper bound on the reduced distances of rows within a radius.
  double reduced_at_least(double radius) const {
    const double sum = distance_detail::enlarged(term.undo(radius), d);
    return std::max(sum, std::numeric_limits<double>::min());
  }
};

// 1 − cosine of the angle, of rows of norm 1 or 0: from their product where the angle is wide, so
// that it is 1 where they have nothing in common, and half the square of their difference where it
// is narrow and 1 less the product would have lost its digits.
struct CosineDistance {
  std::size_t d;

  static double from_sums(double product, double squares) {
    return product < 0.5 ? 1.0 - product : 0.5 * squares;
  }

  void to_part(const double* query, const double* block, double* out) const {
    using namespace distance_detail;
    Lanes product[kVectors] = {}, squares[kVectors] = {};
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Lanes value = load(block + j * kBlockRows + v * kLanes);
        const Lanes difference = value - query[j];
        product[v] += value * query[j];
        squares[v] += difference * difference;
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v)
      store(out + v * kLanes, product[v] < 0.5 ? 1.0 - product[v] : 0.5 * squares[v]);
  }

  double to_row(const double* query, const double* row) const {
    double product = 0.0, squares = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      const double difference = row[j] - query[j];
      product += row[j] * query[j];
      squares += difference * difference;
    }
    return from_sums(product, squares);
  }

  double to_box(const double* query, const double* low, const double* high) const {
    const NumberDistance<Squares> distance{d, {}};
    return from_box(distance.to_box(query, low, high));
  }

  double from_box(double squares) const { return 0.5 * squares * (1.0 - slack()); }

  double finish(double reduced) const { return reduced; }
  double exact_sum_at_most(double reduced) const { return 2.0 * reduced * (1.0 + slack()); }
  double reduced_at_least(double radius) const { return radius; }

 private:
  // An upper bound on the error of unit norms and of the two formulas.
  double slack() const { return static_cast<double>(d + 8) * 0x1p-49; }
};

// Gower's distance for mixed rows: the weighted mean of |difference| / range for numbers and of 0
// or 1 for categories, over the columns in which neither row has a missing value. Missing values
// are NaN, categories integers. Rows that have no column in common are at distance 1.
struct GowerDistance {
  std::size_t d;
  const double* weights;         // of each column
  const double* inverse_ranges;  // of each column; 0 if its values are equal or not

  void to_part(const double* query, const double* block, double* out) const {
    using namespace distance_detail;
    Lanes sum[kVectors] = {}, total[kVectors] = {};
    const Lanes zero = {};
    for (std::size_t j = 0; j < d; ++j) {
      if (query[j] != query[j]) continue;
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Lanes value = load(block + j * kBlockRows + v * kLanes);
        const Lanes weight = zero + weights[j];
        Lanes apart;
        if (inverse_ranges[j] == 0.0)
          apart = value != query[j] ? zero + 1.0 : zero;
        else
          apart = absolute(value - query[j]) * inverse_ranges[j];
        sum[v] += value == value ? weight * apart : zero;
        total[v] += value == value ? weight : zero;
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Lanes one = zero + 1.0;
      const Lanes mean = sum[v] / (total[v] > 0.0 ? total[v] : one);
      store(out + v * kLanes, total[v] > 0.0 ? mean : one);
    }
  }

  double finish(double reduced) const { return reduced; }
  double reduced_at_least(double radius) const { return radius; }
};

// The metrics that follow from scalar products of rows: panels and sparse rows are searched by
// them.
enum class ProductMetric { euclidean, cosine };
inline constexpr Named<ProductMetric> kProductMetrics[] = {{"euclidean", ProductMetric::euclidean},
                                                           {"cosine", ProductMetric::cosine}};

// Calls `visit` with the distance of such a metric between rows of d numbers.
template <class Visit>
void with_product_distance(ProductMetric metric, std::size_t d, const Visit& visit) {
  if (metric == ProductMetric::cosine) return visit(CosineDistance{d});
  visit(NumberDistance<Squares>{d, {}});
}

// A metric by name, and its parameters.
struct Metric {
  std::string_view name;
  double p = 2.0;
  const double* weights = nullptr;         // of each column, for Gower's distance
  const double* inverse_ranges = nullptr;  // of each column, for Gower's distance
};

// A row of the table: a name, and a function that calls `visit` with the distance between rows of d
// numbers.
template <class Visit>
struct MetricRow {
  std::string_view name;
  Visit visit_distance;
};
template <class Visit>
MetricRow(std::string_view, Visit) -> MetricRow<Visit>;

inline constexpr std::tuple kMetrics{
    MetricRow{"euclidean", [](const Metric&, std::size_t d,
                              const auto& visit) { visit(NumberDistance<Squares>{d, {}}); }},
    MetricRow{"manhattan", [](const Metric&, std::size_t d,
                              const auto& visit) { visit(NumberDistance<Absolutes>{d, {}}); }},
    MetricRow{"chebyshev", [](const Metric&, std::size_t d,
                              const auto& visit) { visit(NumberDistance<Largest>{d, {}}); }},
    MetricRow{"minkowski",
              [](const Metric& metric, std::size_t d, const auto& visit) {
                constexpr double kMostFactors = 16;
                if (metric.p == std::floor(metric.p) && metric.p <= kMostFactors)
                  visit(NumberDistance<WholePowers>{d, {static_cast<int>(metric.p)}});
                else
                  visit(NumberDistance<Powers>{d, {metric.p}});
              }},
    MetricRow{"cosine",
              [](const Metric&, std::size_t d, const auto& visit) { visit(CosineDistance{d}); }},
    MetricRow{"gower",
              [](const Metric& metric, std::size_t d, const auto& visit) {
                visit(GowerDistance{d, metric.weights, metric.inverse_ranges});
              }},
};

inline bool is_metric(std::string_view name) {
  return std::apply([&](const auto&... row) { return ((name == row.name) || ...); }, kMetrics);
}

// Calls `visit` with the distance of a metric between rows of d numbers.
template <class Visit>
void with_distance(const Metric& metric, std::size_t d, const Visit& visit) {
  const auto visit_if_named = [&](const auto& row) {
    if (metric.name == row.name) row.visit_distance(metric, d, visit);
  };
  std::apply([&](const auto&... row) { (visit_if_named(row), ...); }, kMetrics);
}

}  // namespace hedgerow::neighbors
