#include "dependence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "codes.hpp"
#include "interrupt.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kRowsAtATime = 512;  // whose scores at all points stay in the cache

template <class T>
bool goes_left(const TreeArrays& tree, std::size_t node, T x) {
  if (tree.is_categorical(node)) {
    const int code = category_code(x);
    return code == missing_code ? tree.missing_left[node] : has_bit(tree.bits(node), code);
  }
  return static_cast<double>(x) <= tree.threshold[node] || (x != x && tree.missing_left[node]);
}

// Sets of grid points, as words of bits, on a stack.
class PointSets {
 public:
  explicit PointSets(std::size_t n_points) : n_words_((n_points + 63) / 64) {
    words_.assign(n_words_, ~std::uint64_t{0});
    if (n_points % 64) words_.back() >>= 64 - n_points % 64;
  }

  // Replaces the set on top by its points that go right at a node, and puts those that go left on
  // top of it.
  void part(const TreeArrays& tree, std::size_t node, const GridPoints& grid) {
    const std::size_t top = words_.size() - n_words_;
    words_.resize(words_.size() + n_words_, 0);
    for (std::size_t w = 0; w < n_words_; ++w) {
      std::uint64_t left = 0;
      for (std::uint64_t rest = words_[top + w]; rest; rest &= rest - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
        const bool is_left = goes_left(tree, node, grid.at(64 * w + bit, tree.feature[node]));
        left |= static_cast<std::uint64_t>(is_left) << bit;
      }
      words_[top + w] &= ~left;
      words_[top + n_words_ + w] = left;
    }
  }
  // Puts the set on top there once more.
  void repeat() {
    const std::size_t top = words_.size() - n_words_;
    words_.resize(words_.size() + n_words_);
    std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(top), n_words_,
                words_.begin() + static_cast<std::ptrdiff_t>(top + n_words_));
  }
  void drop() { words_.resize(words_.size() - n_words_); }
  bool is_empty() const {
    return std::all_of(words_.end() - static_cast<std::ptrdiff_t>(n_words_), words_.end(),
                       [](std::uint64_t word) { return word == 0; });
  }
  // The points of the set on top.
  void list(std::vector<std::uint32_t>& points) const {
    points.clear();
    const std::size_t top = words_.size() - n_words_;
    for (std::size_t w = 0; w < n_words_; ++w) {
      for (std::uint64_t rest = words_[top + w]; rest; rest &= rest - 1) {
        points.push_back(
            static_cast<std::uint32_t>(64 * w + static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
  }

 private:
  std::size_t n_words_;
  std::vector<std::uint64_t> words_;
};

// Rows that are followed down a tree: a stretch of row numbers.
template <class T>
class RowParts {
 public:
  struct Part {
    std::size_t begin, end;

    bool is_empty() const { return begin == end; }
  };

  RowParts(Strided<const T> rows, std::size_t first, std::size_t count)
      : rows_(rows), number_(count), right_(count) {
    std::iota(number_.begin(), number_.end(), static_cast<std::uint32_t>(first));
  }

  Part all() const { return {0, number_.size()}; }
  std::span<const std::uint32_t> rows(const Part& part) const {
    return {number_.data() + part.begin, part.end - part.begin};
  }
  // Puts the rows that go left in front; returns those parts.
  std::array<Part, 2> parted(const TreeArrays& tree, std::size_t node, const Part& part) {
    const auto feature = static_cast<std::size_t>(tree.feature[node]);
    std::size_t n_left = part.begin, n_right = 0;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const std::uint32_t row = number_[i];
      const bool is_left = goes_left(tree, node, rows_.at(row, feature));
      number_[n_left] = right_[n_right] = row;
      n_left += is_left;
      n_right += !is_left;
    }
    std::copy_n(right_.begin(), n_right, number_.begin() + static_cast<std::ptrdiff_t>(n_left));
    return {Part{part.begin, n_left}, Part{n_left, part.end}};
  }

 private:
  Strided<const T> rows_;
  std::vector<std::uint32_t> number_, right_;
};

// A share of the training rows that is followed down a tree.
class CoverParts {
 public:
  struct Part {
    double share;

    bool is_empty() const { return share == 0.0; }
  };

  explicit CoverParts(const double* cover) : cover_(cover) {}

  Part all() const { return {1.0}; }
  std::array<Part, 2> parted(const TreeArrays& tree, std::size_t node, const Part& part) const {
    const double left = cover_[tree.left[node]], right = cover_[tree.right[node]];
    const double share = left + right > 0.0 ? left / (left + right) : 0.5;
    return {Part{part.share * share}, Part{part.share * (1.0 - share)}};
  }

 private:
  const double* cover_;  // of the tree's nodes
};

// Follows rows, and points with them, down a tree; calls visit(leaf, part, points) where they end.
template <class Parts, class Visit>
void follow(const TreeArrays& tree, const GridPoints& grid, Parts& parts, Visit visit) {
  struct Step {
    std::size_t node;
    typename Parts::Part part;
  };
  PointSets sets(grid.n_points);  // that of each step
  std::vector<Step> steps = {{0, parts.all()}};
  std::vector<std::uint32_t> points;
  while (!steps.empty()) {
    const auto [node, part] = steps.back();
    if (part.is_empty() || sets.is_empty()) {
      steps.pop_back();
      sets.drop();
    } else if (tree.is_leaf(node)) {
      sets.list(points);
      visit(node, part, points);
      steps.pop_back();
      sets.drop();
    } else {
      const auto left = static_cast<std::size_t>(tree.left[node]),
                 right = static_cast<std::size_t>(tree.right[node]);
      if (grid.replaces(tree.feature[node])) {
        sets.part(tree, node, grid);
        steps.back() = {right, part};
        steps.push_back({left, part});
      } else {
        const auto [to_left, to_right] = parts.parted(tree, node, part);
        sets.repeat();
        steps.back() = {right, to_right};
        steps.push_back({left, to_left});
      }
    }
  }
}

double weight_of(std::span<const std::uint32_t> rows, const double* weights) {
  if (!weights) return static_cast<double>(rows.size());
  double sum = 0.0;
  for (const std::uint32_t row : rows) sum += weights[row];
  return sum;
}

// Means that trees add, each by itself, so that they add up in the order of the trees.
class TreeMeans {
 public:
  TreeMeans(const EnsembleArrays& ensemble, const GridPoints& grid)
      : ensemble_(ensemble),
        n_points_(grid.n_points),
        n_values_(ensemble.nodes.n_values),
        sums_(ensemble.n_trees() * n_points_ * n_values_) {}

  void add(std::size_t t, const double* value, double weight,
           const std::vector<std::uint32_t>& points) {
    double* sums = sums_.data() + t * n_points_ * n_values_;
    for (std::size_t k = 0; k < n_values_; ++k) {
      const double added = weight * value[k];
      for (const std::uint32_t point : points) sums[point * n_values_ + k] += added;
    }
  }

  void write(double total_weight, double* mean) const {
    const std::size_t n_outputs = ensemble_.base_score.size();
    for (std::size_t point = 0; point < n_points_; ++point) {
      double* scores = mean + point * n_outputs;
      std::copy(ensemble_.base_score.begin(), ensemble_.base_score.end(), scores);
      for (std::size_t t = 0; t < ensemble_.n_trees(); ++t) {
        const double* sums = sums_.data() + (t * n_points_ + point) * n_values_;
        double* added_to = scores + (n_values_ == 1 ? ensemble_.tree_output[t] : 0);
        for (std::size_t k = 0; k < n_values_; ++k) added_to[k] += sums[k] / total_weight;
      }
    }
  }

 private:
  const EnsembleArrays& ensemble_;
  std::size_t n_points_, n_values_;
  std::vector<double> sums_;
};

}  // namespace

template <class T>
void mean_scores(const EnsembleArrays& ensemble, Strided<const T> rows, std::size_t n_rows,
                 const double* weights, const GridPoints& grid, double* mean, int threads) {
  TreeMeans means(ensemble, grid);
  parallel_for(threads, ensemble.n_trees(), [&](std::size_t t) {
    check_interrupt();
    const TreeArrays tree = ensemble.tree(t);
    RowParts<T> parts(rows, 0, n_rows);
    follow(tree, grid, parts, [&](std::size_t leaf, const auto& part, const auto& points) {
      const double weight = weight_of(parts.rows(part), weights);
      means.add(t, tree.value + leaf * tree.n_values, weight, points);
    });
  });
  std::vector<std::uint32_t> all(weights ? n_rows : 0);
  std::iota(all.begin(), all.end(), 0u);
  means.write(weights ? weight_of(all, weights) : static_cast<double>(n_rows), mean);
}

template <class T>
void scores_at_points(const EnsembleArrays& ensemble, Strided<const T> rows, std::size_t n_rows,
                      const GridPoints& grid, double* scores, int threads) {
  const std::size_t n_outputs = ensemble.base_score.size(), n_values = ensemble.nodes.n_values;
  const std::size_t width = grid.n_points * n_outputs;
  const std::size_t n_blocks = (n_rows + kRowsAtATime - 1) / kRowsAtATime;
  parallel_for(threads, n_blocks, [&](std::size_t block) {
    const std::size_t first = block * kRowsAtATime, count = std::min(kRowsAtATime, n_rows - first);
    for (std::size_t i = 0; i < count * grid.n_points; ++i) {
      std::copy(ensemble.base_score.begin(), ensemble.base_score.end(),
                scores + first * width + i * n_outputs);
    }
    for (std::size_t t = 0; t < ensemble.n_trees(); ++t) {
      check_interrupt();
      const TreeArrays tree = ensemble.tree(t);
      const std::size_t output =
          n_values == 1 ? static_cast<std::size_t>(ensemble.tree_output[t]) : 0;
      RowParts<T> parts(rows, first, count);
      follow(tree, grid, parts, [&](std::size_t leaf, const auto& part, const auto& points) {
        const double* value = tree.value + leaf * n_values;
        for (const std::uint32_t row : parts.rows(part)) {
          for (const std::uint32_t point : points) {
            double* added_to = scores + row * width + point * n_outputs + output;
            for (std::size_t k = 0; k < n_values; ++k) added_to[k] += value[k];
          }
        }
      });
    }
  });
}

void scores_by_cover(const EnsembleArrays& ensemble, const double* cover, const GridPoints& grid,
                     double* mean, int threads) {
  TreeMeans means(ensemble, grid);
  parallel_for(threads, ensemble.n_trees(), [&](std::size_t t) {
    check_interrupt();
    const TreeArrays tree = ensemble.tree(t);
    CoverParts parts(cover + ensemble.tree_offset[t]);
    follow(tree, grid, parts, [&](std::size_t leaf, const auto& part, const auto& points) {
      means.add(t, tree.value + leaf * tree.n_values, part.share, points);
    });
  });
  means.write(1.0, mean);
}

template void mean_scores(const EnsembleArrays&, Strided<const float>, std::size_t, const double*,
                          const GridPoints&, double*, int);
template void mean_scores(const EnsembleArrays&, Strided<const double>, std::size_t, const double*,
                          const GridPoints&, double*, int);
template void scores_at_points(const EnsembleArrays&, Strided<const float>, std::size_t,
                               const GridPoints&, double*, int);
template void scores_at_points(const EnsembleArrays&, Strided<const double>, std::size_t,
                               const GridPoints&, double*, int);

}  // namespace hedgerow
