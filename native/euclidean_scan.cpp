// How near float32 is. Let a and b be a query and a row less the centre, scaled, and A, B their
// norms. Numbers below 2^-63 become 0, so that no product of two is subnormal; others are rounded
// once, to a relative 2^-24. The sum h − Σ a·b takes at most d + 1 roundings a term. With
// g = (d + 8) 2^-24 / (1 − (d + 8) 2^-24), which leaves room for the float64 roundings before, the
// error is at most
//
//   g (h + Σ|a·b|) + f  ≤  g (B² + A²/2) + f,   f = 2^-62 (d + A√d + B√d),
//
// for h ≤ B²/2 and 2|a·b| ≤ a² + b². Storing h = (1 − 2g) B²/2 takes off the row's part of it; the
// query's part, and f for the largest B, are added to the query's limit.
#include "euclidean_scan.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <vector>

#include "float_lanes.hpp"
#include "interrupt.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kTileQueries = 6;
// Of lanes: as many as leave registers for a row of products, and one more.
constexpr std::size_t kTileVectors = FloatLanes::kCount == 16 ? 4 : 2;
constexpr std::size_t kTileRows = kTileVectors * FloatLanes::kCount;
constexpr std::size_t kTilesInPanel = kPanelRows / kTileRows;
static_assert(kPanelRows % kTileRows == 0);

constexpr double kTiny = 0x1p-63;
// Farther queries are held against every row in float64, and farther rows against every query: a
// product might overflow.
constexpr double kFar = 0x1p40;

double error_factor(std::size_t d) {
  const double u = static_cast<double>(d + 8) * 0x1p-24;
  return u / (1.0 - u);
}

// Beyond this many features float32 says nothing.
bool is_useful(std::size_t d) { return error_factor(d) < 0.25 && d < (std::size_t{1} << 22); }

float moved(double value, double centre, double scale) {
  const double x = (value - centre) * scale;
  return std::abs(x) < kTiny ? 0.0f : static_cast<float>(x);
}

double squared_norm(const double* row, const double* centre, double scale, std::size_t d) {
  double sum = 0.0;
  for (std::size_t j = 0; j < d; ++j) {
    const double x = (row[j] - centre[j]) * scale;
    sum += x * x;
  }
  return sum;
}

float rounded_up(double x) {
  if (x >= FLT_MAX) return FLT_MAX;
  return std::nextafter(static_cast<float>(std::max(x, -double{FLT_MAX})), FLT_MAX);
}

float rounded_down(double x) { return -rounded_up(-x); }

// A query: its limit in float32, rows that passed it and wait for their distance, and the keeper.
template <class Distance, class Keeper>
class Asking {
 public:
  Asking(const Matrix& rows, const PanelView& panels, const Distance& distance, const double* query,
         Keeper keeper)
      : rows_(rows),
        panels_(panels),
        distance_(distance),
        query_(query),
        keeper_(std::move(keeper)) {
    const double d = static_cast<double>(rows.d);
    const double squared = squared_norm(query, panels.centre, panels.scale, rows.d);
    const double norm = std::sqrt(squared);
    is_far_ = !(norm < kFar) || !is_useful(rows.d);
    const double flushed = 2.0 * kTiny * (d + std::sqrt(d) * (norm + panels.largest_norm));
    limit_at_zero_ = flushed - 0.5 * squared * (1.0 - error_factor(rows.d));
    update_limit();
  }

  bool is_far() const { return is_far_; }
  float limit() const { return limit_; }

  void pass(std::uint32_t index) {
    waiting_[n_waiting_++] = index;
    const double* row = rows_.row(index);
    for (std::size_t j = 0; j < std::min(rows_.d, kFetched); j += 8) __builtin_prefetch(row + j);
    if (n_waiting_ == kMostWaiting) settle();
  }

  void settle() {
    for (std::size_t i = 0; i < n_waiting_; ++i) {
      const double distance = distance_.to_row(query_, rows_.row(waiting_[i]));
      if (distance <= keeper_.bound()) keeper_.offer(distance, waiting_[i]);
    }
    n_waiting_ = 0;
    keeper_.tighten();
    update_limit();
  }

  Keeper& keeper() { return keeper_; }

 private:
  static constexpr std::size_t kMostWaiting = 16;
  // Numbers of a row that are called for as soon as it passes; the processor goes on by itself.
  static constexpr std::size_t kFetched = 64;

  void update_limit() {
    const double bound = distance_.exact_sum_at_most(keeper_.bound());
    const double scaled = bound * panels_.scale * panels_.scale;
    limit_ = is_far_ ? FLT_MAX : rounded_up(limit_at_zero_ + 0.5 * scaled);
  }

