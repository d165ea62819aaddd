// Neighbours among the rows of a sparse matrix, by Euclidean or cosine distance. The products of a
// query with all rows are accumulated over the columns of its nonzeros; for the rows that remain
// candidates the distance is computed in the order of the columns: it is, bit for bit, that of the
// same rows in a dense matrix.
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

// A matrix by row and by column (its transpose).
struct SparseIndex {
  SparseMatrix by_row, by_column;
};

// The k nearest rows of every query, or all within a radius: NearestOutput or RadiusOutput.
template <class Output>
void search_sparse(const SparseIndex& rows, ProductMetric metric, const SparseMatrix& queries,
                   const Output& output, int threads);

}  // namespace hedgerow::neighbors
