// Tiles of queries and rows: products in float32 select candidates, whose distances are computed in
// float64.
//
// The error of float32. Let a and b be a query and a row less the centre, scaled, and A, B their
// norms. Numbers below 2^-63 become 0, so that no product of two is subnormal; others are rounded
// once, to a relative 2^-24. The sum h − Σ a·b takes at most d + 1 roundings a term. With
// g = (d + 8) 2^-24 / (1 − (d + 8) 2^-24), which leaves room for the float64 roundings before, the
// error is at most
//
//   g (h + Σ|a·b|) + f  ≤  g (B² + A²/2) + f,   f = 2^-62 (d + A√d + B√d),
//
// for h ≤ B²/2 and 2|a·b| ≤ a² + b². Storing h = (1 − 2g) B²/2 takes off the row's part of it; the
// query's part, and f for the largest B, are added to the query's limit.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/float_lanes.hpp"
#include "neighbors/euclidean_scan.hpp"

namespace hedgerow::neighbors::euclidean_detail::inline HEDGEROW_LEVEL {

inline constexpr std::size_t kTileQueries = 6;
// Of lanes: as many as leave registers for a row of products, and one more.
inline constexpr std::size_t kTileVectors = FloatLanes::kCount == 16 ? 4 : 2;
inline constexpr std::size_t kTileRows = kTileVectors * FloatLanes::kCount;
inline constexpr std::size_t kTilesInPanel = kPanelRows / kTileRows;
static_assert(kPanelRows % kTileRows == 0);

inline constexpr double kTiny = 0x1p-63;
// Queries and rows farther from the centre are compared in float64 only, because products might
// overflow.
inline constexpr double kFar = 0x1p40;

inline double error_factor(std::size_t d) {
  const double u = static_cast<double>(d + 8) * 0x1p-24;
  return u / (1.0 - u);
}

// With too many features float32 is useless.
inline bool is_useful(std::size_t d) {
  return error_factor(d) < 0.25 && d < (std::size_t{1} << 22);
}

inline float moved(double value, double centre, double scale) {
  const double x = (value - centre) * scale;
  return std::abs(x) < kTiny ? 0.0f : static_cast<float>(x);
}

inline double squared_norm(const double* row, const double* centre, double scale, std::size_t d) {
  double sum = 0.0;
  for (std::size_t j = 0; j < d; ++j) {
    const double x = (row[j] - centre[j]) * scale;
    sum += x * x;
  }
  return sum;
}

constexpr float kLargest = std::numeric_limits<float>::max();

inline float rounded_up(double x) {
  if (x >= kLargest) return kLargest;
  return std::nextafter(static_cast<float>(std::max(x, -double{kLargest})), kLargest);
}

inline float rounded_down(double x) { return -rounded_up(-x); }

// A query: its limit in float32, candidate rows whose distance is not computed yet, and the keeper.
template <class Distance, class Keeper>
class TileQuery {
 public:
  TileQuery(const Matrix& rows, const PanelView& panels, const Distance& distance,
            const double* query, Keeper keeper)
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

  const double* query() const { return query_; }
  double bound() const { return keeper_.bound(); }

  // Adds the row at a position to the candidates.
  void pass(std::uint32_t place) {
    waiting_[n_waiting_++] = place;
    const double* row = rows_.row(place);
    for (std::size_t j = 0; j < std::min(rows_.d, kFetched); j += 8) __builtin_prefetch(row + j);
    if (n_waiting_ == kMostWaiting) compute_distances();
  }

  void compute_distances() {
    if (n_waiting_ == 0) return;
    for (std::size_t i = 0; i < n_waiting_; ++i) {
      const std::uint32_t place = waiting_[i];
      const double distance = distance_.to_row(query_, rows_.row(place));
      if (distance <= keeper_.bound())
        keeper_.offer(distance, panels_.index ? panels_.index[place] : place);
    }
    n_waiting_ = 0;
    keeper_.tighten();
    update_limit();
  }

  Keeper& keeper() { return keeper_; }

 private:
  static constexpr std::size_t kMostWaiting = 16;
  // Numbers of a row that are prefetched when it passes; hardware prefetching continues.
  static constexpr std::size_t kFetched = 64;

  void update_limit() {
    const double bound = distance_.exact_sum_at_most(keeper_.bound());
    const double scaled = bound * panels_.scale * panels_.scale;
    limit_ = is_far_ ? kLargest : rounded_up(limit_at_zero_ + 0.5 * scaled);
  }

