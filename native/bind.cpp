// Bindings: the one file that knows Python. Arrays are taken as they are (no silent conversion);
// kernels behind this door trust what they are given.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <stdexcept>

#include "gradients.hpp"
#include "grow.hpp"
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "interrupt.hpp"
#include <optional>
#include <stdexcept>
#include <vector>

#include "binning.hpp"
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "exact.hpp"
#include "threads.hpp"
#include "thresholds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hedgerow {
namespace {

// ---- training: gradients and trees -------------------------------------------------------------

template <class T, class... Shape>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;

// A NumPy array that owns a copy of the values.
template <class T, class Source>
nb::ndarray<nb::numpy, T> to_numpy(const std::vector<Source>& values, std::initializer_list<std::size_t> shape) {
  auto* copy = new T[values.size() + 1];
  for (std::size_t i = 0; i < values.size(); ++i) copy[i] = static_cast<T>(values[i]);
  nb::capsule owner(copy, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  return nb::ndarray<nb::numpy, T>(copy, shape.size(), shape.begin(), owner);
}

template <class T, class Source>
nb::ndarray<nb::numpy, T> to_numpy(const std::vector<Source>& values) {
  return to_numpy<T>(values, {values.size()});
}

Loss loss_named(const std::string& name) {
  if (name == "squared_error") return Loss::squared_error;
  if (name == "log_loss") return Loss::log_loss;
  if (name == "multinomial") return Loss::multinomial;
  throw std::invalid_argument("no native loss is called " + name);
}

Rows make_rows(Array<double, nb::ndim<2>> scores, std::optional<Array<const std::uint16_t, nb::ndim<2>>> leaf,
               Array<const double, nb::ndim<2>> leaf_value, Array<const double, nb::ndim<1>> target,
               std::optional<Array<const double, nb::ndim<1>>> weight) {
  return {scores.data(),
          leaf ? leaf->data() : nullptr,
          leaf_value.data(),
          leaf_value.shape(1),
          target.data(),
          weight ? weight->data() : nullptr,
          scores.shape(1),
          static_cast<int>(scores.shape(0))};
}

// Threshold of a numeric split: the last bin's is above every finite number.
std::vector<double> thresholds_of(const GrownTree& tree, const Array<const double, nb::ndim<1>>& flat,
                                  const Array<const std::int64_t, nb::ndim<1>>& offset) {
  std::vector<double> threshold(tree.feature.size(), 0.0);
  for (std::size_t i = 0; i < threshold.size(); ++i) {
    if (tree.feature[i] < 0 || tree.category_set[i] >= 0) continue;
    const auto f = static_cast<std::size_t>(tree.feature[i]);
    const std::int64_t at = offset.data()[f] + tree.split_bin[i];
    threshold[i] = at < offset.data()[f + 1] ? flat.data()[at] : std::numeric_limits<double>::max();
  }
  return threshold;
}

// A Grower with the arrays that it looks at.
struct BoundGrower {
  Array<const std::uint8_t, nb::ndim<2>> by_column;
  Array<const std::uint8_t, nb::ndim<3>> by_row;
  Array<const std::int32_t, nb::ndim<1>> n_bins;
  Array<const bool, nb::ndim<1>> is_categorical;
  Array<const double, nb::ndim<1>> thresholds;
  Array<const std::int64_t, nb::ndim<1>> threshold_offset;
  Grower grower;
};

BinnedView view_of(const Array<const std::uint8_t, nb::ndim<2>>& by_column,
                   const Array<const std::uint8_t, nb::ndim<3>>& by_row,
                   const Array<const std::int32_t, nb::ndim<1>>& n_bins,
                   const Array<const bool, nb::ndim<1>>& is_categorical, int width) {
  return {by_column.data(),        by_row.data(),
          n_bins.data(),           is_categorical.data(),
          by_column.shape(1),      static_cast<int>(by_column.shape(0)),
          width,                   static_cast<int>(by_row.shape(2))};
}

nb::tuple to_arrays(const BoundGrower& bound, const GrownTree& tree) {
  return nb::make_tuple(
      to_numpy<std::int32_t>(tree.feature),
      to_numpy<double>(thresholds_of(tree, bound.thresholds, bound.threshold_offset)),
      to_numpy<std::int32_t>(tree.left), to_numpy<std::int32_t>(tree.right),
      to_numpy<bool>(tree.missing_left), to_numpy<std::int32_t>(tree.category_set),
      to_numpy<std::uint32_t>(tree.category_bits, {tree.category_bits.size() / 8, 8}),
      to_numpy<double>(tree.value, {tree.value.size(), 1}), to_numpy<double>(tree.gain),
      to_numpy<double>(tree.cover), to_numpy<std::int64_t>(tree.count),
      to_numpy<std::uint8_t>(tree.split_bin));
}

void bind_training(nb::module_& m) {
  nb::class_<SplitRules>(m, "SplitRules")
      .def(nb::init<>())
      .def_rw("reg_lambda", &SplitRules::reg_lambda)
      .def_rw("reg_alpha", &SplitRules::reg_alpha)
      .def_rw("min_split_gain", &SplitRules::min_split_gain)
      .def_rw("max_delta_step", &SplitRules::max_delta_step)
      .def_rw("min_child_weight", &SplitRules::min_child_weight)
      .def_rw("min_samples_leaf", &SplitRules::min_samples_leaf)
      .def_rw("max_cat_to_onehot", &SplitRules::max_cat_to_onehot)
      .def_rw("max_cat_threshold", &SplitRules::max_cat_threshold)
      .def_rw("cat_smooth", &SplitRules::cat_smooth)
      .def_rw("cat_l2", &SplitRules::cat_l2);
  nb::class_<GrowSettings>(m, "GrowSettings")
      .def(nb::init<>())
      .def_rw("rules", &GrowSettings::rules)
      .def_rw("max_leaves", &GrowSettings::max_leaves)
      .def_rw("max_depth", &GrowSettings::max_depth)
      .def_rw("leafwise", &GrowSettings::leafwise)
      .def_rw("learning_rate", &GrowSettings::learning_rate)
      .def_rw("colsample_bytree", &GrowSettings::colsample_bytree)
      .def_rw("colsample_bylevel", &GrowSettings::colsample_bylevel)
      .def_rw("colsample_bynode", &GrowSettings::colsample_bynode)
      .def_rw("seed", &GrowSettings::seed);
  m.attr("most_leaves") = kMostLeaves;

  nb::class_<GradientStore>(m, "GradientStore")
      .def(nb::init<std::size_t, int, int>(), "n_rows"_a, "n_outputs"_a, "threads"_a)
      .def(
          "differentiate",
          [](GradientStore& store, const std::string& loss, Array<double, nb::ndim<2>> scores,
             std::optional<Array<const std::uint16_t, nb::ndim<2>>> leaf,
             Array<const double, nb::ndim<2>> leaf_value, Array<const double, nb::ndim<1>> target,
             std::optional<Array<const double, nb::ndim<1>>> weight) {
            const Rows rows = make_rows(scores, leaf, leaf_value, target, weight);
            const Loss kind = loss_named(loss);
            nb::gil_scoped_release release;
            store.differentiate(kind, rows);
          },
          "loss"_a, "scores"_a.noconvert(), "leaf"_a.none(), "leaf_value"_a, "target"_a, "weight"_a.none(),
          "Adds the leaf values to the scores and takes the loss's gradients at the new ones.")
      .def(
          "take",
          [](GradientStore& store, Array<const double, nb::ndim<2>> g, Array<const double, nb::ndim<2>> h) {
            nb::gil_scoped_release release;
            store.take(g.data(), h.data());
          },
          "gradient"_a, "hessian"_a, "Takes the gradients of a user's own loss.")
      .def(
          "to_float",
          [](const GradientStore& store, int output) {
            const Gradients& gradients = store.output(output);
            std::vector<double> pairs(2 * store.n_rows());
            for (std::size_t i = 0; i < store.n_rows(); ++i) {
              const Sum sum = gradients.row(i);
              pairs[2 * i] = gradients.fixed.g(sum);
              pairs[2 * i + 1] = gradients.fixed.h(sum);
            }
            return to_numpy<double>(pairs, {store.n_rows(), 2});
          },
          "output"_a, "The quantised gradients and hessians as numbers, a row each.");

  nb::class_<BoundGrower>(m, "Grower")
      .def(
          "__init__",
          [](BoundGrower* self, Array<const std::uint8_t, nb::ndim<2>> by_column,
             Array<const std::uint8_t, nb::ndim<3>> by_row, Array<const std::int32_t, nb::ndim<1>> n_bins,
             Array<const bool, nb::ndim<1>> is_categorical, int width,
             Array<const double, nb::ndim<1>> thresholds,
             Array<const std::int64_t, nb::ndim<1>> threshold_offset, const GrowSettings& settings,
             int threads) {
            const BinnedView view = view_of(by_column, by_row, n_bins, is_categorical, width);
            new (self) BoundGrower{by_column,  by_row,           n_bins, is_categorical,
                                   thresholds, threshold_offset, Grower(view, settings, threads)};
          },
          "by_column"_a, "by_row"_a, "n_bins"_a, "is_categorical"_a, "width"_a, "thresholds"_a,
          "threshold_offset"_a, "settings"_a, "threads"_a)
      .def(
          "grow",
          [](BoundGrower& self, const GradientStore& gradients, int output,
             std::optional<Array<const std::uint32_t, nb::ndim<1>>> bag, std::uint64_t tree_id,
             Array<std::uint16_t, nb::ndim<2>> leaf_of_row, Array<double, nb::ndim<2>> leaf_value) {
            std::span<const std::uint32_t> rows;
            if (bag) rows = {bag->data(), bag->shape(0)};
            const auto k = static_cast<std::size_t>(output);
            GrownTree tree;
            {
              nb::gil_scoped_release release;
              tree = self.grower.grow(gradients.output(output), rows, tree_id,
                                      leaf_of_row.data() + k * leaf_of_row.shape(1));
            }
            std::copy(tree.leaf_value.begin(), tree.leaf_value.end(),
                      leaf_value.data() + k * leaf_value.shape(1));
            return to_arrays(self, tree);
          },
          "gradients"_a, "output"_a, "bag"_a.none(), "tree_id"_a, "leaf_of_row"_a.noconvert(),
          "leaf_value"_a.noconvert(),
          "Grows a tree for one output; notes each row's leaf and each leaf's value.");

  m.def(
      "update_scores",
      [](Array<double, nb::ndim<2>> scores, Array<const std::uint16_t, nb::ndim<2>> leaf,
         Array<const double, nb::ndim<2>> leaf_value, int threads) {
        const Rows rows{scores.data(), leaf.data(), leaf_value.data(), leaf_value.shape(1), nullptr,
                        nullptr,       scores.shape(1), static_cast<int>(scores.shape(0))};
        nb::gil_scoped_release release;
        update_scores(rows, threads);
      },
      "scores"_a.noconvert(), "leaf"_a, "leaf_value"_a, "threads"_a, "scores += leaf_value[leaf].");
  m.def(
      "sample_rows",
      [](std::uint64_t seed, std::uint64_t round, double fraction, std::size_t n) {
        return to_numpy<std::uint32_t>(sample_rows(seed, round, fraction, n));
      },
      "seed"_a, "round"_a, "fraction"_a, "n"_a, "The rows that a round trains on, in increasing order.");
}

}  // namespace
}  // namespace hedgerow
// ---- threads and interrupts -------------------------------------------------------------------

