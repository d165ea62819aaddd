#include "tree/linear_leaves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "shared/math.hpp"

namespace hedgerow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Maximum number of slopes of a leaf, those of the last splits before it: the cost per row grows
// with their square.
constexpr std::size_t kMostTerms = 24;
// Minimum number of rows of a leaf per slope.
constexpr std::int64_t kRowsPerTerm = 5;
// Rows of a block, whose sums are taken in order; maximum number of blocks, and of numbers in their
// sums.
constexpr std::size_t kBlockRows = 8192, kMostBlocks = 64, kMostSums = std::size_t{1} << 22;
// How far a leaf extrapolates beyond the range of its training rows, as a fraction of that range.
// Without a limit the error on a table with heavy tails (California housing) increased from 0.457
// to 0.73; a tenth cost nothing there, and lowered that of a piecewise linear target by 1 %.
constexpr double kBeyond = 0.1;
// A pivot below this fraction of its diagonal is rounding: the feature is a combination of others.
constexpr double kSmallestPivot = 1e-10;

// The numeric features on the path to each leaf, in increasing order.
class Paths {
 public:
  explicit Paths(const TreeNodes& tree) : tree_(tree), parent_(tree.feature.size(), -1) {
    for (std::size_t node = 0; node < parent_.size(); ++node) {
      if (tree.is_leaf(node)) continue;
      parent_[static_cast<std::size_t>(tree.left[node])] = static_cast<int>(node);
      parent_[static_cast<std::size_t>(tree.right[node])] = static_cast<int>(node);
    }
  }

  // Appends the features of a leaf.
  void add(std::size_t leaf, std::vector<std::int32_t>& features) const {
    const auto first = static_cast<std::ptrdiff_t>(features.size());
    const auto most = std::min<std::size_t>(
        kMostTerms, static_cast<std::size_t>(tree_.count[leaf] / kRowsPerTerm));
    for (int node = parent_[leaf]; node >= 0; node = parent_[static_cast<std::size_t>(node)]) {
      const std::int32_t feature = tree_.feature[static_cast<std::size_t>(node)];
      if (features.size() - static_cast<std::size_t>(first) == most) break;
      const bool is_numeric = tree_.category_set[node] < 0;
      const auto begin = features.begin() + first;
      if (is_numeric && std::find(begin, features.end(), feature) == features.end()) {
        features.push_back(feature);
      }
    }
    std::sort(features.begin() + first, features.end());
  }

 private:
  const TreeNodes& tree_;
  std::vector<int> parent_;
};

struct GradientPair {
  double g, h;
};

// The gradients of a leaf's rows after its value has been added. Those of a Newton step stay as
// they are; those of a loss of two exponentials are known for any step (see LeafRule).
struct Shift {
  double g_of_g = 1.0, g_of_h = 0.0, h_of_g = 0.0, h_of_h = 1.0;

  Shift() = default;
  Shift(const LeafRule& rule, double step) {
    if (rule.is_newton()) return;
    const double rates = rule.growth_rate + rule.decay_rate;
    const double up = exp(rule.growth_rate * step) / rates,
                 down = exp(-rule.decay_rate * step) / rates;
    g_of_g = up * rule.decay_rate + down * rule.growth_rate;
    g_of_h = up - down;
    h_of_g = rule.growth_rate * rule.decay_rate * (up - down);
    h_of_h = rule.growth_rate * up + rule.decay_rate * down;
  }

  GradientPair operator()(const GradientPair& row) const {
    return {g_of_g * row.g + g_of_h * row.h, h_of_g * row.g + h_of_h * row.h};
  }
};

// A leaf: its terms, and where the triangle of their products starts.
struct LeafPlan {
  std::size_t first, count, triangle;
  Shift shift;
};

// Statistics of a term from one pass over the rows.
struct Spread {
  double h = 0.0, hx = 0.0, low = kInfinity, high = -kInfinity;

