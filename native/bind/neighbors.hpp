// Bindings of nearest neighbours: indexes of rows in panels, in blocks or a k-d tree, or sparse.
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
#include "core/buffer.hpp"
#include "neighbors/euclidean_scan.hpp"
#include "neighbors/kd_tree.hpp"
#include "neighbors/sparse.hpp"
#include "neighbors/unit_rows.hpp"

namespace hedgerow::bind_neighbors {

using namespace neighbors;

using Rows = In<double, 2>;

inline Matrix matrix(const Rows& rows) { return {rows.data(), rows.shape(0), rows.shape(1)}; }

inline Matrix queries_like(const Rows& rows, std::size_t n_features) {
  require(rows.shape(1) == n_features, "queries must have the rows' features");
  return matrix(rows);
}

inline void require_rows(std::size_t n, std::size_t d) {
  require(n >= 1 && d >= 1 && n < (std::size_t{1} << 31), "there must be rows, fewer than 2^31");
}

inline NearestOutput nearest_output(const Out<double, 2>& distances,
                                    const Out<std::int64_t, 2>& indices, std::size_t n_queries,
                                    std::size_t n) {
  const std::size_t k = distances.shape(1);
  require(distances.shape(0) == n_queries && indices.shape(0) == n_queries && indices.shape(1) == k,
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

inline ProductMetric product_metric(const std::string& name) {
  return value_named(kProductMetrics, name, "metric of products");
}

// Rows in panels. With `index` they are in the order of a k-d tree, and panels have boxes.
class PanelIndex {
 public:
  PanelIndex(const Rows& rows, const In<double, 1>& centre, double scale,
             const std::optional<In<std::uint32_t, 1>>& index, const std::string& metric,
             int threads)
      : rows_(rows), centre_(centre), index_(index), metric_(product_metric(metric)) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    require_rows(n, d);
    require(centre.size() == d, "panels and rows must fit");
    require(!index || index->size() == n, "every place must have a row");
    const std::size_t n_panels = PanelView::count(n);
    values_ = Buffer<float>(n_panels * d * kPanelRows);
    half_norms_ = Buffer<float>(n_panels * kPanelRows);
    if (index) boxes_ = Buffer<double>(n_panels * 2 * d);
    const GilReleased released;
    const double largest = pack_panels(matrix(rows), centre.data(), scale, values_.get(),
                                       half_norms_.get(), boxes_.get(), threads);
    view_ = {values_.get(), half_norms_.get(), centre.data(),
             scale,         largest,           index ? index->data() : nullptr,
             boxes_.get()};
  }

  std::size_t n_rows() const { return rows_.shape(0); }
  Matrix queries(const Rows& rows) const { return queries_like(rows, rows_.shape(1)); }
  template <class Output>
  void search(const Matrix& queries, const Output& output, int threads) const {
    search_panels(matrix(rows_), view_, metric_, queries, output, threads);
  }

 private:
  Rows rows_;
  In<double, 1> centre_;
  std::optional<In<std::uint32_t, 1>> index_;
  ProductMetric metric_;
  Buffer<float> values_, half_norms_;
  Buffer<double> boxes_;
  PanelView view_;
};

// Rows in blocks, in their order or as a k-d tree.
class BlockIndex {
 public:
  BlockIndex(const Rows& rows, bool tree, const std::string& metric, double p,
             const std::optional<In<double, 1>>& weights,
             const std::optional<In<double, 1>>& inverse_ranges, int threads)
      : name_(metric),
        weights_(weights),
        inverse_ranges_(inverse_ranges),
        metric_{name_, p, weights ? weights->data() : nullptr,
                inverse_ranges ? inverse_ranges->data() : nullptr} {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    require_rows(n, d);
    require(is_metric(metric) && p > 0.0, "there is no such metric");
    require(metric != "gower" ||
                (weights && inverse_ranges && weights->size() == d && inverse_ranges->size() == d),
            "every column must have a weight and a range");
    const std::size_t n_blocks = (n + kBlockRows - 1) / kBlockRows;
    values_ = Buffer<double>(n_blocks * d * kBlockRows);
    index_ = Buffer<std::uint32_t>(n);
    if (tree) boxes_ = Buffer<double>((2 * n_blocks - 1) * 2 * d);
    view_ = {values_.get(), index_.get(), boxes_.get(), n, d};
    const GilReleased released;
    pack_blocks(matrix(rows), values_.get(), index_.get(), boxes_.get(), threads);
  }

  std::size_t n_rows() const { return view_.n; }
  Matrix queries(const Rows& rows) const { return queries_like(rows, view_.d); }
  template <class Output>
  void search(const Matrix& queries, const Output& output, int threads) const {
    search_blocks(view_, metric_, queries, output, threads);
  }

 private:
  std::string name_;
  std::optional<In<double, 1>> weights_, inverse_ranges_;
  Metric metric_;
  Buffer<double> values_, boxes_;
  Buffer<std::uint32_t> index_;
  RowBlocks view_;
};

// A CSR matrix from Python, with sorted columns.
struct SparseArrays {
  In<double, 1> values;
  In<std::int32_t, 1> columns;
  In<std::int64_t, 1> starts;

  SparseMatrix view(std::size_t d) const {
    require(values.size() == columns.size() && starts.size() >= 2 && starts(0) == 0 &&
                starts(starts.size() - 1) == static_cast<std::int64_t>(values.size()),
            "values, columns and starts must fit");
    return {values.data(), columns.data(), starts.data(), starts.size() - 1, d};
  }
};

// Sparse rows, and the same by column.
class SparseMatrixIndex {
 public:
  SparseMatrixIndex(const SparseArrays& by_row, const SparseArrays& by_column,
                    const std::string& metric)
      : by_row_(by_row),
        by_column_(by_column),
        view_{by_row.view(by_column.starts.size() - 1), by_column.view(by_row.starts.size() - 1)},
        metric_(product_metric(metric)) {}

  std::size_t n_rows() const { return view_.by_row.n; }
  SparseMatrix queries(const SparseArrays& rows) const { return rows.view(view_.by_row.d); }
  template <class Output>
  void search(const SparseMatrix& queries, const Output& output, int threads) const {
    search_sparse(view_, metric_, queries, output, threads);
  }

 private:
  SparseArrays by_row_, by_column_;
  SparseIndex view_;
  ProductMetric metric_;
};

// Binds the queries of an index.
template <class Query, class Index>
void bind_queries(nb::class_<Index>& bound) {
  bound.def(
      "nearest",
      [](const Index& index, const Query& rows, const Out<double, 2>& distances,
         const Out<std::int64_t, 2>& indices, int threads) {
        const auto queries = index.queries(rows);
        const auto output = nearest_output(distances, indices, queries.n, index.n_rows());
        const GilReleased released;
        index.search(queries, output, threads);
      },
      "queries"_a.noconvert(), "distances"_a.noconvert(), "indices"_a.noconvert(), "threads"_a,
      "Fills in the nearest rows of each query, as many as the arrays have columns.");
  bound.def(
      "within",
      [](const Index& index, const Query& rows, double radius, int threads) {
        const auto queries = index.queries(rows);
        std::vector<std::vector<Neighbor>> neighbors(queries.n);
        {
          const GilReleased released;
          index.search(queries, RadiusOutput{radius, neighbors.data()}, threads);
        }
        return to_arrays(neighbors);
      },
      "queries"_a.noconvert(), "radius"_a, "threads"_a,
      "Returns the number of neighbours of each query, and all distances and indices.");
}

inline void bind_indexes(nb::module_& m) {
  nb::class_<PanelIndex> panels(m, "PanelIndex");
  panels.def(nb::init<const Rows&, const In<double, 1>&, double,
                      const std::optional<In<std::uint32_t, 1>>&, const std::string&, int>(),
             "rows"_a.noconvert(), "centre"_a.noconvert(), "scale"_a, "index"_a.noconvert().none(),
             "metric"_a, "threads"_a);
  bind_queries<Rows>(panels);
  nb::class_<BlockIndex> blocks(m, "BlockIndex");
  blocks.def(
      nb::init<const Rows&, bool, const std::string&, double, const std::optional<In<double, 1>>&,
               const std::optional<In<double, 1>>&, int>(),
      "rows"_a.noconvert(), "tree"_a, "metric"_a, "p"_a, "weights"_a.noconvert().none(),
      "inverse_ranges"_a.noconvert().none(), "threads"_a);
  bind_queries<Rows>(blocks);
  nb::class_<SparseArrays>(m, "SparseArrays")
      .def(nb::init<In<double, 1>, In<std::int32_t, 1>, In<std::int64_t, 1>>(),
           "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert());
  nb::class_<SparseMatrixIndex> sparse(m, "SparseIndex");
  sparse.def(nb::init<const SparseArrays&, const SparseArrays&, const std::string&>(), "by_row"_a,
             "by_column"_a, "metric"_a);
  bind_queries<SparseArrays>(sparse);
}

inline void bind_rows(nb::module_& m) {
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
      "order_by_tree",
      [](const Rows& rows, const Out<std::uint32_t, 1>& index, int threads) {
        require_rows(rows.shape(0), rows.shape(1));
        require(index.size() == rows.shape(0), "every row must have a place");
        const GilReleased released;
        order_by_tree(matrix(rows), kPanelRows, index.data(), threads);
      },
      "rows"_a.noconvert(), "index"_a.noconvert(), "threads"_a);
}

inline void bind(nb::module_& m) {
  m.attr("METRICS") = std::apply(
      [](const auto&... row) {
        return nb::make_tuple(nb::str(row.name.data(), row.name.size())...);
      },
      kMetrics);
  bind_rows(m);
  bind_indexes(m);
}

}  // namespace hedgerow::bind_neighbors