namespace {

// Runs Python's signal handlers. What they raise stays set in this thread until the translator in
// bind_interrupt hands it on.
bool signal_pending() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void bind_interrupt() {
  const nb::object main_thread = nb::module_::import_("threading").attr("main_thread")();
  const auto ident = nb::cast<unsigned long>(main_thread.attr("ident"));
  hedgerow::install_interrupt(signal_pending, (pthread_t)ident);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const hedgerow::Interrupted&) {
    }
  });
}

// What the tests need to see of the team; see tests/test_threads.py.
using Visits = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void count_visits(int threads, Visits visits) {
  hedgerow::parallel_for(threads, visits.size(), [&](std::size_t i) { visits(i) += 1; });
}

void count_nested_visits(int threads, std::size_t inner, Visits visits) {
  const auto row = [&](std::size_t i) {
    hedgerow::parallel_for(threads, inner, [&](std::size_t j) { visits(i * inner + j) += 1; });
  };
  hedgerow::parallel_for(threads, visits.size() / inner, row);
}

void fail_at(int threads, std::size_t index, bool out_of_memory, Visits visits) {
  hedgerow::parallel_for(threads, visits.size(), [&](std::size_t i) {
    visits(i) += 1;
    if (i != index) return;
    if (out_of_memory) throw std::bad_alloc();
    throw std::runtime_error("task " + std::to_string(i) + " failed");
  });
}

