// Neighbours among the rows of a sparse matrix, Euclidean or by the cosine. A query's products with
// all rows are summed through the columns in which it has numbers; of the rows that these sums
// leave, the distance is computed from the numbers themselves, in the order of the columns: it is,
// bit for bit, the distance that the same rows would have if their zeros were written out.
#pragma once
#include <cstddef>
#include <cstdint>

#include "neighbors/distances.hpp"
#include "neighbors/search_state.hpp"

namespace hedgerow::neighbors {

struct SparseMatrix {
  const double* values;
  const std::int32_t* columns;  // of each row, increasing
  const std::int64_t* starts;   // (n + 1,)
  std::size_t n, d;

  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(starts[row]); }
  std::size_t end(std::size_t row) const { return static_cast<std::size_t>(starts[row + 1]); }
};

// The same numbers by row and by column; rows of the latter are columns of the former.
struct SparseIndex {
  SparseMatrix by_row, by_column;
};

void nearest_in_sparse(const SparseIndex& rows, ProductMetric metric, const SparseMatrix& queries,
                       const NearestOutput& output, int threads);
void within_in_sparse(const SparseIndex& rows, ProductMetric metric, const SparseMatrix& queries,
                      const RadiusOutput& output, int threads);

}  // namespace hedgerow::neighbors
