// Products of a matrix of rows X with vectors, and its weighted normal matrix: all that Newton's
// method and the interior point method need of the data. Rows are divided into pieces that depend
// on their number alone, and the sums of pieces are added in order: the result does not depend on
// the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "svm/linear_rows.hpp"

namespace hedgerow::svm::linear {

// out[i][c] = x_i · w_c for each row and each w_c of [n_vectors][width].
void times(const AnyRows& rows, const double* w, std::size_t n_vectors, double* out, int threads);

// out = Σ u_i x_i, [width]. Rows whose u is 0 cost nothing.
void combine(const AnyRows& rows, const double* u, double* out, int threads);

// out = Xᵀ diag(θ) X v, [width], in one pass over the rows whose θ is not 0.
void curve(const AnyRows& rows, const double* theta, const double* v, double* out, int threads);

// out = Xᵀ diag(θ) X, [width][width].
void normal_matrix(const AnyRows& rows, const double* theta, double* out, int threads);

// The squared length of each row.
void squares(const AnyRows& rows, double* out, int threads);

// Turns a symmetric positive matrix into its Cholesky factor L, in the lower triangle. A pivot that
// is zero or negative due to rounding is replaced by a huge one, so that the coordinate does not
// move. Returns the number of these.
std::size_t factor(double* matrix, std::size_t size);

// Solves L Lᵀ x = b in place.
void solve(const double* factored, std::size_t size, double* b);

}  // namespace hedgerow::svm::linear