// Spins until `ready()` or until the time is over; says which it was.
template <class Ready>
bool spin_until(double seconds, Ready&& ready) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (!ready()) {
    if (Clock::now() > deadline) return false;
  }
  return true;
}

// A region of one task a thread, each of which waits for all the others: whether they all came, and
// `condition()` was true on each.
template <class Condition>
bool meet_where(int threads, Condition&& condition) {
  std::atomic<int> here{0};
  std::atomic<bool> good{true};
  hedgerow::parallel_for(threads, static_cast<std::size_t>(threads), [&](std::size_t) {
    here.fetch_add(1);
    const bool all_came = spin_until(1.0, [&] { return here.load() == threads; });
    if (!all_came || !condition()) good.store(false);
  });
  return good.load();
}

bool meet(int threads) {
  return meet_where(threads, [] { return true; });
}

// Whether every thread of a region rounds upwards when its caller does.
bool meet_rounding_upwards(int threads) {
  volatile double one = 1.0, tiny = 1e-30;
  std::fesetround(FE_UPWARD);
  const bool good = meet_where(threads, [&] { return one + tiny > one; });
  std::fesetround(FE_TONEAREST);
  return good;
}

double seconds_per_meeting(int threads, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < repeats; ++k) meet(threads);
  const std::chrono::duration<double> total = std::chrono::steady_clock::now() - start;
  return total.count() / repeats;
}

