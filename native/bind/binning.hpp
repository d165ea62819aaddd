// Bindings of binning: thresholds, tables → bins, bundles of exclusive features.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "table/binning.hpp"
#include "table/bundle.hpp"
#include "table/infinity.hpp"
#include "table/joint_columns.hpp"
#include "table/row_digest.hpp"
#include "table/row_lists.hpp"
#include "table/sketch.hpp"
#include "table/thresholds.hpp"

namespace hedgerow::bind_binning {

namespace nb = nanobind;
using namespace nb::literals;

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Packed = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BinsByColumn = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using BinsByRow = nb::ndarray<std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Input<T>& array) {
  return {array.data(), array.size()};
}

inline ValueType value_type(const nb::dlpack::dtype& type) {
  using enum ValueType;
  const auto sized = [&](auto bits8, auto bits16, auto bits32, auto bits64) {
    return type.bits == 8 ? bits8 : type.bits == 16 ? bits16 : type.bits == 32 ? bits32 : bits64;
  };
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Bool:
      return uint8;
    case nb::dlpack::dtype_code::Int:
      return sized(int8, int16, int32, int64);
    case nb::dlpack::dtype_code::UInt:
      return sized(uint8, uint16, uint32, uint64);
    case nb::dlpack::dtype_code::Float:
      if (type.bits <= 64) return sized(float16, float16, float32, float64);
      [[fallthrough]];
    default:
      throw nb::type_error("a column must be of floats, integers or booleans");
  }
}

// A table from Python, kept alive while it is viewed: a 2-d array, or a list of columns. A numeric
// column is a pair of values and a mask or None, a categorical column an array of int32 codes.
class Table {
 public:
  explicit Table(nb::handle table) {
    if (nb::isinstance<nb::list>(table))
      for (nb::handle column : nb::borrow<nb::list>(table)) add_column(column);
    else
      add_matrix(nb::cast<Matrix>(table, false));
  }

  std::span<const ColumnView> columns() const { return columns_; }
  std::size_t n_rows() const { return n_rows_; }

 private:
  void add_matrix(const Matrix& matrix) {
    const auto type = value_type(matrix.dtype());
    const auto bytes = static_cast<std::ptrdiff_t>(matrix.itemsize());
    const auto* start = static_cast<const std::byte*>(matrix.data());
    n_rows_ = matrix.shape(0);
    columns_.reserve(matrix.shape(1));
    for (std::size_t j = 0; j < matrix.shape(1); ++j)
      columns_.push_back({start + static_cast<std::ptrdiff_t>(j) * matrix.stride(1) * bytes,
                          matrix.stride(0) * bytes, nullptr, 0, type});
  }

  void add_column(nb::handle column) {
    if (!nb::isinstance<nb::tuple>(column)) {
      const Column codes = keep(column, ValueType::int32);
      columns_.push_back({static_cast<const std::byte*>(codes.data()), stride(codes), nullptr, 0,
                          ValueType::category});
      return;
    }
    const auto pair = nb::borrow<nb::tuple>(column);
    const Column values = keep(pair[0]);
    columns_.push_back({static_cast<const std::byte*>(values.data()), stride(values), nullptr, 0,
                        value_type(values.dtype())});
    if (pair[1].is_none()) return;
    const Column missing = keep(pair[1], ValueType::uint8);
    columns_.back().missing = static_cast<const std::byte*>(missing.data());
    columns_.back().missing_stride = stride(missing);
  }

  Column keep(nb::handle object, std::optional<ValueType> expected = {}) {
    arrays_.push_back(nb::cast<Column>(object, false));
    const Column& array = arrays_.back();
    if (arrays_.size() == 1) n_rows_ = array.shape(0);
    if (array.shape(0) != n_rows_) throw nb::value_error("columns must be equally long");
    if (expected && value_type(array.dtype()) != *expected)
      throw nb::type_error("codes must be int32 and masks boolean");
    return array;
  }

  static std::ptrdiff_t stride(const Column& array) {
    return array.stride(0) * static_cast<std::ptrdiff_t>(array.itemsize());
  }

  std::vector<Column> arrays_;
  std::vector<ColumnView> columns_;
  std::size_t n_rows_ = 0;
};