  const Matrix& rows_;
  const PanelView& panels_;
  const Distance& distance_;
  const double* query_;
  Keeper keeper_;
  bool is_far_;
  double limit_at_zero_;  // if the bound were 0
  float limit_ = kLargest;
  std::size_t n_waiting_ = 0;
  std::uint32_t waiting_[kMostWaiting];
};

// Queries in tiles: (n_tiles, d, kTileQueries), padded with zeros.
template <class Query>
std::vector<float> packed_queries(const std::vector<Query>& tile_queries, const PanelView& panels,
                                  std::size_t d) {
  const std::size_t n_tiles = (tile_queries.size() + kTileQueries - 1) / kTileQueries;
  std::vector<float> packed(n_tiles * d * kTileQueries);
  for (std::size_t q = 0; q < tile_queries.size(); ++q) {
    if (tile_queries[q].is_far()) continue;
    float* to = packed.data() + q / kTileQueries * d * kTileQueries + q % kTileQueries;
    const double* row = tile_queries[q].query();
    for (std::size_t j = 0; j < d; ++j)
      to[j * kTileQueries] = moved(row[j], panels.centre[j], panels.scale);
  }
  return packed;
}

// Computes the sums of a tile. Returns a bit for each query with a sum up to its limit; sums are
// written only if there is one, since most tiles have none.
inline std::uint32_t scan_tile(const float* rows, const float* half_norms, const float* queries,
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

// Calls found(row of the tile) for the sums of a query up to a limit.
template <class Found>
void for_each_at_most(const float* sums, float limit, const Found& found) {
  for (std::size_t first = 0; first < kTileRows; first += FloatLanes::kCount) {
    std::uint32_t bits = FloatLanes::load(sums + first).at_most(FloatLanes::all(limit));
    for (; bits != 0; bits &= bits - 1)
      found(first + static_cast<std::size_t>(std::countr_zero(bits)));
  }
}

// The queries of a task.
template <class Query>
class Batch {
 public:
  Batch(std::vector<Query> tile_queries, const PanelView& panels, std::size_t d)
      : queries_(std::move(tile_queries)),
        packed_(packed_queries(queries_, panels, d)),
        limits_(packed_.size() / d, -std::numeric_limits<float>::infinity()),
        panels_(panels),
        d_(d) {
    for (std::size_t q = 0; q < queries_.size(); ++q) limits_[q] = queries_[q].limit();
  }

  std::size_t size() const { return queries_.size(); }
  Query& operator[](std::size_t q) { return queries_[q]; }

  // Compares all rows of a panel with the tile of queries that starts at `begin`.
  void scan(std::size_t panel, std::size_t begin) {
    alignas(64) float sums[kTileQueries * kTileRows];
    for (std::size_t t = 0; t < kTilesInPanel; ++t) {
      const std::size_t first = panel * kPanelRows + t * kTileRows;
      const float* rows = panels_.values + panel * kPanelRows * d_ + t * kTileRows;
      std::uint32_t hits = scan_tile(rows, panels_.half_norms + first, packed_.data() + begin * d_,
                                     d_, limits_.data() + begin, sums);
      for (; hits != 0; hits &= hits - 1) {
        const auto q = static_cast<std::size_t>(std::countr_zero(hits));
        for_each_at_most(sums + q * kTileRows, limits_[begin + q], [&](std::size_t row) {
          queries_[begin + q].pass(static_cast<std::uint32_t>(first + row));
        });
        limits_[begin + q] = queries_[begin + q].limit();
      }
    }
  }

  // Writes the bound of each query, and the lowest number as padding.
  void write_bounds(double* bounds, std::size_t room) const {
    for (std::size_t q = 0; q < room; ++q)
      bounds[q] = q < queries_.size() ? queries_[q].bound() : -1.0;
  }

  // Computes the distances of all candidates so far.
  void compute_distances() {
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      queries_[q].compute_distances();
      limits_[q] = queries_[q].limit();
    }
  }

 private:
  std::vector<Query> queries_;
  std::vector<float> packed_;
  std::vector<float> limits_;  // of whole tiles: no row passes the limits of padding
  const PanelView& panels_;
  std::size_t d_;
};

}  // namespace hedgerow::neighbors::euclidean_detail::inline HEDGEROW_LEVEL
