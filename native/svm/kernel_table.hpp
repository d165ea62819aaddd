// Kernels of pairs of rows: k(x, z) is a function of their scalar product, or of a distance.
//
// Rows of the table are stored in panels, feature by feature, so that a tile of a few rows and a
// few vectors of columns is summed in registers. Sums are in the order of the features, product by
// product: results depend neither on the tile nor on the instruction set, and k(x, z) is k(z, x) to
// the last bit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "shared/named.hpp"

namespace hedgerow::svm {

enum class KernelKind { linear, polynomial, gaussian, sigmoid, laplacian };

inline constexpr Named<KernelKind> kKernels[] = {{"linear", KernelKind::linear},
                                                 {"poly", KernelKind::polynomial},
                                                 {"rbf", KernelKind::gaussian},
                                                 {"sigmoid", KernelKind::sigmoid},
                                                 {"laplacian", KernelKind::laplacian}};

struct KernelRule {
  KernelKind kind = KernelKind::linear;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;

  // The factor of rows before products or distances are computed, so that Gaussian and Laplacian
  // kernels need no other factor.
  double scale() const;
};

// For kernels of rows that are not dense: turns products of scaled rows, (rows, columns), into
// kernels in place. Half norms are half of the scaled rows' squared lengths.
void finish_kernels(const KernelRule& rule, std::span<const double> half_norms_of_rows,
                    std::span<const double> half_norms_of_columns, double* values);

// out(i, m) = Σ values(i, r) · coefficients(m, r), summed as KernelTable::sum does.
void weighted_sums(const double* values, std::size_t n_rows, std::size_t n,
                   std::span<const double> coefficients, std::size_t n_sums, double* out);

// Some rows of a table of numbers, which is stored row by row: those of `numbers`, or the first n.
struct RowMatrix {
  const double* values;
  std::size_t n, d;
  const std::int64_t* numbers = nullptr;
  const double* row(std::size_t i) const {
    return values + (numbers ? static_cast<std::size_t>(numbers[i]) : i) * d;
  }
};

template <class T>
class KernelTable {
 public:
  // The centre is subtracted from all rows. Distances do not change, and are more precise near the
  // middle of the rows. It must be 0 for kernels of products.
  KernelTable(const KernelRule& rule, const RowMatrix& rows, std::span<const double> centre,
              int threads);

  // Kernels of rows of the table with all of it: of row rows[i], in slot slots[i] of values, each
  // of which has place for as many numbers as the table has rows.
  void fill(std::span<const std::int64_t> rows, std::span<const std::int64_t> slots, T* values,
            int threads) const;

  // k(x, x) of each row of the table.
  void fill_diagonal(double* values) const;

  // out(i, m) = Σ k(query i, row r) · coefficients(m, r), out being (n, n_sums).
  void sum(const RowMatrix& queries, std::span<const double> coefficients, std::size_t n_sums,
           double* out, int threads) const;

 private:
  struct QueryTiles;  // rows as tiles read them

  T centred(double value, std::size_t feature) const;
  QueryTiles room_for(std::size_t n) const;
  QueryTiles pack(const RowMatrix& rows, std::size_t first, std::size_t last) const;
  QueryTiles pack(std::span<const std::int64_t> rows, int threads) const;
  void tile(const QueryTiles& queries, std::size_t first, std::size_t panel, T* out) const;

  KernelRule rule_;
  std::size_t n_, d_;
  std::vector<double> centre_;
  double scale_;
  Buffer<T> panels_;
  std::vector<T> half_norms_;
};

}  // namespace hedgerow::svm