// A CSC matrix from Python, kept alive while it is viewed.
class SparseTable {
 public:
  SparseTable(nb::handle values, nb::handle rows, const Input<std::int64_t>& starts,
              std::size_t n_rows)
      : values_(nb::cast<Packed>(values, false)), rows_(nb::cast<Packed>(rows, false)) {
    const auto row_type = value_type(rows_.dtype());
    const bool wide = row_type == ValueType::int64;
    if (!wide && row_type != ValueType::int32)
      throw nb::type_error("row indices must be int32 or int64");
    view_ = {static_cast<const std::byte*>(values_.data()),
             value_type(values_.dtype()),
             static_cast<const std::byte*>(rows_.data()),
             wide,
             span_of(starts),
             n_rows};
  }

  const SparseView& view() const { return view_; }

 private:
  Packed values_, rows_;
  SparseView view_;
};

template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Output<T> numpy_array(std::vector<T> values) {
  const std::size_t size = values.size();
  return moved_to_numpy<nb::ndim<1>>(std::move(values), {size});
}

inline std::pair<Output<double>, Output<std::int64_t>> flat(
    const std::vector<std::vector<double>>& thresholds) {
  std::vector<double> all;
  std::vector<std::int64_t> starts{0};
  for (const auto& some : thresholds) {
    all.insert(all.end(), some.begin(), some.end());
    starts.push_back(static_cast<std::int64_t>(all.size()));
  }
  return {numpy_array(std::move(all)), numpy_array(std::move(starts))};
}

inline std::span<const double> weights_of(const std::optional<Input<double>>& weights,
                                          std::size_t n_rows) {
  if (weights && weights->size() != n_rows) throw nb::value_error("every row must have a weight");
  return weights ? span_of(*weights) : std::span<const double>();
}

// A row for each feature: its column, its first code, its bin of zeros.
using Places = nb::ndarray<const std::int32_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>;

inline std::vector<Place> places_of(const Places& array, std::size_t n_features) {
  if (array.shape(0) != n_features) throw nb::value_error("every feature must have a place");
  std::vector<Place> places;
  for (std::size_t f = 0; f < n_features; ++f) {
    places.push_back({array(f, 0), array(f, 1), array(f, 2), array(f, 3), array(f, 4)});
    if (array(f, 0) < 0 || static_cast<std::size_t>(array(f, 0)) >= n_features)
      throw nb::value_error("a feature's column must be one of as many as features");
  }
  return places;
}

inline std::size_t n_columns_of(std::span<const Place> places) {
  std::int32_t last = -1;
  for (const Place& place : places) last = std::max(last, place.column);
  return static_cast<std::size_t>(last) + 1;
}

inline BinLayouts layouts(const BinsByColumn& by_column, const std::optional<BinsByRow>& by_row,
                          std::size_t n_columns, std::size_t width) {
  const std::size_t n_features = by_column.shape(0), n_rows = by_column.shape(1);
  if (width < 1 || width > 32) throw nb::value_error("width must be 1 to 32");
  if (by_row && (by_row->shape(0) != (n_columns + width - 1) / width ||
                 by_row->shape(1) != n_rows || by_row->shape(2) < width))
    throw nb::value_error("by_row must be as large as by_column");
  return {by_column.data(),
          by_row ? by_row->data() : nullptr,
          n_rows,
          n_features,
          n_columns,
          width,
          by_row ? by_row->shape(2) : 0};
}

inline void require_features(std::size_t size, std::size_t expected) {
  if (size != expected) throw nb::value_error("the table and its bins differ in their features");
}

