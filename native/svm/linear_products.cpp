// Products of rows with vectors, the normal matrix in tiles, and Cholesky's factorisation.
#include "svm/linear_products.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/buffer.hpp"
#include "core/interrupt.hpp"
#include "core/threads.hpp"

namespace hedgerow::svm::linear {
namespace {

// Numbers of X in a piece: about a quarter of a millisecond of work.
constexpr std::size_t kPieceNumbers = std::size_t{1} << 18;
// Maximum number of pieces with their own sums: adding up more would cost as much again.
constexpr std::size_t kMostPieces = 16;

// Pieces of the rows: how many depends on the data alone, never on the threads.
struct Pieces {
  std::size_t count, rows_each, n_rows;

  Pieces(std::size_t n_rows, std::size_t numbers, std::size_t most)
      : count(std::clamp<std::size_t>(numbers / kPieceNumbers, 1, most)),
        rows_each((n_rows + count - 1) / count),
        n_rows(n_rows) {}

  std::size_t begin(std::size_t piece) const { return std::min(piece * rows_each, n_rows); }
  std::size_t end(std::size_t piece) const { return std::min((piece + 1) * rows_each, n_rows); }
};

// Runs add(begin, end, sums) for the rows of each piece with separate sums, and adds these up.
template <class Rows, class Add>
void sum_pieces(const Rows& x, std::size_t n_sums, double* out, int threads, Add&& add) {
  const std::size_t numbers = x.stored();
  const std::size_t most = std::clamp<std::size_t>(numbers / (4 * n_sums + 1), 1, kMostPieces);
  const Pieces pieces(x.n_rows, numbers, most);
  Buffer<double> sums(pieces.count * n_sums);
  parallel_for(threads, pieces.count, [&](std::size_t piece) {
    double* own = sums.get() + piece * n_sums;
    std::fill_n(own, n_sums, 0.0);
    // The piece is divided further, so that Ctrl-C need not wait for its end.
    const std::size_t end = pieces.end(piece);
    const std::size_t step = std::max<std::size_t>(1, kPieceNumbers / (numbers / x.n_rows + 1));
    for (std::size_t i = pieces.begin(piece); i < end; i += step) {
      check_interrupt();
      add(i, std::min(end, i + step), own);
    }
  });
  std::copy_n(sums.get(), n_sums, out);
  for (std::size_t piece = 1; piece < pieces.count; ++piece) {
    const double* own = sums.get() + piece * n_sums;
    for (std::size_t j = 0; j < n_sums; ++j) out[j] += own[j];
  }
}

template <class T>
void add_rows(const DenseRows<T>& x, const double* u, std::size_t begin, std::size_t end,
              double* out) {
  // Four rows at a time: a load and a store of the sums for four products each.
  std::size_t k = begin;
  for (; k + 4 <= end; k += 4) {
    const T *a = x.row(k), *b = x.row(k + 1);
    const T *c = x.row(k + 2), *d = x.row(k + 3);
    const double p = u[k], q = u[k + 1], r = u[k + 2], s = u[k + 3];
    if (p == 0.0 && q == 0.0 && r == 0.0 && s == 0.0) continue;
    for (std::size_t j = 0; j < x.n_features; ++j) {
      out[j] += (p * static_cast<double>(a[j]) + q * static_cast<double>(b[j])) +
                (r * static_cast<double>(c[j]) + s * static_cast<double>(d[j]));
    }
    out[x.n_features] += ((p + q) + (r + s)) * x.bias;
  }
  for (; k < end; ++k) x.add(k, u[k], out);
}

template <class T>
void add_rows(const SparseRows<T>& x, const double* u, std::size_t begin, std::size_t end,
              double* out) {
  for (std::size_t k = begin; k < end; ++k) {
    if (u[k] != 0.0) x.add(k, u[k], out);
  }
}

// ---- the normal matrix
// ---------------------------------------------------------------------------

// Rows of a tile: with 64 features both copies of it take 32 KiB, and stay in the first cache.
constexpr std::size_t kTileRows = 32;
// A block of the matrix that stays in registers while the rows of a tile pass.
constexpr std::size_t kBlockRows = 4;
#if defined(__AVX512F__)
constexpr std::size_t kBlockLanes = 2;
#else
constexpr std::size_t kBlockLanes = 1;
#endif
constexpr std::size_t kPadding = 2 * kLanes;

constexpr std::size_t padded(std::size_t width) {
  return (width + kPadding - 1) / kPadding * kPadding;
}

// matrix[a..][b..] += Σ_i weighted[i][a..] plain[i][b..], in the order of the rows.
template <std::size_t kColumnLanes>
void add_block(const double* weighted, const double* plain, std::size_t n_rows, std::size_t pitch,
               double* block) {
  Lanes sum[kBlockRows][kColumnLanes];
  for (std::size_t a = 0; a < kBlockRows; ++a) {
    for (std::size_t b = 0; b < kColumnLanes; ++b) {
      sum[a][b] = load_lanes(block + a * pitch + b * kLanes);
    }
  }
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::size_t b = 0; b < kColumnLanes; ++b) {
      const Lanes x = load_lanes(plain + i * pitch + b * kLanes);
      for (std::size_t a = 0; a < kBlockRows; ++a) sum[a][b] += weighted[i * pitch + a] * x;
    }
  }
  for (std::size_t a = 0; a < kBlockRows; ++a) {
    for (std::size_t b = 0; b < kColumnLanes; ++b) {
      store_lanes(block + a * pitch + b * kLanes, sum[a][b]);
    }
  }
}