void compute_for(int threads, double seconds) {
  hedgerow::parallel_for(threads, static_cast<std::size_t>(seconds * 1000), [](std::size_t) {
    spin_until(0.001, [] { return false; });
    hedgerow::check_interrupt();
  });
}

void bind_threads(nb::module_& m) {
  bind_interrupt();
  nb::module_ testing = m.def_submodule("testing", "What the tests need to see of the kernels.");
  testing.attr("__name__") = "testing";  // without the module's own prefix: not for the stubs
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  testing.def("count_visits", count_visits, "threads"_a, "visits"_a.noconvert(), release);
  testing.def("count_nested_visits", count_nested_visits, "threads"_a, "inner"_a,
              "visits"_a.noconvert(), release);
  testing.def("fail_at", fail_at, "threads"_a, "index"_a, "out_of_memory"_a, "visits"_a.noconvert(),
              release);
  testing.def("meet", meet, "threads"_a, release);
  testing.def("meet_rounding_upwards", meet_rounding_upwards, "threads"_a, release);
  testing.def("seconds_per_meeting", seconds_per_meeting, "threads"_a, "repeats"_a, release);
  testing.def("compute_for", compute_for, "threads"_a, "seconds"_a, release);
  testing.def("threads_for", hedgerow::threads_for, "work_units"_a, "units_per_thread"_a,
              "threads"_a);
}

}  // namespace