inline void bind_thresholds(nb::module_& m) {
  m.def(
      "find_thresholds",
      [](nb::handle table, const std::optional<Input<double>>& weights, int max_bins,
         std::size_t sample_size, std::uint64_t seed, int threads) {
        const Table view(table);
        const auto row_weight = weights_of(weights, view.n_rows());
        std::vector<std::vector<double>> thresholds;
        {
          const GilReleased released;
          thresholds = find_thresholds(view.columns(), view.n_rows(), row_weight,
                                       {max_bins, sample_size, seed}, threads);
        }
        return flat(thresholds);
      },
      nb::arg("table"), nb::arg("weights").noconvert().none(), nb::arg("max_bins"),
      nb::arg("sample_size"), nb::arg("seed"), nb::arg("threads"));
  m.def(
      "find_sparse_thresholds",
      [](nb::handle values, nb::handle rows, const Input<std::int64_t>& starts, std::size_t n_rows,
         const std::optional<Input<double>>& weights, int max_bins, std::size_t sample_size,
         std::uint64_t seed, int threads) {
        const SparseTable table(values, rows, starts, n_rows);
        const auto row_weight = weights_of(weights, n_rows);
        std::vector<std::vector<double>> thresholds;
        {
          const GilReleased released;
          thresholds = find_sparse_thresholds(table.view(), row_weight,
                                              {max_bins, sample_size, seed}, threads);
        }
        return flat(thresholds);
      },
      nb::arg("values"), nb::arg("rows"), nb::arg("starts").noconvert(), nb::arg("n_rows"),
      nb::arg("weights").noconvert().none(), nb::arg("max_bins"), nb::arg("sample_size"),
      nb::arg("seed"), nb::arg("threads"));
}

inline void bind_mapping(nb::module_& m) {
  m.def(
      "map_to_bins",
      [](nb::handle table, const Input<double>& thresholds,
         const Input<std::int64_t>& threshold_starts, const Input<std::uint8_t>& category_bins,
         const Input<std::int64_t>& category_starts, const BinsByColumn& by_column,
         const std::optional<BinsByRow>& by_row, std::size_t width, int threads,
         std::size_t first_row) {
        const Table view(table);
        const auto out = layouts(by_column, by_row, by_column.shape(0), width);
        require_features(view.columns().size(), out.n_features);
        require_features(threshold_starts.size() - 1, out.n_features);
        require_features(category_starts.size() - 1, out.n_features);
        if (first_row > out.n_rows || view.n_rows() > out.n_rows - first_row)
          throw nb::value_error("the bins must have a row for each");
        const GilReleased released;
        return map_to_bins(view.columns(),
                           {span_of(thresholds), span_of(threshold_starts), span_of(category_bins),
                            span_of(category_starts)},
                           out, {first_row, view.n_rows()}, threads);
      },
      nb::arg("table"), nb::arg("thresholds").noconvert(), nb::arg("threshold_starts").noconvert(),
      nb::arg("category_bins").noconvert(), nb::arg("category_starts").noconvert(),
      nb::arg("by_column").noconvert(), nb::arg("by_row").noconvert().none(), nb::arg("width"),
      nb::arg("threads"), nb::arg("first_row") = 0,
      "Writes the rows of a table to the rows of the bins that begin at first_row; returns whether "
      "every value was finite or missing.");
  m.def(
      "map_sparse_to_bins",
      [](nb::handle values, nb::handle rows, const Input<std::int64_t>& starts,
         const Input<double>& thresholds, const Input<std::int64_t>& threshold_starts,
         const BinsByColumn& by_column, const std::optional<BinsByRow>& by_row, std::size_t width,
         int threads) {
        const SparseTable table(values, rows, starts, by_column.shape(1));
        const auto out = layouts(by_column, by_row, by_column.shape(0), width);
        require_features(starts.size() - 1, out.n_features);
        require_features(threshold_starts.size() - 1, out.n_features);
        const GilReleased released;
        return map_sparse_to_bins(
            table.view(), {span_of(thresholds), span_of(threshold_starts), {}, {}}, out, threads);
      },
      nb::arg("values"), nb::arg("rows"), nb::arg("starts").noconvert(),
      nb::arg("thresholds").noconvert(), nb::arg("threshold_starts").noconvert(),
      nb::arg("by_column").noconvert(), nb::arg("by_row").noconvert().none(), nb::arg("width"),
      nb::arg("threads"), "Returns whether every value was finite or missing.");
}

inline void bind_sparse_mapping(nb::module_& m) {
  m.def(
      "map_stored_to_bins",
      [](nb::handle values, nb::handle rows, const Input<std::int64_t>& starts, std::size_t n_rows,
         const Input<double>& thresholds, const Input<std::int64_t>& threshold_starts,
         const Out<std::uint8_t, 1>& bins, int threads) {
        const SparseTable table(values, rows, starts, n_rows);
        require_features(threshold_starts.size(), starts.size());
        if (static_cast<std::int64_t>(bins.size()) != table.view().starts.back())
          throw nb::value_error("there must be a bin for each stored value");
        const GilReleased released;
        return map_stored_to_bins(table.view(),
                                  {span_of(thresholds), span_of(threshold_starts), {}, {}},
                                  bins.data(), threads);
      },
      nb::arg("values"), nb::arg("rows"), nb::arg("starts").noconvert(), nb::arg("n_rows"),
      nb::arg("thresholds").noconvert(), nb::arg("threshold_starts").noconvert(),
      nb::arg("bins").noconvert(), nb::arg("threads"),
      "Returns whether every stored value was finite or missing.");
}