// Adds the rows of a tile to the matrix's blocks on and above the diagonal.
void add_tile(const double* weighted, const double* plain, std::size_t n_rows, std::size_t pitch,
              double* matrix) {
  constexpr std::size_t kBlockColumns = kBlockLanes * kLanes;
  for (std::size_t a = 0; a < pitch; a += kBlockRows) {
    for (std::size_t b = a / kBlockColumns * kBlockColumns; b < pitch; b += kBlockColumns) {
      add_block<kBlockLanes>(weighted + a, plain + b, n_rows, pitch, matrix + a * pitch + b);
    }
  }
}

// Adds rows [begin, end) to a padded matrix, [pitch][pitch].
template <class T>
void add_squares(const DenseRows<T>& x, const double* theta, std::size_t begin, std::size_t end,
                 std::size_t pitch, double* matrix) {
  Buffer<double> tile(2 * kTileRows * pitch);
  double *plain = tile.get(), *weighted = plain + kTileRows * pitch;
  std::fill_n(plain, 2 * kTileRows * pitch, 0.0);
  std::size_t filled = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (theta[i] == 0.0) continue;
    const T* row = x.row(i);
    double *p = plain + filled * pitch, *q = weighted + filled * pitch;
    for (std::size_t j = 0; j < x.n_features; ++j) {
      p[j] = static_cast<double>(row[j]);
      q[j] = theta[i] * p[j];
    }
    p[x.n_features] = x.bias;
    q[x.n_features] = theta[i] * x.bias;
    if (++filled == kTileRows) {
      add_tile(weighted, plain, filled, pitch, matrix);
      filled = 0;
    }
  }
  add_tile(weighted, plain, filled, pitch, matrix);
}

template <class T>
void add_squares(const SparseRows<T>& x, const double* theta, std::size_t begin, std::size_t end,
                 std::size_t pitch, double* matrix) {
  for (std::size_t i = begin; i < end; ++i) {
    if (theta[i] == 0.0) continue;
    const auto add_line = [&](std::size_t a, double p) {
      const double weighted = theta[i] * p;
      double* line = matrix + a * pitch;
      // Both triangles are filled: columns of a row need not be sorted.
      x.each(i, [&](std::size_t b, double q) { line[b] += weighted * q; });
      line[x.n_features] += weighted * x.bias;
    };
    x.each(i, add_line);
    add_line(x.n_features, x.bias);
  }
}

}  // namespace