// ---- module -----------------------------------------------------------------------------------

// ---- binning

namespace {

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

hedgerow::ValueType value_type(const nb::dlpack::dtype& type) {
  using enum hedgerow::ValueType;
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

// A table as Python hands it over (a 2-d array, or a list of columns: a numeric one is a pair of
// values and a mask or None, a categorical one an array of int32 codes), kept alive while viewed.
class Table {
 public:
  explicit Table(nb::handle table) {
    if (nb::isinstance<nb::list>(table))
      for (nb::handle column : nb::borrow<nb::list>(table)) add_column(column);
    else
      add_matrix(nb::cast<Matrix>(table, false));
  }

  std::span<const hedgerow::ColumnView> columns() const { return columns_; }
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
      const Column codes = keep(column, hedgerow::ValueType::int32);
      columns_.push_back({static_cast<const std::byte*>(codes.data()), stride(codes), nullptr, 0,
                          hedgerow::ValueType::category});
      return;
    }
    const auto pair = nb::borrow<nb::tuple>(column);
    const Column values = keep(pair[0]);
    columns_.push_back({static_cast<const std::byte*>(values.data()), stride(values), nullptr, 0,
                        value_type(values.dtype())});
    if (pair[1].is_none()) return;
    const Column missing = keep(pair[1], hedgerow::ValueType::uint8);
    columns_.back().missing = static_cast<const std::byte*>(missing.data());
    columns_.back().missing_stride = stride(missing);
  }

  Column keep(nb::handle object, std::optional<hedgerow::ValueType> wanted = {}) {
    arrays_.push_back(nb::cast<Column>(object, false));
    const Column& array = arrays_.back();
    if (arrays_.size() == 1) n_rows_ = array.shape(0);
    if (array.shape(0) != n_rows_) throw nb::value_error("columns must be equally long");
    if (wanted && value_type(array.dtype()) != *wanted)
      throw nb::type_error("codes must be int32 and masks boolean");
    return array;
  }

  static std::ptrdiff_t stride(const Column& array) {
    return array.stride(0) * static_cast<std::ptrdiff_t>(array.itemsize());
  }

  std::vector<Column> arrays_;
  std::vector<hedgerow::ColumnView> columns_;
  std::size_t n_rows_ = 0;
};

hedgerow::SparseView sparse_view(const Packed& values, const Packed& rows,
                                 const Input<std::int64_t>& starts, std::size_t n_rows) {
  const auto row_type = value_type(rows.dtype());
  const bool wide = row_type == hedgerow::ValueType::int64;
  if (!wide && row_type != hedgerow::ValueType::int32)
    throw nb::type_error("row indices must be int32 or int64");
  return {static_cast<const std::byte*>(values.data()),
          value_type(values.dtype()),
          static_cast<const std::byte*>(rows.data()),
          wide,
          span_of(starts),
          n_rows};
}

template <class T>
nb::object numpy_array(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

nb::tuple flat(const std::vector<std::vector<double>>& thresholds) {
  std::vector<double> all;
  std::vector<std::int64_t> starts{0};
  for (const auto& some : thresholds) {
    all.insert(all.end(), some.begin(), some.end());
    starts.push_back(static_cast<std::int64_t>(all.size()));
  }
  return nb::make_tuple(numpy_array(std::move(all)), numpy_array(std::move(starts)));
}

std::span<const double> weights_of(const std::optional<Input<double>>& weights) {
  return weights ? span_of(*weights) : std::span<const double>();
}

// Layouts for the kernels; without by_row, features are taken in blocks of any size they allow.
hedgerow::BinLayouts layouts(const BinsByColumn& by_column, const std::optional<BinsByRow>& by_row,
                             std::size_t width) {
  return {by_column.data(),
          by_row ? by_row->data() : nullptr,
          by_column.shape(1),
          by_column.shape(0),
          width,
          by_row ? by_row->shape(2) : 0};
}

}  // namespace