  const Matrix& rows_;
  const PanelView& panels_;
  const Distance& distance_;
  const double* query_;
  Keeper keeper_;
  bool is_far_;
  double limit_at_zero_;  // were the bound 0
  float limit_ = FLT_MAX;
  std::size_t n_waiting_ = 0;
  std::uint32_t waiting_[kMostWaiting];
};

// Queries as tiles read them: (n_tiles, d, kTileQueries), those beyond the last zero.
template <class Asks>
std::vector<float> packed_queries(const Matrix& queries, std::size_t first,
                                  const std::vector<Asks>& asking, const PanelView& panels) {
  const std::size_t d = queries.d, n_tiles = (asking.size() + kTileQueries - 1) / kTileQueries;
  std::vector<float> packed(n_tiles * d * kTileQueries);
  for (std::size_t q = 0; q < asking.size(); ++q) {
    if (asking[q].is_far()) continue;
    float* to = packed.data() + q / kTileQueries * d * kTileQueries + q % kTileQueries;
    const double* row = queries.row(first + q);
    for (std::size_t j = 0; j < d; ++j)
      to[j * kTileQueries] = moved(row[j], panels.centre[j], panels.scale);
  }
  return packed;
}

// Sums of a tile. Returns a bit for each query that has one at most at its limit; only then are the
// sums written down, since most tiles have none.
std::uint32_t scan_tile(const float* rows, const float* half_norms, const float* queries,
                        std::size_t d, const float* limits, float* written) {
  FloatLanes sums[kTileQueries][kTileVectors];
  for (std::size_t q = 0; q < kTileQueries; ++q)
    for (std::size_t v = 0; v < kTileVectors; ++v)
      sums[q][v] = FloatLanes::load(half_norms + v * FloatLanes::kCount);
  for (std::size_t j = 0; j < d; ++j) {
    FloatLanes row[kTileVectors];
    for (std::size_t v = 0; v < kTileVectors; ++v)
      row[v] = FloatLanes::load(rows + j * kPanelRows + v * FloatLanes::kCount);
    for (std::size_t q = 0; q < kTileQueries; ++q) {
      const FloatLanes query = FloatLanes::all(queries[j * kTileQueries + q]);
      for (std::size_t v = 0; v < kTileVectors; ++v)
        sums[q][v] = sums[q][v].less_product(query, row[v]);
    }
  }
  std::uint32_t hits = 0;
  for (std::size_t q = 0; q < kTileQueries; ++q) {
    FloatLanes least = sums[q][0];
    for (std::size_t v = 1; v < kTileVectors; ++v) least = least.smaller(sums[q][v]);
    hits |= static_cast<std::uint32_t>(least.at_most(FloatLanes::all(limits[q])) != 0) << q;
  }
  if (hits == 0) return 0;
  for (std::size_t q = 0; q < kTileQueries; ++q)
    for (std::size_t v = 0; v < kTileVectors; ++v)
      sums[q][v].store(written + q * kTileRows + v * FloatLanes::kCount);
  return hits;
}

// Calls found(row of the tile) for sums of a query at most at a limit.
template <class Found>
void for_each_at_most(const float* sums, float limit, const Found& found) {
  for (std::size_t first = 0; first < kTileRows; first += FloatLanes::kCount) {
    std::uint32_t bits = FloatLanes::load(sums + first).at_most(FloatLanes::all(limit));
    for (; bits != 0; bits &= bits - 1)
      found(first + static_cast<std::size_t>(std::countr_zero(bits)));
  }
}

// The queries of a task.
template <class Asks>
struct Batch {
  std::vector<Asks> asking;
  std::vector<float> packed;
  std::vector<float> limits;  // of whole tiles: no row passes for a query that is not there

  Batch(std::vector<Asks> given, const Matrix& queries, std::size_t first, const PanelView& panels)
      : asking(std::move(given)), packed(packed_queries(queries, first, asking, panels)) {
    limits.resize((asking.size() + kTileQueries - 1) / kTileQueries * kTileQueries,
                  -std::numeric_limits<float>::infinity());
    for (std::size_t q = 0; q < asking.size(); ++q) limits[q] = asking[q].limit();
  }

