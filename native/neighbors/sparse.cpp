#include "neighbors/sparse.hpp"

#include <algorithm>
#include <vector>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "neighbors/distances.hpp"

namespace hedgerow::neighbors {
namespace {

constexpr std::size_t kQueriesOfTask = 16;

double squared_norm(const SparseMatrix& matrix, std::size_t row) {
  double sum = 0.0;
  for (std::size_t i = matrix.begin(row); i < matrix.end(row); ++i)
    sum += matrix.values[i] * matrix.values[i];
  return sum;
}

// The product of two rows and the squares of their difference, in the order of the columns.
struct Sums {
  double product = 0.0, squares = 0.0;

  void add(double x, double q) {
    product += x * q;
    squares += (x - q) * (x - q);
  }
};

Sums sums_of(const SparseMatrix& rows, std::size_t row, const SparseMatrix& queries,
             std::size_t query) {
  Sums sums;
  std::size_t i = rows.begin(row), j = queries.begin(query);
  const std::size_t rows_end = rows.end(row), queries_end = queries.end(query);
  while (i < rows_end && j < queries_end) {
    const std::int32_t a = rows.columns[i], b = queries.columns[j];
    sums.add(a <= b ? rows.values[i] : 0.0, b <= a ? queries.values[j] : 0.0);
    i += a <= b;
    j += b <= a;
  }
  for (; i < rows_end; ++i) sums.add(rows.values[i], 0.0);
  for (; j < queries_end; ++j) sums.add(0.0, queries.values[j]);
  return sums;
}

double reduced(const NumberDistance<Squares>&, const Sums& sums) { return sums.squares; }
double reduced(const CosineDistance&, const Sums& sums) {
  return CosineDistance::from_sums(sums.product, sums.squares);
}

// The error of a sum of m products is at most m 2^-53 Σ|x·q|, with Σ|x·q| ≤ (|x|² + |q|²)/2. The
// stored |x|² and the |q|² in a query's limit are reduced by more than that, and by more than the
// error of sums of squares.
double shrink_factor(std::size_t m) { return 1.0 - static_cast<double>(m + 8) * 0x1p-50; }

template <class Distance, class Output>
class SparseSearch {
 public:
  SparseSearch(const SparseIndex& rows, const Distance& distance, const SparseMatrix& queries,
               const Output& output)
      : rows_(rows), distance_(distance), queries_(queries), output_(output) {
    const SparseMatrix& by_row = rows.by_row;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < by_row.n; ++i)
      longest = std::max(longest, by_row.end(i) - by_row.begin(i));
    for (std::size_t q = 0; q < queries.n; ++q)
      longest = std::max(longest, queries.end(q) - queries.begin(q));
    shrink_ = shrink_factor(longest);
    norms_.resize(by_row.n);
    for (std::size_t i = 0; i < by_row.n; ++i) norms_[i] = squared_norm(by_row, i) * shrink_;
  }

  void run(int threads) const {
    const std::size_t share =
        (queries_.n + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
    const std::size_t width = std::clamp<std::size_t>(share, 1, kQueriesOfTask);
    parallel_for(threads, (queries_.n + width - 1) / width, [&](std::size_t task) {
      std::vector<double> products(rows_.by_row.n);
      for (std::size_t q = task * width; q < std::min((task + 1) * width, queries_.n); ++q) {
        multiply(q, products);
        choose(q, products);
        check_interrupt();
      }
    });
  }

 private:
  void multiply(std::size_t query, std::vector<double>& products) const {
    std::fill(products.begin(), products.end(), 0.0);
    const SparseMatrix& by_column = rows_.by_column;
    for (std::size_t j = queries_.begin(query); j < queries_.end(query); ++j) {
      const auto column = static_cast<std::size_t>(queries_.columns[j]);
      for (std::size_t i = by_column.begin(column); i < by_column.end(column); ++i)
        products[static_cast<std::size_t>(by_column.columns[i])] +=
            queries_.values[j] * by_column.values[i];
    }
  }

  void choose(std::size_t query, const std::vector<double>& products) const {
    auto keeper = output_.keeper(distance_);
    const double norm = squared_norm(queries_, query) * shrink_;
    const auto limit_of = [&] {
      return distance_.exact_sum_at_most(keeper.bound()) - norm +
             std::numeric_limits<double>::min();
    };
    double limit = limit_of();
    for (std::size_t i = 0; i < products.size(); ++i) {
      if (norms_[i] - 2.0 * products[i] > limit) continue;
      const double found = reduced(distance_, sums_of(rows_.by_row, i, queries_, query));
      if (found > keeper.bound()) continue;
      keeper.offer(found, static_cast<std::uint32_t>(i));
      limit = limit_of();
    }
    output_.write(distance_, query, keeper);
  }

  const SparseIndex& rows_;
  const Distance& distance_;
  const SparseMatrix& queries_;
  const Output& output_;
  double shrink_;
  std::vector<double> norms_;
};

}  // namespace

template <class Output>
void search_sparse(const SparseIndex& rows, ProductMetric metric, const SparseMatrix& queries,
                   const Output& output, int threads) {
  with_product_distance(metric, rows.by_row.d, [&](const auto& distance) {
    SparseSearch(rows, distance, queries, output).run(threads);
  });
}

template void search_sparse(const SparseIndex&, ProductMetric, const SparseMatrix&,
                            const NearestOutput&, int);
template void search_sparse(const SparseIndex&, ProductMetric, const SparseMatrix&,
                            const RadiusOutput&, int);

}  // namespace hedgerow::neighbors