static void bind_binning(nb::module_& m) {
  m.def(
      "find_thresholds",
      [](nb::handle table, const std::optional<Input<double>>& weights, int max_bins,
         std::size_t sample_size, std::uint64_t seed, int threads) {
        const Table view(table);
        std::vector<std::vector<double>> found;
        {
          const nb::gil_scoped_release released;
          found = hedgerow::find_thresholds(view.columns(), view.n_rows(), weights_of(weights),
                                            {max_bins, sample_size, seed}, threads);
        }
        return flat(found);
      },
      nb::arg("table"), nb::arg("weights").noconvert().none(), nb::arg("max_bins"),
      nb::arg("sample_size"), nb::arg("seed"), nb::arg("threads"));

  m.def(
      "find_sparse_thresholds",
      [](const Packed& values, const Packed& rows, const Input<std::int64_t>& starts,
         std::size_t n_rows, const std::optional<Input<double>>& weights, int max_bins,
         std::size_t sample_size, std::uint64_t seed, int threads) {
        const auto view = sparse_view(values, rows, starts, n_rows);
        std::vector<std::vector<double>> found;
        {
          const nb::gil_scoped_release released;
          found = hedgerow::find_sparse_thresholds(view, weights_of(weights),
                                                   {max_bins, sample_size, seed}, threads);
        }
        return flat(found);
      },
      nb::arg("values").noconvert(), nb::arg("rows").noconvert(), nb::arg("starts").noconvert(),
      nb::arg("n_rows"), nb::arg("weights").noconvert().none(), nb::arg("max_bins"),
      nb::arg("sample_size"), nb::arg("seed"), nb::arg("threads"));

  m.def(
      "map_to_bins",
      [](nb::handle table, const Input<double>& thresholds,
         const Input<std::int64_t>& threshold_starts, const Input<std::uint8_t>& category_bins,
         const Input<std::int64_t>& category_starts, const BinsByColumn& by_column,
         const std::optional<BinsByRow>& by_row, std::size_t width, int threads) {
        const Table view(table);
        const nb::gil_scoped_release released;
        return hedgerow::map_to_bins(view.columns(),
                                     {span_of(thresholds), span_of(threshold_starts),
                                      span_of(category_bins), span_of(category_starts)},
                                     layouts(by_column, by_row, width), threads);
      },
      nb::arg("table"), nb::arg("thresholds").noconvert(), nb::arg("threshold_starts").noconvert(),
      nb::arg("category_bins").noconvert(), nb::arg("category_starts").noconvert(),
      nb::arg("by_column").noconvert(), nb::arg("by_row").noconvert().none(), nb::arg("width"),
      nb::arg("threads"), "Whether every value was finite or missing.");

  m.def(
      "map_sparse_to_bins",
      [](const Packed& values, const Packed& rows, const Input<std::int64_t>& starts,
         const Input<double>& thresholds, const Input<std::int64_t>& threshold_starts,
         const BinsByColumn& by_column, const std::optional<BinsByRow>& by_row, std::size_t width,
         int threads) {
        const auto view = sparse_view(values, rows, starts, by_column.shape(1));
        const nb::gil_scoped_release released;
        return hedgerow::map_sparse_to_bins(
            view, {span_of(thresholds), span_of(threshold_starts), {}, {}},
            layouts(by_column, by_row, width), threads);
      },
      nb::arg("values").noconvert(), nb::arg("rows").noconvert(), nb::arg("starts").noconvert(),
      nb::arg("thresholds").noconvert(), nb::arg("threshold_starts").noconvert(),
      nb::arg("by_column").noconvert(), nb::arg("by_row").noconvert().none(), nb::arg("width"),
      nb::arg("threads"), "Whether every value was finite or missing.");

  m.def(
      "interleave",
      [](const BinsByColumn& by_column, const BinsByRow& by_row, std::size_t width, int threads) {
        const nb::gil_scoped_release released;
        hedgerow::interleave(layouts(by_column, by_row, width), threads);
      },
      nb::arg("by_column").noconvert(), nb::arg("by_row").noconvert(), nb::arg("width"),
      nb::arg("threads"), "Fills by_row from by_column.");
}