  // Holds all rows of a panel against all queries.
  void scan(const PanelView& panels, std::size_t panel, std::size_t d) {
    alignas(64) float sums[kTileQueries * kTileRows];
    for (std::size_t t = 0; t < kTilesInPanel; ++t) {
      const std::size_t first = panel * kPanelRows + t * kTileRows;
      const float* rows = panels.values + panel * kPanelRows * d + t * kTileRows;
      for (std::size_t begin = 0; begin < asking.size(); begin += kTileQueries) {
        std::uint32_t hits = scan_tile(rows, panels.half_norms + first, packed.data() + begin * d,
                                       d, limits.data() + begin, sums);
        for (; hits != 0; hits &= hits - 1) {
          const auto q = static_cast<std::size_t>(std::countr_zero(hits));
          Asks& asks = asking[begin + q];
          for_each_at_most(sums + q * kTileRows, asks.limit(), [&](std::size_t row) {
            asks.pass(static_cast<std::uint32_t>(first + row));
          });
          limits[begin + q] = asks.limit();
        }
      }
    }
  }
};

// As many queries as fit into half of the first-level cache beside a panel, in tiles.
std::size_t queries_at_once(std::size_t d, std::size_t n_queries, int threads) {
  const std::size_t share =
      (n_queries + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  const std::size_t fit = std::clamp<std::size_t>(6144 / d, 4 * kTileQueries, 40 * kTileQueries);
  const std::size_t tiles = (std::min(fit, share) + kTileQueries - 1) / kTileQueries;
  return tiles * kTileQueries;
}

template <class Distance, class Wanted>
void search(const Matrix& rows, const PanelView& panels, const Distance& distance,
            const Matrix& queries, const Wanted& wanted, int threads) {
  const std::size_t width = queries_at_once(rows.d, queries.n, threads);
  parallel_for(threads, (queries.n + width - 1) / width, [&](std::size_t task) {
    const std::size_t first = task * width, end = std::min(first + width, queries.n);
    using Asks = Asking<Distance, typename Wanted::Keeper>;
    std::vector<Asks> asking;
    asking.reserve(end - first);
    for (std::size_t q = first; q < end; ++q)
      asking.emplace_back(rows, panels, distance, queries.row(q), wanted.keeper(distance));
    Batch<Asks> batch(std::move(asking), queries, first, panels);
    for (std::size_t panel = 0; panel < PanelView::count(rows.n); ++panel) {
      batch.scan(panels, panel, rows.d);
      if (panel % 16 == 0) check_interrupt();
    }
    for (std::size_t q = first; q < end; ++q) {
      batch.asking[q - first].settle();
      wanted.answer(distance, q, batch.asking[q - first].keeper());
    }
  });
}

}  // namespace

double pack_panels(const Matrix& rows, const double* centre, double scale, float* values,
                   float* half_norms, int threads) {
  const std::size_t d = rows.d, n_panels = PanelView::count(rows.n);
  const double kept = 1.0 - 2.0 * std::min(error_factor(d), 0.5);
  std::vector<double> largest(n_panels);
  parallel_for(threads, n_panels, [&](std::size_t panel) {
    float* to = values + panel * kPanelRows * d;
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const std::size_t i = panel * kPanelRows + r;
      if (i >= rows.n) {
        for (std::size_t j = 0; j < d; ++j) to[j * kPanelRows + r] = 0.0f;
        half_norms[i] = std::numeric_limits<float>::infinity();
        continue;
      }
      const double* row = rows.row(i);
      const double squared = squared_norm(row, centre, scale, d);
      const bool is_far = !(squared < kFar * kFar);
      for (std::size_t j = 0; j < d; ++j)
        to[j * kPanelRows + r] = is_far ? 0.0f : moved(row[j], centre[j], scale);
      if (is_far) {  // passes every limit
        half_norms[i] = -FLT_MAX;
        continue;
      }
      half_norms[i] = rounded_down(0.5 * kept * squared);
      largest[panel] = std::max(largest[panel], std::sqrt(squared));
    }
  });
  return *std::max_element(largest.begin(), largest.end()) * (1.0 + 0x1p-20);
}

void nearest_in_panels(const Matrix& rows, const PanelView& panels, bool cosine,
                       const Matrix& queries, const NearestWanted& wanted, int threads) {
  if (cosine) return search(rows, panels, CosineDistance{rows.d}, queries, wanted, threads);
  search(rows, panels, NumberDistance<Squares>{rows.d, {}}, queries, wanted, threads);
}

void within_in_panels(const Matrix& rows, const PanelView& panels, bool cosine,
                      const Matrix& queries, const RadiusWanted& wanted, int threads) {
  if (cosine) return search(rows, panels, CosineDistance{rows.d}, queries, wanted, threads);
  search(rows, panels, NumberDistance<Squares>{rows.d, {}}, queries, wanted, threads);
}

}  // namespace hedgerow