void times(const AnyRows& rows, const double* w, std::size_t n_vectors, double* out, int threads) {
  std::visit(
      [&](const auto& x) {
        const std::size_t numbers = x.stored() * n_vectors;
        const Pieces pieces(x.n_rows, numbers, numbers / kPieceNumbers + 1);
        parallel_for(threads, pieces.count, [&](std::size_t piece) {
          check_interrupt();
          for (std::size_t k = pieces.begin(piece); k < pieces.end(piece); ++k) {
            for (std::size_t c = 0; c < n_vectors; ++c) {
              out[k * n_vectors + c] = x.dot(k, w + c * x.width());
            }
          }
        });
      },
      rows);
}

void combine(const AnyRows& rows, const double* u, double* out, int threads) {
  std::visit(
      [&](const auto& x) {
        sum_pieces(x, x.width(), out, threads,
                   [&](std::size_t begin, std::size_t end, double* sums) {
                     add_rows(x, u, begin, end, sums);
                   });
      },
      rows);
}

void curve(const AnyRows& rows, const double* theta, const double* v, double* out, int threads) {
  std::visit(
      [&](const auto& x) {
        sum_pieces(x, x.width(), out, threads,
                   [&](std::size_t begin, std::size_t end, double* sums) {
                     for (std::size_t i = begin; i < end; ++i) {
                       if (theta[i] != 0.0) x.add(i, theta[i] * x.dot(i, v), sums);
                     }
                   });
      },
      rows);
}

void normal_matrix(const AnyRows& rows, const double* theta, double* out, int threads) {
  std::visit(
      [&](const auto& x) {
        const std::size_t size = x.width(), pitch = padded(size);
        Buffer<double> matrix(pitch * pitch);
        sum_pieces(x, pitch * pitch, matrix.get(), threads,
                   [&](std::size_t begin, std::size_t end, double* sums) {
                     add_squares(x, theta, begin, end, pitch, sums);
                   });
        for (std::size_t a = 0; a < size; ++a) {
          for (std::size_t b = a; b < size; ++b) {
            out[a * size + b] = out[b * size + a] = matrix[a * pitch + b];
          }
        }
      },
      rows);
}

void squares(const AnyRows& rows, double* out, int threads) {
  std::visit(
      [&](const auto& x) {
        const Pieces pieces(x.n_rows, x.stored(), x.stored() / kPieceNumbers + 1);
        parallel_for(threads, pieces.count, [&](std::size_t piece) {
          check_interrupt();
          for (std::size_t i = pieces.begin(piece); i < pieces.end(piece); ++i) {
            out[i] = x.square(i);
          }
        });
      },
      rows);
}

std::size_t factor(double* matrix, std::size_t size) {
  // A pivot below what rounding leaves of its diagonal element says nothing any more.
  constexpr double kLost = 1e-14, kHuge = 1e150;
  std::size_t lost = 0;
  std::vector<double> column(size);
  for (std::size_t j = 0; j < size; ++j) {
    if (size >= 128) check_interrupt();
    double* row = matrix + j * size;
    double pivot = row[j];
    for (std::size_t k = 0; k < j; ++k) pivot -= row[k] * row[k];
    const bool is_lost = !(pivot > kLost * row[j]);
    lost += is_lost;
    row[j] = is_lost ? kHuge : std::sqrt(pivot);
    for (std::size_t i = j + 1; i < size; ++i) {
      const double* below = matrix + i * size;
      Lanes sum{};
      std::size_t k = 0;
      for (; k + kLanes <= j; k += kLanes) sum += load_lanes(below + k) * load_lanes(row + k);
      double dot = 0.0;
      for (; k < j; ++k) dot += below[k] * row[k];
      column[i] = (below[j] - (sum_lanes(sum) + dot)) / row[j];
    }
    for (std::size_t i = j + 1; i < size; ++i) matrix[i * size + j] = column[i];
  }
  return lost;
}

void solve(const double* factored, std::size_t size, double* b) {
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = factored + i * size;
    double value = b[i];
    for (std::size_t k = 0; k < i; ++k) value -= row[k] * b[k];
    b[i] = value / row[i];
  }
  for (std::size_t i = size; i-- > 0;) {
    b[i] /= factored[i * size + i];
    for (std::size_t k = 0; k < i; ++k) b[k] -= factored[i * size + k] * b[i];
  }
}

}  // namespace hedgerow::svm::linear