// ---- exact greedy: presort.hpp, exact.hpp ----

namespace {

using ExactLists = nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<2>, nb::c_contig>;
using ExactReals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ExactRows = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ExactFeatures = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ExactFlags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ExactArrays = nb::typed<nb::dict, nb::str, nb::any>;
using ExactColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

hedgerow::RawColumn exact_column(const ExactColumn& array) {
  using Type = hedgerow::RawColumn::Type;
  const Type type =
      array.dtype() == nb::dtype<float>()    ? Type::float32
      : array.dtype() == nb::dtype<double>() ? Type::float64
      : array.dtype() == nb::dtype<std::uint8_t>()
          ? Type::category
          : throw nb::type_error(
                "a column is float32 or float64, or uint8 if its values are categories");
  const auto bytes = static_cast<std::ptrdiff_t>(array.itemsize());
  return {array.data(), array.stride(0) * bytes, type};
}

void exact_presort(const nb::typed<nb::sequence, nb::object>& columns, const ExactLists& rows,
                   const ExactLists& ranks, int threads) {
  const std::size_t n_rows = rows.shape(1);
  std::vector<hedgerow::RawColumn> raw;
  for (const nb::handle object : columns) {
    const auto column = nb::cast<ExactColumn>(object, false);
    if (column.shape(0) != n_rows) throw nb::value_error("columns differ in length");
    raw.push_back(exact_column(column));
  }
  if (rows.shape(0) != raw.size() || ranks.shape(0) != raw.size() || ranks.shape(1) != n_rows) {
    throw nb::value_error("rows and ranks need the shape (columns, rows)");
  }
  const nb::gil_scoped_release unlocked;
  hedgerow::parallel_for(threads, raw.size(), [&](std::size_t f) {
    hedgerow::presort(raw[f], n_rows, rows.data() + f * n_rows, ranks.data() + f * n_rows);
  });
}

hedgerow::exact::Params exact_params(const nb::object& params, std::uint64_t tree_id) {
  const auto real = [&](const char* name) { return nb::cast<double>(params.attr(name)); };
  const auto integer = [&](const char* name) { return nb::cast<std::int64_t>(params.attr(name)); };
  return {
      .max_leaves = integer("max_leaves"),
      .max_depth = integer("max_depth"),
      .min_samples_leaf = integer("min_samples_leaf"),
      .min_child_weight = real("min_child_weight"),
      .reg_lambda = real("reg_lambda"),
      .reg_alpha = real("reg_alpha"),
      .min_split_gain = real("min_split_gain"),
      .max_delta_step = real("max_delta_step"),
      .learning_rate = real("learning_rate"),
      .leafwise = nb::cast<std::string>(params.attr("grow_policy")) == "leafwise",
      .max_cat_to_onehot = nb::cast<int>(params.attr("max_cat_to_onehot")),
      .max_cat_threshold = nb::cast<int>(params.attr("max_cat_threshold")),
      .cat_smooth = real("cat_smooth"),
      .cat_l2 = real("cat_l2"),
      .colsample_bylevel = real("colsample_bylevel"),
      .colsample_bynode = real("colsample_bynode"),
      .seed = nb::cast<std::uint64_t>(params.attr("seed")),
      .tree_id = tree_id,
  };
}

template <class T>
nb::object exact_array(std::vector<T>&& values, std::size_t columns = 0) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t size = kept->size();
  if (columns == 0) return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {size}, owner));
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {size / columns, columns}, owner));
}

