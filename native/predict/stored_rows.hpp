// Rows of a sparse table, each a list of its stored values: what is not stored is 0. Predictors
// visit the stored values of a row, so that its other columns cost nothing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hedgerow::predict {

// Row i has values[k] in column columns[k] for k in [starts[i], starts[i + 1]), each column at most
// once; in increasing order of columns, if rows are sorted.
template <class T>
struct StoredRows {
  const std::int64_t* starts;
  const std::int32_t* columns;
  const T* values;
  bool are_sorted = true;

  T at(std::size_t row, std::size_t column) const {
    const std::int32_t *begin = columns + starts[row], *end = columns + starts[row + 1];
    const auto target = static_cast<std::int32_t>(column);
    const std::int32_t* found =
        are_sorted ? std::lower_bound(begin, end, target) : std::find(begin, end, target);
    const bool is_stored = found != end && static_cast<std::size_t>(*found) == column;
    return is_stored ? T{0} + values[found - columns] : T{0};  // −0 is 0
  }

  // Calls visit(column, value) for each stored value of a row.
  template <class Visit>
  void for_each(std::size_t row, const Visit& visit) const {
    for (std::int64_t k = starts[row]; k < starts[row + 1]; ++k)
      visit(static_cast<std::size_t>(columns[k]), values[k]);
  }
};

}  // namespace hedgerow::predict
