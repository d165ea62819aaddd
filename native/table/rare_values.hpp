// The distinct values of all rows, including those that a sample missed: in a feature with few
// values each gets its own bin, however rare it is.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "table/columns.hpp"

namespace hedgerow {

// A small sorted set of values that stops growing once it is too large to be useful.
class FewValues {
 public:
  explicit FewValues(std::size_t max_size) : max_size_(max_size) {}

  bool too_many() const { return values_.size() > max_size_; }
  bool contains(double value) const { return std::ranges::binary_search(values_, value); }
  std::span<const double> values() const { return values_; }

  void insert(double value) {
    const auto at = std::ranges::lower_bound(values_, value);
    if (!too_many() && (at == values_.end() || *at != value)) values_.insert(at, value + 0.0);
  }

 private:
  std::size_t max_size_;
  std::vector<double> values_;
};

// Adds to values[j], which must not be too large yet, the other finite values of columns[j] in rows
// with weight (in any row if row_weight is empty).
void add_rare_values(std::span<const ColumnView> columns, std::size_t n_rows,
                     std::span<const double> row_weight, std::span<FewValues> values, int threads);

}  // namespace hedgerow
