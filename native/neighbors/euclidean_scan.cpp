#include "neighbors/euclidean_scan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "neighbors/euclidean_tiles.hpp"

namespace hedgerow::neighbors {
namespace {

using namespace euclidean_detail;

// The smallest box around some rows: lows, then highs.
void find_box(const Matrix& rows, std::size_t begin, std::size_t end, double* box) {
  std::copy_n(rows.row(begin), rows.d, box);
  std::copy_n(rows.row(begin), rows.d, box + rows.d);
  for (std::size_t i = begin + 1; i < end; ++i) {
    for (std::size_t j = 0; j < rows.d; ++j) {
      box[j] = std::min(box[j], rows.row(i)[j]);
      box[rows.d + j] = std::max(box[rows.d + j], rows.row(i)[j]);
    }
  }
}

// As many queries as fit into half of the first-level cache beside a panel, in tiles.
std::size_t queries_at_once(std::size_t d, std::size_t n_queries, std::size_t most, int threads) {
  const std::size_t share =
      (n_queries + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  const std::size_t fit = std::clamp<std::size_t>(6144 / d, 4 * kTileQueries, 40 * kTileQueries);
  const std::size_t tiles = (std::min({fit, share, most}) + kTileQueries - 1) / kTileQueries;
  return tiles * kTileQueries;
}

template <class Distance, class Output>
void scan_all(const Matrix& rows, const PanelView& panels, const Distance& distance,
              const Matrix& queries, const Output& output, int threads) {
  const std::size_t width = queries_at_once(rows.d, queries.n, output.most_at_once(), threads);
  parallel_for(threads, (queries.n + width - 1) / width, [&](std::size_t task) {
    const std::size_t first = task * width, end = std::min(first + width, queries.n);
    using Query = TileQuery<Distance, typename Output::Keeper>;
    std::vector<Query> tile_queries;
    tile_queries.reserve(end - first);
    for (std::size_t q = first; q < end; ++q)
      tile_queries.emplace_back(rows, panels, distance, queries.row(q), output.keeper(distance));
    Batch<Query> batch(std::move(tile_queries), panels, rows.d);
    for (std::size_t panel = 0; panel < PanelView::count(rows.n); ++panel) {
      for (std::size_t begin = 0; begin < batch.size(); begin += kTileQueries)
        batch.scan(panel, begin);
      if (panel % 16 == 0) check_interrupt();
    }
    batch.compute_distances();
    for (std::size_t q = first; q < end; ++q) output.write(distance, q, batch[q - first].keeper());
  });
}

// The queries in lanes, for distances to boxes.
constexpr std::size_t kBoxLanes = 8;
static_assert(kBoxLanes >= kTileQueries && kBoxLanes % distance_detail::kLanes == 0);

// A tile of nearby queries, and lower bounds on their distances to the rows of each panel.
template <class Distance>
class BoxDistances {
 public:
  BoxDistances(const PanelView& panels, const Distance& distance, std::size_t n_panels)
      : panels_(panels),
        distance_(distance),
        queries_(distance.d * kBoxLanes),
        least_(n_panels * kBoxLanes),
        order_(n_panels) {}

  template <class Query>
  void find(Batch<Query>& batch) {
    const std::size_t d = distance_.d;
    for (std::size_t q = 0; q < kBoxLanes; ++q) {
      const double* query = batch[std::min(q, batch.size() - 1)].query();
      for (std::size_t j = 0; j < d; ++j) queries_[j * kBoxLanes + q] = query[j];
    }
    for (std::size_t panel = 0; panel < order_.size(); ++panel) {
      double* least = least_.data() + panel * kBoxLanes;
      to_box(panels_.boxes + panel * 2 * d, least);
      order_[panel] = {least[kTileQueries / 2], static_cast<std::uint32_t>(panel)};
    }
  }

  // The panels, starting with some of those nearest to one of the queries.
  const std::vector<Neighbor>& nearest_first() {
    const auto some = static_cast<std::ptrdiff_t>(std::min(kFirst, order_.size()));
    std::partial_sort(order_.begin(), order_.begin() + some, order_.end(), nearer);
    return order_;
  }

  // Whether a panel may have a row within the bound of a query; there is one for each lane.
  bool may_matter(std::size_t panel, const double* bounds) const {
    using namespace distance_detail;
    bool may = false;
    for (std::size_t q = 0; q < kBoxLanes; q += kLanes)
      may |= any(load(least_.data() + panel * kBoxLanes + q) <= load(bounds + q));
    return may;
  }

  // Panels to search before bounds are used to skip others.
  static constexpr std::size_t kFirst = 4;

 private:
  void to_box(const double* box, double* least) const {
    using namespace distance_detail;
    constexpr std::size_t kParts = kBoxLanes / kLanes;
    const std::size_t d = distance_.d;
    const Lanes zero = {};
    Lanes sum[kParts] = {};
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t v = 0; v < kParts; ++v) {
        const Lanes query = load(queries_.data() + j * kBoxLanes + v * kLanes);
        const Lanes below = box[j] - query, above = query - box[d + j];
        Lanes outside = below < above ? above : below;
        outside = outside < zero ? zero : outside;
        sum[v] += outside * outside;
      }
    }
    for (std::size_t v = 0; v < kParts; ++v) store(least + v * kLanes, sum[v]);
    for (std::size_t q = 0; q < kBoxLanes; ++q) least[q] = distance_.from_box(least[q]);
  }

