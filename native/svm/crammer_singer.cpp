// Crammer and Singer's multiclass SVM, by its dual, a row at a time (Keerthi, Sundararajan, Chang,
// Hsieh and Lin, 2008). With W_m = Σ_i α_im x_i it minimises
//
//   ½ Σ_m ‖W_m‖² + Σ_i Σ_m [m ≠ y_i] α_im,   Σ_m α_im = 0,   α_im ≤ C_i [m = y_i],
//
// and a step solves this exactly for all α of one row. A violation is how far apart gradients of a
// row are that should be equal.
#include <algorithm>
#include <functional>
#include <limits>

#include "svm/descent.hpp"

namespace hedgerow::svm::linear {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The β with Σ_m min(D_m, β) = Σ_m D_m − excess, for D sorted downwards and a positive excess.
double water_level(const std::vector<double>& falling, double excess) {
  double sum = -excess;
  for (std::size_t m = 0; m < falling.size(); ++m) {
    sum += falling[m];
    const double level = sum / static_cast<double>(m + 1);
    if (m + 1 == falling.size() || level >= falling[m + 1]) return level;
  }
  return sum;
}

class CrammerSinger final : public Descent {
 public:
  CrammerSinger(AnyRows rows, const std::int32_t* label, std::size_t n_classes, const double* C,
                const double* square, double* alpha, double* W, std::uint64_t seed)
      : Descent(n_rows(rows), seed),
        rows_(rows),
        label_(label),
        n_classes_(n_classes),
        C_(C),
        square_(square),
        alpha_(alpha),
        W_(W),
        gradient_(n_classes),
        bound_(n_classes),
        sorted_(n_classes),
        change_(n_classes) {}

 private:
  void epoch(bool) override {
    std::visit([this](const auto& x) { visit(x); }, rows_);
  }

  template <class Rows>
  void visit(const Rows& x) {
    violation_ = 0.0;
    for (const std::uint32_t i : active_) {
      look_after((x.stored(i) + 8) * n_classes_);
      if (!(square_[i] > 0.0) || C_[i] == 0.0) continue;
      gradients(x, i);
      const double away = spread(i);
      violation_ = std::max(violation_, away);
      if (away > 0.0) step(x, i);
    }
  }

  // gradient_m = W_m·x_i + [m ≠ y_i], and bound_m of α_im.
  template <class Rows>
  void gradients(const Rows& x, std::size_t i) {
    std::fill(gradient_.begin(), gradient_.end(), 1.0);
    std::fill(bound_.begin(), bound_.end(), 0.0);
    const auto own = static_cast<std::size_t>(label_[i]);
    gradient_[own] = 0.0;
    bound_[own] = C_[i];
    double* g = gradient_.data();
    const auto add = [&](std::size_t j, double value) {
      const double* w = W_ + j * n_classes_;
      for (std::size_t m = 0; m < n_classes_; ++m) g[m] += value * w[m];
    };
    x.each(i, add);
    add(x.n_features, x.bias);
  }

  // How far apart the gradients are that should be equal, or lower.
  double spread(std::size_t i) const {
    const double* alpha = alpha_ + i * n_classes_;
    double highest = -kInfinity, lowest = kInfinity;
    for (std::size_t m = 0; m < n_classes_; ++m) {
      highest = std::max(highest, gradient_[m]);
      if (alpha[m] < bound_[m]) lowest = std::min(lowest, gradient_[m]);
    }
    return std::max(0.0, highest - lowest);
  }

  // α_m = min(bound_m, (β − B_m) / ‖x‖²) with B_m = gradient_m − ‖x‖² α_m, and β such that
  // Σ α_m = 0.
  template <class Rows>
  void step(const Rows& x, std::size_t i) {
    double* alpha = alpha_ + i * n_classes_;
    const double square = square_[i];
    for (std::size_t m = 0; m < n_classes_; ++m) {
      sorted_[m] = gradient_[m] + square * (bound_[m] - alpha[m]);
    }
    std::sort(sorted_.begin(), sorted_.end(), std::greater<>());
    const double level = water_level(sorted_, square * C_[i]);
    for (std::size_t m = 0; m < n_classes_; ++m) {
      const double next = std::min(bound_[m], alpha[m] + (level - gradient_[m]) / square);
      change_[m] = next - alpha[m];
      alpha[m] = next;
    }
    const double* change = change_.data();
    const auto add = [&](std::size_t j, double value) {
      double* w = W_ + j * n_classes_;
      for (std::size_t m = 0; m < n_classes_; ++m) w[m] += value * change[m];
    };
    x.each(i, add);
    add(x.n_features, x.bias);
  }

  AnyRows rows_;
  const std::int32_t* label_;
  std::size_t n_classes_;
  const double *C_, *square_;
  double *alpha_, *W_;
  std::vector<double> gradient_, bound_, sorted_, change_;  // of the current row
};

}  // namespace

std::unique_ptr<Descent> crammer_singer(AnyRows rows, const std::int32_t* label,
                                        std::size_t n_classes, const double* C,
                                        const double* square, double* alpha, double* W,
                                        std::uint64_t seed) {
  return std::make_unique<CrammerSinger>(rows, label, n_classes, C, square, alpha, W, seed);
}

}  // namespace hedgerow::svm::linear