// The five numbers of each place.
inline auto to_numbers(std::span<const Place> places) {
  std::vector<std::int32_t> flat;
  for (const Place& place : places)
    for (const std::int32_t number :
         {place.column, place.first, place.zero_bin, place.stride, place.radix})
      flat.push_back(number);
  return numpy_array(std::move(flat));
}

inline void bind_places(nb::module_& m) {
  m.def(
      "interleave",
      [](const BinsByColumn& by_column, const BinsByRow& by_row, const Places& places,
         std::size_t width, int threads) {
        const auto place = places_of(places, by_column.shape(0));
        const auto out = layouts(by_column, by_row, n_columns_of(place), width);
        const GilReleased released;
        interleave(out, place, threads);
      },
      nb::arg("by_column").noconvert(), nb::arg("by_row").noconvert(),
      nb::arg("places").noconvert(), nb::arg("width"), nb::arg("threads"),
      "Fills by_row from by_column.");
  m.def(
      "bundle_features",
      [](const BinsByColumn& by_column, const Input<std::int32_t>& n_bins,
         const Input<std::int32_t>& zero_bin) {
        require_features(n_bins.size(), by_column.shape(0));
        require_features(zero_bin.size(), by_column.shape(0));
        std::vector<Place> places;
        {
          const GilReleased released;
          places = bundle_features({by_column.data(), by_column.shape(1), span_of(n_bins)},
                                   span_of(zero_bin));
        }
        return to_numbers(places);
      },
      nb::arg("by_column").noconvert(), nb::arg("n_bins").noconvert(),
      nb::arg("zero_bin").noconvert(),
      "Bundles exclusive features: five numbers a feature, those of native/table/place.hpp.");
  m.def(
      "find_missing",
      [](const BinsByColumn& by_column, int threads) {
        std::vector<std::uint8_t> has_missing;
        {
          const GilReleased released;
          has_missing =
              find_missing(by_column.data(), by_column.shape(0), by_column.shape(1), threads);
        }
        return numpy_array(std::move(has_missing));
      },
      nb::arg("by_column").noconvert(), nb::arg("threads"),
      "Whether each feature has missing values, 1 or 0.");
  m.def(
      "join_columns",
      [](const Places& places, const Input<std::int32_t>& n_bins,
         const Input<std::uint8_t>& has_missing, int most_codes) {
        require_features(places.shape(0), n_bins.size());
        require_features(has_missing.size(), n_bins.size());
        return to_numbers(join_columns(places_of(places, n_bins.size()), span_of(n_bins),
                                       span_of(has_missing), most_codes));
      },
      nb::arg("places").noconvert(), nb::arg("n_bins").noconvert(),
      nb::arg("has_missing").noconvert(), nb::arg("most_codes"),
      "Joins columns that have few codes: five numbers a feature.");
}

using Ranks = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline RankedColumns ranked_columns(const Ranks& order, const Ranks& rank,
                                    const Input<double>& values,
                                    const Input<std::int64_t>& value_starts,
                                    const Input<bool>& is_categorical) {
  const std::size_t n_features = rank.shape(0), n_rows = rank.shape(1);
  require_features(is_categorical.size(), n_features);
  require_features(order.shape(0), n_features);
  if (value_starts.size() != n_features + 1 || order.shape(1) != n_rows) {
    throw nb::value_error("columns must be equally long");
  }
  return {order.data(),          rank.data(), values.data(), value_starts.data(),
          is_categorical.data(), n_features,  n_rows};
}