  void add(double weight, double x) {
    h += weight;
    hx += weight * x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  void add(const Spread& other) {
    h += other.h;
    hx += other.hx;
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

// The fit of a tree's slopes.
template <class T, class RowGradient>
class SlopeFit {
 public:
  SlopeFit(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
           const RowGradient& gradient, const SlopeRules& rules, int threads)
      : rows_(rows), table_(table), gradient_(gradient), rules_(rules) {
    plan(tree);
    divide(threads);
  }

  FittedTerms run() {
    if (terms_.feature.empty()) return std::move(terms_);
    centre();
    add_products();
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) solve(leaf);
    return std::move(terms_);
  }

 private:
  void plan(const TreeNodes& tree);
  void divide(int threads);
  void centre();
  void add_products();
  void solve(std::size_t index);
  void bound(const LeafPlan& leaf, double value);

  // Visits the rows of a block that have a hessian, in order.
  template <class Visit>
  void for_block(std::size_t block, const Visit& visit) const {
    for (std::size_t i = n_rows_ * block / n_blocks_; i < n_rows_ * (block + 1) / n_blocks_; ++i) {
      const std::size_t row = rows_.bag.empty() ? i : rows_.bag[i];
      const LeafPlan& leaf = leaves_[rows_.leaf[row]];
      if (leaf.count == 0) continue;
      const GradientPair shifted = leaf.shift(gradient_(row));
      if (shifted.h > 0.0) visit(leaf, row, shifted);
    }
  }

  // Sums of each block, added up in the order of the blocks; the first block's holds the total.
  template <class Sum, class AddBlock, class AddSums>
  std::vector<Sum> sum_blocks(std::size_t n_sums, const AddBlock& add_block,
                              const AddSums& add_sums) const {
    std::vector<Sum> sums(n_blocks_ * n_sums);
    parallel_for(team_, n_blocks_, [&](std::size_t block) {
      check_interrupt();
      add_block(block, sums.data() + block * n_sums);
    });
    for (std::size_t block = 1; block < n_blocks_; ++block) {
      for (std::size_t i = 0; i < n_sums; ++i) add_sums(sums[i], sums[block * n_sums + i]);
    }
    return sums;
  }

  double at(std::size_t row, std::size_t term) const {
    return static_cast<double>(table_.at(row, static_cast<std::size_t>(terms_.feature[term])));
  }

  TreeRows rows_;
  Strided<const T> table_;
  RowGradient gradient_;
  SlopeRules rules_;
  FittedTerms terms_;
  std::vector<LeafPlan> leaves_;
  std::vector<double> leaf_value_;
  std::size_t n_rows_ = 0, n_blocks_ = 1, n_products_ = 0;
  int team_ = 1;
  std::vector<double> per_range_;  // of each term, 1 / its range; 0 if it cannot have a slope
  std::vector<double> weight_;     // of each term, Σh
  std::vector<double> products_;   // of each leaf, −r and the lower triangle of S
};

template <class T, class RowGradient>
void SlopeFit<T, RowGradient>::plan(const TreeNodes& tree) {
  const Paths paths(tree);
  for (std::size_t node = 0; node < tree.feature.size(); ++node) {
    const std::size_t first = terms_.feature.size();
    terms_.start.push_back(static_cast<std::int64_t>(first));
    if (!tree.is_leaf(node)) continue;
    paths.add(node, terms_.feature);
    const std::size_t count = terms_.feature.size() - first;
    const double value = tree.value[node * tree.value_stride];
    leaves_.push_back({first, count, n_products_,
                       Shift(rules_.growth.leaf, value / rules_.growth.learning_rate)});
    leaf_value_.push_back(value);
    n_products_ += count + count * (count + 1) / 2;
  }
  const std::size_t n_terms = terms_.feature.size();
  terms_.start.push_back(static_cast<std::int64_t>(n_terms));
  for (auto* numbers : {&terms_.coefficient, &terms_.centre, &terms_.low, &terms_.high}) {
    numbers->assign(n_terms, 0.0);
  }
}

template <class T, class RowGradient>
void SlopeFit<T, RowGradient>::divide(int threads) {
  n_rows_ = rows_.bag.empty() ? rows_.leaf.size() : rows_.bag.size();
  const std::size_t room = kMostSums / std::max<std::size_t>(n_products_, 1);
  n_blocks_ = std::clamp<std::size_t>(n_rows_ / kBlockRows, 1,
                                      std::clamp<std::size_t>(room, 1, kMostBlocks));
  team_ = threads_for(n_rows_, kBlockRows / 2, threads);
}

// Computes the means and ranges of each leaf's features.
template <class T, class RowGradient>
void SlopeFit<T, RowGradient>::centre() {
  const std::size_t n_terms = terms_.feature.size();
  const auto add_block = [&](std::size_t block, Spread* spread) {
    for_block(block, [&](const LeafPlan& leaf, std::size_t row, const GradientPair& gradient) {
      for (std::size_t t = leaf.first; t < leaf.first + leaf.count; ++t) {
        const double x = at(row, t);
        if (std::isfinite(x)) spread[t].add(gradient.h, x);
      }
    });
  };
  const auto spread = sum_blocks<Spread>(
      n_terms, add_block, [](Spread& total, const Spread& more) { total.add(more); });
  per_range_.assign(n_terms, 0.0);
  weight_.assign(n_terms, 0.0);
  for (std::size_t t = 0; t < n_terms; ++t) {
    const Spread& of_term = spread[t];
    const double mean = of_term.hx / of_term.h, per_range = 1.0 / (of_term.high - of_term.low);
    if (!std::isfinite(mean) || !std::isfinite(per_range) || !(per_range > 0.0)) continue;
    per_range_[t] = per_range;
    weight_[t] = of_term.h;
    terms_.centre[t] = std::clamp(mean, of_term.low, of_term.high);
    const double beyond = kBeyond * (of_term.high - of_term.low);
    terms_.low[t] = of_term.low - beyond;
    terms_.high[t] = of_term.high + beyond;
  }
}

// Computes r and S, with z relative to the features' ranges.
template <class T, class RowGradient>
void SlopeFit<T, RowGradient>::add_products() {
  const auto add_block = [&](std::size_t block, double* products) {
    for_block(block, [&](const LeafPlan& leaf, std::size_t row, const GradientPair& gradient) {
      double z[kMostTerms];
      for (std::size_t j = 0; j < leaf.count; ++j) {
        const std::size_t t = leaf.first + j;
        const double x = at(row, t);
        z[j] = std::isfinite(x) ? (x - terms_.centre[t]) * per_range_[t] : 0.0;
      }
      double* r = products + leaf.triangle;
      double* s = r + leaf.count;
      for (std::size_t j = 0; j < leaf.count; s += ++j) {
        const double weighted = gradient.h * z[j];
        r[j] -= gradient.g * z[j];
        for (std::size_t k = 0; k <= j; ++k) s[k] += weighted * z[k];
      }
    });
  };
  products_ =
      sum_blocks<double>(n_products_, add_block, [](double& total, double more) { total += more; });
}

// Factorises the lower triangle `a` into L D Lᵀ in place, and solves a c = b in place. Rows whose
// pivot is rounding error are left out, and their c is 0.
void solve_symmetric(std::size_t n, double* a, double* b) {
  const auto row = [&](std::size_t j) { return a + j * (j + 1) / 2; };
  for (std::size_t j = 0; j < n; ++j) {
    double* of_j = row(j);
    const double diagonal = of_j[j];
    for (std::size_t k = 0; k < j; ++k) {  // of_j[k] becomes L D
      for (std::size_t m = 0; m < k; ++m) of_j[k] -= of_j[m] * row(k)[m];
    }
    for (std::size_t k = 0; k < j; ++k) {
      const double pivot = row(k)[k];
      const double l = pivot > 0.0 ? of_j[k] / pivot : 0.0;
      of_j[j] -= l * of_j[k];
      b[j] -= l * b[k];
      of_j[k] = l;
    }
    if (!(of_j[j] > kSmallestPivot * diagonal)) of_j[j] = b[j] = 0.0;
  }
  for (std::size_t j = n; j-- > 0;) {
    if (row(j)[j] == 0.0) continue;
    b[j] /= row(j)[j];
    for (std::size_t i = j + 1; i < n; ++i) b[j] -= row(i)[j] * b[i];
  }
}

template <class T, class RowGradient>
void SlopeFit<T, RowGradient>::solve(std::size_t index) {
  const LeafPlan& leaf = leaves_[index];
  double* r = products_.data() + leaf.triangle;
  double* s = r + leaf.count;
  for (std::size_t j = 0; j < leaf.count; ++j) {
    const double weight = weight_[leaf.first + j];
    if (weight > 0.0) s[j * (j + 1) / 2 + j] *= 1.0 + rules_.linear_lambda / weight;
  }
  solve_symmetric(leaf.count, s, r);
  for (std::size_t j = 0; j < leaf.count; ++j) {
    terms_.coefficient[leaf.first + j] =
        rules_.growth.learning_rate * r[j] * per_range_[leaf.first + j];
  }
  bound(leaf, leaf_value_[index]);
}

// Limits slopes so that leaf outputs stay finite, and within max_delta_step if that is set.
template <class T, class RowGradient>
void SlopeFit<T, RowGradient>::bound(const LeafPlan& leaf, double value) {
  double reach = 0.0;
  for (std::size_t t = leaf.first; t < leaf.first + leaf.count; ++t) {
    const double furthest = std::max(terms_.high[t] - terms_.centre[t],  //
                                     terms_.centre[t] - terms_.low[t]);
    reach += std::fabs(terms_.coefficient[t]) * furthest;
  }
  const double most = rules_.growth.learning_rate * rules_.growth.max_delta_step;
  double part = 1.0;
  if (!std::isfinite(std::fabs(value) + reach)) {
    part = 0.0;
  } else if (most > 0.0 && std::fabs(value) + reach > most) {
    part = std::max(0.0, most - std::fabs(value)) / reach;
  }
  if (part == 1.0) return;
  for (std::size_t t = leaf.first; t < leaf.first + leaf.count; ++t) {
    terms_.coefficient[t] = part == 0.0 ? 0.0 : part * terms_.coefficient[t];
  }
}

}  // namespace

template <class T>
FittedTerms fit_slopes(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
                       const GradientStore& gradients, int output, const SlopeRules& rules,
                       int threads) {
  if (gradients.is_vector()) {
    const auto of_row = [&](std::size_t row) {
      const auto [g, h] = gradients.all_outputs().to_float(output, row);
      return GradientPair{g, h};
    };
    return SlopeFit<T, decltype(of_row)>(tree, rows, table, of_row, rules, threads).run();
  }
  const auto of_row = [own = gradients.output(output)](std::size_t row) {
    const GradientSum sum = own.row(row);
    return GradientPair{own.fixed.g(sum), own.fixed.h(sum)};
  };
  return SlopeFit<T, decltype(of_row)>(tree, rows, table, of_row, rules, threads).run();
}

template <class T>
FittedTerms fit_slopes(const TreeNodes& tree, const TreeRows& rows, Strided<const T> table,
                       const double* g, const double* h, const SlopeRules& rules, int threads) {
  const auto of_row = [=](std::size_t row) { return GradientPair{g[row], h[row]}; };
  return SlopeFit<T, decltype(of_row)>(tree, rows, table, of_row, rules, threads).run();
}

#define HEDGEROW_FOR_TABLES_OF(T)                                                      \
  template FittedTerms fit_slopes(const TreeNodes&, const TreeRows&, Strided<const T>, \
                                  const GradientStore&, int, const SlopeRules&, int);  \
  template FittedTerms fit_slopes(const TreeNodes&, const TreeRows&, Strided<const T>, \
                                  const double*, const double*, const SlopeRules&, int);
HEDGEROW_FOR_TABLES_OF(float)
HEDGEROW_FOR_TABLES_OF(double)
#undef HEDGEROW_FOR_TABLES_OF

}  // namespace hedgerow
