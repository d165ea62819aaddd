// Crammer and Singer's multiclass SVM, by its dual, a row at a time (Keerthi, Sundararajan, Chang,
// Hsieh and Lin, 2008). With W_m = Σ_i α_im x_i it minimises
//
//   ½ Σ_m ‖W_m‖² + Σ_i Σ_m [m ≠ y_i] α_im,   Σ_m α_im = 0,   α_im ≤ C_i [m = y_i],
//
// and a step solves this exactly for all α of one row. A violation is how far apart gradients of a
// row are that should be equal.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "svm/descent.hpp"
#include "svm/linear_rows.hpp"

namespace hedgerow::svm::linear {

class CrammerSinger final : public Descent {
 public:
  // α is [n_rows][n_classes] and W is [width][n_classes]; both belong to the caller and must be
  // consistent. `square` holds the rows' ‖x_i‖².
  CrammerSinger(AnyRows rows, const std::int32_t* label, std::size_t n_classes, const double* C,
                const double* square, double* alpha, double* W, std::uint64_t seed);

 private:
  void epoch(bool afresh) override;
  template <class Rows>
  void visit(const Rows& x);
  template <class Rows>
  void gradients(const Rows& x, std::size_t i);
  double spread(std::size_t i) const;
  template <class Rows>
  void step(const Rows& x, std::size_t i);

  AnyRows rows_;
  const std::int32_t* label_;
  std::size_t n_classes_;
  const double *C_, *square_;
  double *alpha_, *W_;
  std::vector<double> gradient_, bound_, sorted_, change_;  // of the current row
};

}  // namespace hedgerow::svm::linear