inline void bind_sketch(nb::module_& m) {
  nb::class_<ValueCells>(m, "ValueCells",
                         "A fine division of sorted columns, from which bins are made quickly.");
  m.def(
      "value_cells",
      [](const Ranks& order, const Ranks& rank, const Input<double>& values,
         const Input<std::int64_t>& value_starts, const Input<bool>& is_categorical, int threads) {
        const RankedColumns columns =
            ranked_columns(order, rank, values, value_starts, is_categorical);
        const GilReleased released;
        return divide_into_cells(columns, threads);
      },
      nb::arg("order").noconvert(), nb::arg("rank").noconvert(), nb::arg("values").noconvert(),
      nb::arg("value_starts").noconvert(), nb::arg("is_categorical").noconvert(),
      nb::arg("threads"), "The cells of sorted columns.");
  m.def(
      "sketch_bins",
      [](const Ranks& order, const Ranks& rank, const Input<double>& values,
         const Input<std::int64_t>& value_starts, const Input<bool>& is_categorical,
         const ValueCells* cells, const Input<double>& hessian, int max_bins,
         const BinsByColumn& bins, int threads) {
        const RankedColumns columns =
            ranked_columns(order, rank, values, value_starts, is_categorical);
        require_features(bins.shape(0), columns.n_features);
        if (hessian.size() != columns.n_rows || bins.shape(1) != columns.n_rows) {
          throw nb::value_error("columns must be equally long");
        }
        if (cells && cells->code.size() != columns.n_features * columns.n_rows) {
          throw nb::value_error("cells must be those of the columns");
        }
        std::vector<std::vector<double>> thresholds;
        {
          const GilReleased released;
          thresholds =
              sketch_bins(columns, cells, span_of(hessian), max_bins, bins.data(), threads);
        }
        return flat(thresholds);
      },
      nb::arg("order").noconvert(), nb::arg("rank").noconvert(), nb::arg("values").noconvert(),
      nb::arg("value_starts").noconvert(), nb::arg("is_categorical").noconvert(),
      nb::arg("cells").none(), nb::arg("hessian").noconvert(), nb::arg("max_bins"),
      nb::arg("bins").noconvert(), nb::arg("threads"),
      "Bins of nearly equal hessian; returns their thresholds, and where those of each feature "
      "start.");
}

inline void bind_digest(nb::module_& m) {
  m.def(
      "digest_rows",
      [](const nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& bins,
         const std::vector<Input<std::uint64_t>>& words, std::uint64_t first_row, int threads) {
        std::vector<const std::uint64_t*> columns;
        for (const auto& column : words) {
          if (column.size() != bins.shape(1)) throw nb::value_error("columns must be equally long");
          columns.push_back(column.data());
        }
        RowDigest digest;
        {
          const GilReleased released;
          digest =
              digest_rows({bins.data(), bins.shape(0), bins.shape(1)}, columns, first_row, threads);
        }
        return numpy_array(std::vector<std::uint64_t>(digest.begin(), digest.end()));
      },
      nb::arg("bins").noconvert(), nb::arg("words"), nb::arg("first_row"), nb::arg("threads"),
      "A digest of rows: bins (n_features, n_rows) and further columns of 64 bits. The digests of "
      "several workers add up, modulo 2^64, to that of all rows.");
}

template <class T>
void bind_infinity(nb::module_& m) {
  m.def(
      "has_infinity",
      [](const StridedMatrix<const T>& values, int threads) {
        GilReleased release;
        return has_infinity(strided(values), values.shape(0), values.shape(1), threads);
      },
      "values"_a.noconvert(), "threads"_a, "Whether a table of any strides holds an infinity.");
}

inline void bind(nb::module_& m) {
  bind_sketch(m);
  bind_digest(m);
  m.def(
      "examine_row_lists",
      [](In<std::int32_t, 1> starts, In<std::int32_t, 1> columns, std::size_t n_columns,
         int threads) {
        RowListsState state;
        {
          GilReleased release;
          state = examine_row_lists({starts.data(), starts.size()},
                                    {columns.data(), columns.size()}, n_columns, threads);
        }
        return nb::make_tuple(state.are_valid, state.are_sorted, state.are_unique);
      },
      "starts"_a.noconvert(), "columns"_a.noconvert(), "n_columns"_a, "threads"_a,
      "Whether the rows of a sparse table are valid, sorted, and without repeated columns.");
  bind_infinity<float>(m);
  bind_infinity<double>(m);
  bind_thresholds(m);
  bind_mapping(m);
  bind_sparse_mapping(m);
  bind_places(m);
}

}  // namespace hedgerow::bind_binning
