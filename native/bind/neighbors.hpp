// Bindings of nearest neighbours: rows in panels, in blocks or a k-d tree, or sparse, and queries.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "neighbors/euclidean_scan.hpp"
#include "neighbors/kd_tree.hpp"
#include "neighbors/sparse.hpp"
#include "neighbors/unit_rows.hpp"

namespace hedgerow::bind_neighbors {

namespace nb = nanobind;
using namespace nb::literals;
using namespace neighbors;

template <class T, std::size_t dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t dimensions>
using Out = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Rows = In<double, 2>;

inline Matrix matrix(const Rows& rows) { return {rows.data(), rows.shape(0), rows.shape(1)}; }

template <class Array>
bool has_shape(const Array& array, std::initializer_list<std::size_t> shape) {
  std::size_t axis = 0;
  for (const std::size_t size : shape)
    if (array.shape(axis++) != size) return false;
  return true;
}

inline void require_rows(std::size_t n, std::size_t d) {
  require(n >= 1 && d >= 1 && n < (std::size_t{1} << 31), "there must be rows, fewer than 2^31");
}

inline NearestOutput nearest_output(const Out<double, 2>& distances,
                                    const Out<std::int64_t, 2>& indices, std::size_t n_queries,
                                    std::size_t n) {
  const std::size_t k = distances.shape(1);
  require(has_shape(distances, {n_queries, k}) && has_shape(indices, {n_queries, k}),
          "every query must have room for its neighbours");
  require(k >= 1 && k <= n, "there must be as many rows as neighbours");
  return {k, distances.data(), indices.data()};
}

// The result of a radius query: the number of neighbours of each query, and all of them
// concatenated.
inline nb::tuple to_arrays(const std::vector<std::vector<Neighbor>>& neighbors) {
  std::vector<std::int64_t> counts, indices;
  std::vector<double> distances;
  for (const auto& of_query : neighbors) {
    counts.push_back(static_cast<std::int64_t>(of_query.size()));
    for (const Neighbor& neighbor : of_query) {
      distances.push_back(neighbor.distance);
      indices.push_back(neighbor.index);
    }
  }
  const std::size_t n_queries = counts.size(), total = indices.size();
  return nb::make_tuple(moved_to_numpy<nb::ndim<1>>(std::move(counts), {n_queries}),
                        moved_to_numpy<nb::ndim<1>>(std::move(distances), {total}),
                        moved_to_numpy<nb::ndim<1>>(std::move(indices), {total}));
}

template <class Search>
nb::tuple within(std::size_t n_queries, double radius, const Search& search) {
  std::vector<std::vector<Neighbor>> neighbors(n_queries);
  {
    const GilReleased released;
    search(RadiusOutput{radius, neighbors.data()});
  }
  return to_arrays(neighbors);
}

inline ProductMetric product_metric(const std::string& name) {
  return value_named(kProductMetrics, name, "metric of products");
}

struct BoundPanels {
  Matrix rows;
  PanelView view;

  template <class Values, class HalfNorms, class Boxes>
  BoundPanels(const Rows& array, const Values& values, const HalfNorms& half_norms,
              const In<double, 1>& centre, double scale, double largest_norm,
              const std::optional<In<std::uint32_t, 1>>& index, const std::optional<Boxes>& boxes)
      : rows(matrix(array)),
        view{values.data(),
             half_norms.data(),
             centre.data(),
             scale,
             largest_norm,
             index ? index->data() : nullptr,
             boxes ? boxes->data() : nullptr} {
    require_rows(rows.n, rows.d);
    const std::size_t n_panels = PanelView::count(rows.n);
    require(has_shape(values, {n_panels, rows.d, kPanelRows}) &&
                has_shape(half_norms, {n_panels, kPanelRows}) && has_shape(centre, {rows.d}),
            "panels and rows must fit");
    require(!index || index->size() == rows.n, "every place must have a row");
    require(!boxes || has_shape(*boxes, {n_panels, 2, rows.d}), "every panel must have a box");
  }
};

struct BoundBlocks {
  RowBlocks rows;
  Metric metric;

