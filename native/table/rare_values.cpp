#include "table/rare_values.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <variant>

#include "core/threads.hpp"
#include "table/bin_search.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kBlockColumns = 16;
constexpr std::size_t kTileRows = 256;
constexpr std::size_t kTaskRows = 16384;

// Recognises known values, many at a time. A search with the values as thresholds gives the only
// index at which x can be one of them; all other indices hold NaN, which equals
// nothing.
template <class Real>
class Recogniser {
 public:
  explicit Recogniser(std::span<const double> values) : tree_(values) {
    std::ranges::fill(value_, std::numeric_limits<Real>::quiet_NaN());
    for (std::size_t i = 0; i < values.size(); ++i) value_[i] = static_cast<Real>(values[i]);
  }

  // Calls visit(i) for each finite x[i] that is not a known value.
  template <class Visitor>
  void for_each_unknown(const Real* x, std::size_t count, Visitor&& visit) const {
    std::uint8_t place[kTileRows];
    search(tree_, x, count, place);
    unsigned any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= !(value_[place[i]] == x[i]);
    if (!any) return;
    for (std::size_t i = 0; i < count; ++i)
      if (!(value_[place[i]] == x[i]) && std::isfinite(x[i])) visit(i);
  }

 private:
  SearchTree<Real> tree_;
  Real value_[256];
};

using AnyRecogniser = std::variant<Recogniser<float>, Recogniser<double>>;

AnyRecogniser recogniser_of(ValueType type, const FewValues& values) {
  if (is_single(type)) return Recogniser<float>(values.values());
  return Recogniser<double>(values.values());
}

// Adds to `rare` the values in rows [begin, end) that the recognisers do not know.
void look_through(std::span<const ColumnView> columns, std::span<const AnyRecogniser> recognisers,
                  std::span<const double> row_weight, std::size_t begin, std::size_t end,
                  std::span<FewValues> rare) {
  const auto memory = std::make_unique_for_overwrite<double[]>(kBlockColumns * kTileRows);
  const Slots slots{reinterpret_cast<std::byte*>(memory.get()), kTileRows * sizeof(double)};
  for (std::size_t row = begin; row < end; row += kTileRows)
    for (std::size_t first = 0; first < columns.size(); first += kBlockColumns) {
      const std::size_t n_columns = std::min(kBlockColumns, columns.size() - first);
      const std::size_t n_rows = std::min(kTileRows, end - row);
      const auto row_at = [row](std::size_t i) { return row + i; };
      load_block(columns.subspan(first, n_columns), row_at, 0, n_rows, slots);
      for (std::size_t j = 0; j < n_columns; ++j)
        std::visit(
            [&]<class R>(const Recogniser<R>& recogniser) {
              const R* x = slots.column<R>(j);
              recogniser.for_each_unknown(x, n_rows, [&](std::size_t i) {
                if (row_weight.empty() || row_weight[row + i] > 0) rare[first + j].insert(x[i]);
              });
            },
            recognisers[first + j]);
    }
}

}  // namespace

void add_rare_values(std::span<const ColumnView> columns, std::size_t n_rows,
                     std::span<const double> row_weight, std::span<FewValues> values, int threads) {
  std::vector<AnyRecogniser> recognisers;
  recognisers.reserve(columns.size());
  for (std::size_t j = 0; j < columns.size(); ++j)
    recognisers.push_back(recogniser_of(columns[j].type, values[j]));
  const std::vector<FewValues> before(values.begin(), values.end());
  std::mutex merging;
  parallel_for(threads, (n_rows + kTaskRows - 1) / kTaskRows, [&](std::size_t t) {
    // A task adds to its own sets. If one of them grows too large, so does the union: the result
    // does not depend on the order of tasks.
    std::vector<FewValues> rare(before);
    look_through(columns, recognisers, row_weight, t * kTaskRows,
                 std::min(n_rows, (t + 1) * kTaskRows), rare);
    const std::scoped_lock lock(merging);
    for (std::size_t j = 0; j < columns.size(); ++j)
      for (const double value : rare[j].values()) values[j].insert(value);
  });
}

}  // namespace hedgerow