  const PanelView& panels_;
  const Distance& distance_;
  std::vector<double> queries_;  // (d, kBoxLanes)
  std::vector<double> least_;    // (n_panels, kBoxLanes)
  std::vector<Neighbor> order_;  // of panels, with their distance to a query
};

// Queries are sorted by a k-d tree of their own, one tile after another: those of a tile have
// mostly the same nearby panels, and skip the others.
template <class Distance, class Output>
void scan_near(const Matrix& rows, const PanelView& panels, const Distance& distance,
               const Matrix& queries, const Output& output, int threads) {
  constexpr std::size_t kQueriesOfTask = 8 * kTileQueries;
  std::vector<std::uint32_t> order(queries.n);
  order_by_tree(queries, kTileQueries, order.data(), threads);
  const std::size_t tasks = (queries.n + kQueriesOfTask - 1) / kQueriesOfTask;
  parallel_for(threads, tasks, [&](std::size_t task) {
    BoxDistances boxes(panels, distance, PanelView::count(rows.n));
    const std::size_t last = std::min((task + 1) * kQueriesOfTask, queries.n);
    for (std::size_t first = task * kQueriesOfTask; first < last; first += kTileQueries) {
      const std::size_t end = std::min(first + kTileQueries, last);
      using Query = TileQuery<Distance, typename Output::Keeper>;
      std::vector<Query> tile_queries;
      for (std::size_t q = first; q < end; ++q)
        tile_queries.emplace_back(rows, panels, distance, queries.row(order[q]),
                                  output.keeper(distance));
      Batch<Query> batch(std::move(tile_queries), panels, rows.d);
      boxes.find(batch);
      double bounds[kBoxLanes];
      batch.write_bounds(bounds, kBoxLanes);
      std::size_t place = 0;
      for (const Neighbor& panel : boxes.nearest_first()) {
        const bool is_first = place++ < boxes.kFirst;
        if (!boxes.may_matter(panel.index, bounds)) continue;
        batch.scan(panel.index, 0);
        if (is_first) batch.compute_distances();
        batch.write_bounds(bounds, kBoxLanes);
      }
      batch.compute_distances();
      for (std::size_t q = first; q < end; ++q)
        output.write(distance, order[q], batch[q - first].keeper());
      check_interrupt();
    }
  });
}

}  // namespace

double pack_panels(const Matrix& rows, const double* centre, double scale, float* values,
                   float* half_norms, double* boxes, int threads) {
  const std::size_t d = rows.d, n_panels = PanelView::count(rows.n);
  const double shrink = 1.0 - 2.0 * std::min(error_factor(d), 0.5);
  std::vector<double> largest(n_panels);
  parallel_for(threads, n_panels, [&](std::size_t panel) {
    float* to = values + panel * kPanelRows * d;
    if (boxes) {
      const std::size_t begin = panel * kPanelRows, end = std::min(begin + kPanelRows, rows.n);
      find_box(rows, begin, end, boxes + panel * 2 * d);
    }
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
        half_norms[i] = -kLargest;
        continue;
      }
      half_norms[i] = rounded_down(0.5 * shrink * squared);
      largest[panel] = std::max(largest[panel], std::sqrt(squared));
    }
  });
  return *std::max_element(largest.begin(), largest.end()) * (1.0 + 0x1p-20);
}

template <class Output>
void search_panels(const Matrix& rows, const PanelView& panels, ProductMetric metric,
                   const Matrix& queries, const Output& output, int threads) {
  with_product_distance(metric, rows.d, [&](const auto& distance) {
    if (panels.boxes) return scan_near(rows, panels, distance, queries, output, threads);
    scan_all(rows, panels, distance, queries, output, threads);
  });
}

template void search_panels(const Matrix&, const PanelView&, ProductMetric, const Matrix&,
                            const NearestOutput&, int);
template void search_panels(const Matrix&, const PanelView&, ProductMetric, const Matrix&,
                            const RadiusOutput&, int);

}  // namespace hedgerow::neighbors