  BoundBlocks(const In<double, 3>& values, const In<std::uint32_t, 1>& index,
              const std::optional<In<double, 3>>& boxes, const std::string& name, double p,
              const std::optional<In<double, 1>>& weights,
              const std::optional<In<double, 1>>& inverse_ranges)
      : rows{values.data(), index.data(), boxes ? boxes->data() : nullptr, index.size(),
             values.shape(1)},
        metric{name, p, weights ? weights->data() : nullptr,
               inverse_ranges ? inverse_ranges->data() : nullptr} {
    require_rows(rows.n, rows.d);
    require(has_shape(values, {rows.n_blocks(), rows.d, kBlockRows}), "blocks and rows must fit");
    require(!boxes || has_shape(*boxes, {2 * rows.n_blocks() - 1, 2, rows.d}),
            "every node must have a box");
    require(is_metric(name) && p > 0.0, "there is no such metric");
    require(name != "gower" || (weights && inverse_ranges && weights->size() == rows.d &&
                                inverse_ranges->size() == rows.d),
            "every column must have a weight and a range");
  }
};

// A CSR matrix from Python, with sorted columns.
inline SparseMatrix sparse(const In<double, 1>& values, const In<std::int32_t, 1>& columns,
                           const In<std::int64_t, 1>& starts, std::size_t d) {
  require(values.size() == columns.size() && starts.size() >= 2 && starts(0) == 0 &&
              starts(starts.size() - 1) == static_cast<std::int64_t>(values.size()),
          "values, columns and starts must fit");
  return {values.data(), columns.data(), starts.data(), starts.size() - 1, d};
}

inline void bind_sparse(nb::module_& m) {
  m.def(
      "unit_rows",
      [](const In<double, 1>& values, const In<std::int64_t, 1>& starts, const Out<double, 1>& out,
         int threads) {
        require(values.size() == out.size() && starts.size() >= 1 && starts(0) == 0 &&
                    starts(starts.size() - 1) == static_cast<std::int64_t>(values.size()),
                "values and starts must fit");
        const GilReleased released;
        unit_rows(values.data(), starts.data(), starts.size() - 1, out.data(), threads);
      },
      "values"_a.noconvert(), "starts"_a.noconvert(), "out"_a.noconvert(), "threads"_a);

  m.def(
      "nearest_in_sparse",
      [](const In<double, 1>& values, const In<std::int32_t, 1>& columns,
         const In<std::int64_t, 1>& starts, const In<double, 1>& by_column,
         const In<std::int32_t, 1>& rows, const In<std::int64_t, 1>& column_starts,
         const std::string& metric, const In<double, 1>& query_values,
         const In<std::int32_t, 1>& query_columns, const In<std::int64_t, 1>& query_starts,
         const Out<double, 2>& distances, const Out<std::int64_t, 2>& indices, int threads) {
        const std::size_t d = column_starts.size() - 1;
        const SparseIndex index{sparse(values, columns, starts, d),
                                sparse(by_column, rows, column_starts, starts.size() - 1)};
        const SparseMatrix queries = sparse(query_values, query_columns, query_starts, d);
        const auto output = nearest_output(distances, indices, queries.n, index.by_row.n);
        const GilReleased released;
        nearest_in_sparse(index, product_metric(metric), queries, output, threads);
      },
      "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(),
      "by_column"_a.noconvert(), "rows"_a.noconvert(), "column_starts"_a.noconvert(), "metric"_a,
      "query_values"_a.noconvert(), "query_columns"_a.noconvert(), "query_starts"_a.noconvert(),
      "distances"_a.noconvert(), "indices"_a.noconvert(), "threads"_a);

  m.def(
      "within_in_sparse",
      [](const In<double, 1>& values, const In<std::int32_t, 1>& columns,
         const In<std::int64_t, 1>& starts, const In<double, 1>& by_column,
         const In<std::int32_t, 1>& rows, const In<std::int64_t, 1>& column_starts,
         const std::string& metric, const In<double, 1>& query_values,
         const In<std::int32_t, 1>& query_columns, const In<std::int64_t, 1>& query_starts,
         double radius, int threads) {
        const std::size_t d = column_starts.size() - 1;
        const SparseIndex index{sparse(values, columns, starts, d),
                                sparse(by_column, rows, column_starts, starts.size() - 1)};
        const SparseMatrix queries = sparse(query_values, query_columns, query_starts, d);
        return within(queries.n, radius, [&](const RadiusOutput& output) {
          within_in_sparse(index, product_metric(metric), queries, output, threads);
        });
      },
      "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(),
      "by_column"_a.noconvert(), "rows"_a.noconvert(), "column_starts"_a.noconvert(), "metric"_a,
      "query_values"_a.noconvert(), "query_columns"_a.noconvert(), "query_starts"_a.noconvert(),
      "radius"_a, "threads"_a,
      "Returns the number of neighbours of each query, and all distances and indices.");
}

inline void bind_panels(nb::module_& m) {
  m.attr("PANEL_ROWS") = kPanelRows;
  m.def(
      "pack_panels",
      [](const Rows& rows, const In<double, 1>& centre, double scale, const Out<float, 3>& values,
         const Out<float, 2>& half_norms, const std::optional<Out<double, 3>>& boxes, int threads) {
        const BoundPanels fits(rows, values, half_norms, centre, scale, 0.0, {}, boxes);
        const GilReleased released;
        return pack_panels(fits.rows, centre.data(), scale, values.data(), half_norms.data(),
                           boxes ? boxes->data() : nullptr, threads);
      },
      "rows"_a.noconvert(), "centre"_a.noconvert(), "scale"_a, "values"_a.noconvert(),
      "half_norms"_a.noconvert(), "boxes"_a.noconvert().none(), "threads"_a,
      "Fills panels, and boxes if given; returns the largest norm.");

  m.def(
      "order_by_tree",
      [](const Rows& rows, const Out<std::uint32_t, 1>& index, int threads) {
        require_rows(rows.shape(0), rows.shape(1));
        require(index.size() == rows.shape(0), "every row must have a place");
        const GilReleased released;
        order_by_tree(matrix(rows), kPanelRows, index.data(), threads);
      },
      "rows"_a.noconvert(), "index"_a.noconvert(), "threads"_a);

  m.def(
      "nearest_in_panels",
      [](const Rows& rows, const In<float, 3>& values, const In<float, 2>& half_norms,
         const In<double, 1>& centre, double scale, double largest_norm,
         const std::optional<In<std::uint32_t, 1>>& index,
         const std::optional<In<double, 3>>& boxes, const std::string& metric, const Rows& queries,
         const Out<double, 2>& distances, const Out<std::int64_t, 2>& indices, int threads) {
        const BoundPanels panels(rows, values, half_norms, centre, scale, largest_norm, index,
                                 boxes);
        require(queries.shape(1) == panels.rows.d, "queries must have the rows' features");
        const auto output = nearest_output(distances, indices, queries.shape(0), panels.rows.n);
        const GilReleased released;
        nearest_in_panels(panels.rows, panels.view, product_metric(metric), matrix(queries), output,
                          threads);
      },
      "rows"_a.noconvert(), "values"_a.noconvert(), "half_norms"_a.noconvert(),
      "centre"_a.noconvert(), "scale"_a, "largest_norm"_a, "index"_a.noconvert().none(),
      "boxes"_a.noconvert().none(), "metric"_a, "queries"_a.noconvert(), "distances"_a.noconvert(),
      "indices"_a.noconvert(), "threads"_a);

  m.def(
      "within_in_panels",
      [](const Rows& rows, const In<float, 3>& values, const In<float, 2>& half_norms,
         const In<double, 1>& centre, double scale, double largest_norm,
         const std::optional<In<std::uint32_t, 1>>& index,
         const std::optional<In<double, 3>>& boxes, const std::string& metric, const Rows& queries,
         double radius, int threads) {
        const BoundPanels panels(rows, values, half_norms, centre, scale, largest_norm, index,
                                 boxes);
        require(queries.shape(1) == panels.rows.d, "queries must have the rows' features");
        return within(queries.shape(0), radius, [&](const RadiusOutput& output) {
          within_in_panels(panels.rows, panels.view, product_metric(metric), matrix(queries),
                           output, threads);
        });
      },
      "rows"_a.noconvert(), "values"_a.noconvert(), "half_norms"_a.noconvert(),
      "centre"_a.noconvert(), "scale"_a, "largest_norm"_a, "index"_a.noconvert().none(),
      "boxes"_a.noconvert().none(), "metric"_a, "queries"_a.noconvert(), "radius"_a, "threads"_a,
      "Returns the number of neighbours of each query, and all distances and indices.");
}

inline void bind_blocks(nb::module_& m) {
  m.attr("BLOCK_ROWS") = kBlockRows;
  m.def(
      "pack_blocks",
      [](const Rows& rows, const Out<double, 3>& values, const Out<std::uint32_t, 1>& index,
         const std::optional<Out<double, 3>>& boxes, int threads) {
        const Matrix table = matrix(rows);
        require(index.size() == table.n, "every row must have a place");
        const RowBlocks blocks{values.data(), index.data(), nullptr, table.n, table.d};
        require_rows(table.n, table.d);
        require(has_shape(values, {blocks.n_blocks(), table.d, kBlockRows}),
                "blocks and rows must fit");
        require(!boxes || has_shape(*boxes, {2 * blocks.n_blocks() - 1, 2, table.d}),
                "every node must have a box");
        const GilReleased released;
        if (boxes)
          build_kd_tree(table, values.data(), index.data(), boxes->data(), threads);
        else
          pack_blocks(table, values.data(), index.data(), threads);
      },
      "rows"_a.noconvert(), "values"_a.noconvert(), "index"_a.noconvert(),
      "boxes"_a.noconvert().none(), "threads"_a,
      "Fills blocks in the order of the rows, or as a k-d tree if boxes are given.");

  m.def(
      "nearest_in_blocks",
      [](const In<double, 3>& values, const In<std::uint32_t, 1>& index,
         const std::optional<In<double, 3>>& boxes, const std::string& metric, double p,
         const std::optional<In<double, 1>>& weights,
         const std::optional<In<double, 1>>& inverse_ranges, const Rows& queries,
         const Out<double, 2>& distances, const Out<std::int64_t, 2>& indices, int threads) {
        const BoundBlocks blocks(values, index, boxes, metric, p, weights, inverse_ranges);
        require(queries.shape(1) == blocks.rows.d, "queries must have the rows' features");
        const auto output = nearest_output(distances, indices, queries.shape(0), blocks.rows.n);
        const GilReleased released;
        nearest_in_blocks(blocks.rows, blocks.metric, matrix(queries), output, threads);
      },
      "values"_a.noconvert(), "index"_a.noconvert(), "boxes"_a.noconvert().none(), "metric"_a,
      "p"_a, "weights"_a.noconvert().none(), "inverse_ranges"_a.noconvert().none(),
      "queries"_a.noconvert(), "distances"_a.noconvert(), "indices"_a.noconvert(), "threads"_a);

  m.def(
      "within_in_blocks",
      [](const In<double, 3>& values, const In<std::uint32_t, 1>& index,
         const std::optional<In<double, 3>>& boxes, const std::string& metric, double p,
         const std::optional<In<double, 1>>& weights,
         const std::optional<In<double, 1>>& inverse_ranges, const Rows& queries, double radius,
         int threads) {
        const BoundBlocks blocks(values, index, boxes, metric, p, weights, inverse_ranges);
        require(queries.shape(1) == blocks.rows.d, "queries must have the rows' features");
        return within(queries.shape(0), radius, [&](const RadiusOutput& output) {
          within_in_blocks(blocks.rows, blocks.metric, matrix(queries), output, threads);
        });
      },
      "values"_a.noconvert(), "index"_a.noconvert(), "boxes"_a.noconvert().none(), "metric"_a,
      "p"_a, "weights"_a.noconvert().none(), "inverse_ranges"_a.noconvert().none(),
      "queries"_a.noconvert(), "radius"_a, "threads"_a,
      "Returns the number of neighbours of each query, and all distances and indices.");
}

inline void bind(nb::module_& m) {
  m.attr("METRICS") = std::apply(
      [](const auto&... row) {
        return nb::make_tuple(nb::str(row.name.data(), row.name.size())...);
      },
      kMetrics);
  bind_panels(m);
  bind_blocks(m);
  bind_sparse(m);
}

}  // namespace hedgerow::bind_neighbors