ExactArrays exact_tree(hedgerow::exact::GrownTree&& tree) {
  nb::dict arrays;
  arrays["feature"] = exact_array(std::move(tree.feature));
  arrays["left"] = exact_array(std::move(tree.left));
  arrays["right"] = exact_array(std::move(tree.right));
  arrays["missing_left"] = exact_array(std::move(tree.missing_left));
  arrays["category_set"] = exact_array(std::move(tree.category_set));
  arrays["category_bits"] = exact_array(std::move(tree.category_bits), 8);
  arrays["value"] = exact_array(std::move(tree.value), 1);
  arrays["gain"] = exact_array(std::move(tree.gain));
  arrays["cover"] = exact_array(std::move(tree.cover));
  arrays["count"] = exact_array(std::move(tree.count));
  arrays["lower_row"] = exact_array(std::move(tree.lower_row));
  arrays["upper_row"] = exact_array(std::move(tree.upper_row));
  arrays["leaf_of_row"] = exact_array(std::move(tree.leaf_of_row));
  return ExactArrays(arrays);
}

// The grower and the arrays it reads.
struct ExactGrower {
  ExactGrower(ExactLists rows, ExactLists ranks, ExactFlags is_categorical)
      : rows(std::move(rows)),
        ranks(std::move(ranks)),
        is_categorical(std::move(is_categorical)),
        grower({this->rows.data(), this->ranks.data(), this->is_categorical.data(),
                this->rows.shape(1), static_cast<int>(this->rows.shape(0))}) {}

  ExactArrays grow(const ExactReals& g, const ExactReals& h, const std::optional<ExactRows>& bag,
                   const ExactFeatures& features, const nb::object& params, std::uint64_t tree_id,
                   int threads) {
    const std::size_t n_rows = rows.shape(1);
    if (g.shape(0) != n_rows || h.shape(0) != n_rows) {
      throw nb::value_error("g and h need one value for each row");
    }
    const hedgerow::exact::Params plain = exact_params(params, tree_id);
    std::span<const std::uint32_t> in_bag;
    if (bag) in_bag = {bag->data(), bag->size()};
    const std::span<const std::int32_t> allowed(features.data(), features.size());
    hedgerow::exact::GrownTree tree;
    {
      const nb::gil_scoped_release unlocked;
      tree = grower.grow(g.data(), h.data(), in_bag, allowed, plain, threads);
    }
    return exact_tree(std::move(tree));
  }

  ExactLists rows, ranks;
  ExactFlags is_categorical;
  hedgerow::exact::Grower grower;
};

void bind_exact(nb::module_& m) {
  m.def("exact_presort", &exact_presort, nb::arg("columns"), nb::arg("rows").noconvert(),
        nb::arg("ranks").noconvert(), nb::arg("threads"),
        "Sort each column once: rows by value, and the ranks of their values.");
  nb::class_<ExactGrower>(m, "ExactGrower", "Grows trees by exact greedy search, one at a time.")
      .def(nb::init<ExactLists, ExactLists, ExactFlags>(), nb::arg("rows").noconvert(),
           nb::arg("ranks").noconvert(), nb::arg("is_categorical").noconvert())
      .def("grow", &ExactGrower::grow, nb::arg("g").noconvert(), nb::arg("h").noconvert(),
           nb::arg("bag").none().noconvert(), nb::arg("features").noconvert(), nb::arg("params"),
           nb::arg("tree_id"), nb::arg("threads"), "Grow one tree and return its arrays.");
}

}  // namespace

// ---- end of exact greedy ----

#define HEDGEROW_NB_MODULE(name, variable) NB_MODULE(name, variable)

HEDGEROW_NB_MODULE(HEDGEROW_MODULE, m) {
  m.doc() = "Hedgerow's native kernels.";
  hedgerow::bind_training(m);
  bind_threads(m);
  bind_binning(m);
  bind_exact(m);
}
