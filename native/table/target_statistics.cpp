#include "table/target_statistics.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "core/interrupt.hpp"
#include "core/threads.hpp"

namespace hedgerow {
namespace {

// Rows between two checks for interrupts.
constexpr std::size_t kBatch = 1 << 16;

// Rows that are sorted as a whole.
constexpr std::size_t kPartRows = 2048;

// The sums of the window, by category.
struct Window {
  std::span<const std::int32_t> codes;
  std::span<const std::int64_t> amount;
  std::span<std::int64_t> totals;

  bool has_category(std::size_t i) const {
    return static_cast<std::uint32_t>(codes[i]) < totals.size();
  }
  void add(std::size_t i, std::int64_t sign) {
    if (has_category(i)) totals[codes[i]] += sign * (amount.empty() ? 1 : amount[i]);
  }
  double sum(std::size_t i) const {
    return has_category(i) ? static_cast<double>(totals[codes[i]]) : 0.0;
  }
};

}  // namespace

// Random numbers have leading bits that divide them evenly: rows are counted and distributed by
// these, and the parts are sorted side by side.
void order_by_place(std::span<const std::uint64_t> places, std::span<std::int64_t> order,
                    int threads) {
  const int n_bits = std::bit_width(places.size() / kPartRows);
  const auto part_of = [&](std::uint64_t place) {
    return n_bits == 0 ? std::size_t{0} : static_cast<std::size_t>(place >> (64 - n_bits));
  };
  std::vector<std::size_t> end((std::size_t{1} << n_bits) + 1);
  for (const std::uint64_t place : places) ++end[part_of(place) + 1];
  for (std::size_t part = 0; part + 1 < end.size(); ++part) end[part + 1] += end[part];
  std::vector<std::pair<std::uint64_t, std::int64_t>> placed(places.size());
  for (std::size_t row = 0; row < places.size(); ++row) {
    placed[end[part_of(places[row])]++] = {places[row], static_cast<std::int64_t>(row)};
  }
  parallel_for(threads, end.size() - 1, [&](std::size_t part) {
    const auto begin = static_cast<std::ptrdiff_t>(part == 0 ? 0 : end[part - 1]);
    const auto stop = static_cast<std::ptrdiff_t>(end[part]);
    std::sort(placed.begin() + begin, placed.begin() + stop);
    for (auto i = begin; i < stop; ++i) {
      order[static_cast<std::size_t>(i)] = placed[static_cast<std::size_t>(i)].second;
    }
  });
}

void sums_before(std::span<const std::int32_t> codes, std::span<const std::int64_t> amount,
                 std::span<const std::uint64_t> places, std::uint64_t window,
                 std::span<double> sums, std::span<std::int64_t> totals) {
  const std::size_t n = codes.size();
  std::ranges::fill(totals, 0);
  Window before{codes, amount, totals};
  // The window of row i is [oldest, i) on the circle. At first it holds all rows but row 0.
  std::size_t oldest = n > 1 ? 1 : 0, size = n > 0 ? n - 1 : 0;
  for (std::size_t i = 1; i < n; ++i) before.add(i, 1);
  const auto drop_oldest = [&] {
    before.add(oldest, -1);
    oldest = oldest + 1 == n ? 0 : oldest + 1;
    --size;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kBatch == 0) check_interrupt();
    if (i > 0) {
      before.add(i - 1, 1);
      if (++size == n) drop_oldest();  // row i itself
    }
    while (size > 0 && places[i] - places[oldest] > window) drop_oldest();
    sums[i] = before.sum(i);
  }
}

}  // namespace hedgerow
