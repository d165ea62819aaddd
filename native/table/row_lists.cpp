#include "table/row_lists.hpp"

#include <algorithm>
#include <vector>

#include "core/threads.hpp"

namespace hedgerow {
namespace {

using Columns = std::span<const std::int32_t>;

constexpr std::size_t kEntriesPerTask = 1 << 15;
// Columns for each entry up to which marks for all columns are faster than sorting.
constexpr std::size_t kColumnsPerEntry = 4;

bool starts_increase(Columns starts, std::size_t n_entries) {
  return !starts.empty() && starts[0] == 0 && std::ranges::is_sorted(starts) &&
         static_cast<std::size_t>(starts.back()) <= n_entries;
}

// Whether lists of columns that are not sorted name a column twice.
class Repetitions {
 public:
  Repetitions(std::size_t n_columns, std::size_t n_entries)
      : last_list_(n_columns <= kColumnsPerEntry * n_entries ? n_columns : 0, 0) {}

  bool are_in(Columns list) {
    if (last_list_.empty()) {
      sorted_.assign(list.begin(), list.end());
      std::ranges::sort(sorted_);
      return std::ranges::adjacent_find(sorted_) != sorted_.end();
    }
    ++number_;
    unsigned found = 0;
    for (const std::int32_t column : list) {
      std::uint32_t& last = last_list_[static_cast<std::size_t>(column)];
      found |= last == number_;
      last = number_;
    }
    return found != 0;
  }

 private:
  std::vector<std::uint32_t> last_list_;  // that has a column; or sorted copies are compared
  std::vector<std::int32_t> sorted_;
  std::uint32_t number_ = 0;
};

// Comparisons are joined without a branch, so that they are vectorised.
bool are_within(Columns columns, std::size_t n_columns) {
  unsigned found = 0;
  for (const std::int32_t column : columns) {
    found |= static_cast<std::uint32_t>(column) >= n_columns;
  }
  return found == 0;
}

bool increase(Columns list) {
  unsigned found = 0;
  for (std::size_t k = 1; k < list.size(); ++k) found |= list[k] <= list[k - 1];
  return found == 0;
}

RowListsState examine(Columns starts, Columns columns, std::size_t n_columns) {
  RowListsState state;
  const auto place = [&](std::size_t row) { return static_cast<std::size_t>(starts[row]); };
  const std::size_t first = place(0), n_entries = place(starts.size() - 1) - first;
  state.are_valid = are_within(columns.subspan(first, n_entries), n_columns);
  if (!state.are_valid) return state;
  Repetitions repetitions(n_columns, n_entries);
  for (std::size_t row = 0; row + 1 < starts.size() && state.are_unique; ++row) {
    const Columns list = columns.subspan(place(row), place(row + 1) - place(row));
    if (increase(list)) continue;
    state.are_sorted = false;
    state.are_unique = !repetitions.are_in(list);
  }
  return state;
}

}  // namespace

RowListsState examine_row_lists(Columns starts, Columns columns, std::size_t n_columns,
                                int threads) {
  RowListsState all;
  all.are_valid = starts_increase(starts, columns.size());
  if (!all.are_valid) return all;
  const std::size_t n_rows = starts.size() - 1, n_entries = static_cast<std::size_t>(starts.back());
  const std::size_t n_tasks = std::clamp<std::size_t>(n_entries / kEntriesPerTask, 1, n_rows + 1);
  std::vector<RowListsState> states(n_tasks);
  parallel_for(threads, n_tasks, [&](std::size_t task) {
    const std::size_t begin = n_rows * task / n_tasks, end = n_rows * (task + 1) / n_tasks;
    states[task] = examine(starts.subspan(begin, end - begin + 1), columns, n_columns);
  });
  for (const RowListsState& state : states) {
    all.are_valid &= state.are_valid;
    all.are_sorted &= state.are_sorted;
    all.are_unique &= state.are_unique;
  }
  return all;
}

}  // namespace hedgerow
