#include "explain/dependence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "predict/codes.hpp"
#include "predict/node_means.hpp"

namespace hedgerow::explain {
namespace {

constexpr std::size_t kRowsAtATime = 512;      // their scores at all points stay in the cache
constexpr std::size_t kSumsAtATime = 1 << 23;  // of trees, each by itself: 64 megabytes
constexpr std::size_t kPointsBetweenChecks = 1 << 16;  // whether to stop

template <class T>
bool goes_left(const predict::TreeArrays& tree, std::size_t node, T x) {
  if (tree.is_categorical(node)) {
    const int code = predict::category_code(x);
    return code == predict::kMissingCode ? tree.missing_left[node]
                                         : predict::has_bit(tree.bits(node), code);
  }
  return static_cast<double>(x) <= tree.threshold[node] || (x != x && tree.missing_left[node]);
}

// Sets of grid points, as words of bits, on a stack.
class PointSets {
 public:
  explicit PointSets(std::size_t n_points)
      : n_words_((n_points + 63) / 64), every_(n_points), listed_(n_points) {
    full_.assign(n_words_, ~std::uint64_t{0});
    if (n_points % 64) full_.back() >>= 64 - n_points % 64;
    std::iota(every_.begin(), every_.end(), std::uint32_t{0});
    words_ = full_;
  }

  // Replaces the top set by its points that go right at a node, and pushes those that go left.
  void part(const predict::TreeArrays& tree, std::size_t node, const GridPoints& grid) {
    const std::size_t top = words_.size() - n_words_;
    words_.resize(words_.size() + n_words_, 0);
    for (std::size_t w = 0; w < n_words_; ++w) {
      if (!words_[top + w]) continue;
      const std::uint64_t left = words_[top + w] & that_go_left(tree, node, grid, 64 * w);
      words_[top + w] &= ~left;
      words_[top + n_words_ + w] = left;
    }
  }
  // Duplicates the top set.
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
  std::span<const std::uint32_t> list() {
    const auto top = words_.end() - static_cast<std::ptrdiff_t>(n_words_);
    if (std::equal(top, words_.end(), full_.begin())) return every_;
    std::size_t n_listed = 0;
    for (std::size_t w = 0; w < n_words_; ++w) {
      for (std::uint64_t rest = top[static_cast<std::ptrdiff_t>(w)]; rest; rest &= rest - 1) {
        listed_[n_listed++] =
            static_cast<std::uint32_t>(64 * w + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
    return {listed_.data(), n_listed};
  }

 private:
  // A bit for each of up to 64 points from `first` on that goes left.
  static std::uint64_t that_go_left(const predict::TreeArrays& tree, std::size_t node,
                                    const GridPoints& grid, std::size_t first) {
    const std::size_t count = std::min<std::size_t>(grid.n_points - first, 64);
    std::uint64_t left = 0;
    for (std::size_t bit = 0; bit < count; ++bit) {
      const bool is_left = goes_left(tree, node, grid.at(first + bit, tree.feature[node]));
      left |= static_cast<std::uint64_t>(is_left) << bit;
    }
    return left;
  }

  std::size_t n_words_;
  std::vector<std::uint64_t> words_, full_;
  std::vector<std::uint32_t> every_, listed_;
};

// Sets of rows that go down a tree: ranges of row numbers.
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
  bool ends(const predict::TreeArrays& tree, std::size_t node) const { return tree.is_leaf(node); }
  std::span<const std::uint32_t> rows(const Part& part) const {
    return {number_.data() + part.begin, part.end - part.begin};
  }
  // Moves the rows that go left to the front; returns both parts.
  std::array<Part, 2> divide(const predict::TreeArrays& tree, std::size_t node, const Part& part) {
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

// Fractions of the training rows that go down a tree, to nodes below which no grid feature is
// tested: there all points have the same mean, which is known.
class TrainingParts {
 public:
  struct Part {
    double share;

    bool is_empty() const { return share == 0.0; }
  };

  TrainingParts(const predict::TreeArrays& tree, const double* share)
      : share_(share),
        n_values_(tree.n_values),
        mean_(predict::node_means(tree, share)),
        tests_grid_(tree.n_nodes, false) {}

  // Finds the nodes at or below which a grid feature is tested.
  void ask(const predict::TreeArrays& tree, const GridPoints& grid) {
    for (std::size_t node = tree.n_nodes; node-- > 0;)
      tests_grid_[node] =
          !tree.is_leaf(node) && (grid.replaces(tree.feature[node]) ||
                                  tests_grid_[static_cast<std::size_t>(tree.left[node])] ||
                                  tests_grid_[static_cast<std::size_t>(tree.right[node])]);
  }

  Part all() const { return {1.0}; }
  bool ends(const predict::TreeArrays&, std::size_t node) const { return !tests_grid_[node]; }
  const double* mean(std::size_t node) const { return mean_.data() + node * n_values_; }
  std::array<Part, 2> divide(const predict::TreeArrays& tree, std::size_t node,
                             const Part& part) const {
    return {Part{part.share * share_[tree.left[node]]},
            Part{part.share * share_[tree.right[node]]}};
  }

 private:
  const double* share_;  // of the tree's nodes
  std::size_t n_values_;
  std::vector<double> mean_;      // of the training rows' leaves below each node
  std::vector<char> tests_grid_;  // whether a grid feature is tested at the node or below
};

// Follows rows, and points with them, down a tree; calls visit(node, part, points) where they end.
template <class Parts, class Visit>
void follow(const predict::TreeArrays& tree, const GridPoints& grid, Parts& parts, Visit visit) {
  struct PendingNode {
    std::size_t node;
    typename Parts::Part part;
  };
  PointSets sets(grid.n_points);  // of each pending node
  std::vector<PendingNode> pending = {{0, parts.all()}};
  std::size_t n_visited = 0;
  while (!pending.empty()) {
    const auto [node, part] = pending.back();
    if (part.is_empty() || sets.is_empty()) {
      pending.pop_back();
      sets.drop();
    } else if (parts.ends(tree, node)) {
      const std::span<const std::uint32_t> points = sets.list();
      visit(node, part, points);
      n_visited += points.size();
      if (n_visited > kPointsBetweenChecks) {
        check_interrupt();
        n_visited = 0;
      }
      pending.pop_back();
      sets.drop();
    } else {
      const auto left = static_cast<std::size_t>(tree.left[node]),
                 right = static_cast<std::size_t>(tree.right[node]);
      if (grid.replaces(tree.feature[node])) {
        sets.part(tree, node, grid);
        pending.back() = {right, part};
        pending.push_back({left, part});
      } else {
        const auto [to_left, to_right] = parts.divide(tree, node, part);
        sets.repeat();
        pending.back() = {right, to_right};
        pending.push_back({left, to_left});
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

// Means of the trees' contributions, computed separately and added in the order of the trees; as
// many trees at a time as memory permits.
class TreeMeans {
 public:
  TreeMeans(const predict::EnsembleArrays& ensemble, std::size_t n_points, double total_weight,
            double* mean)
      : ensemble_(ensemble),
        n_points_(n_points),
        n_values_(ensemble.nodes.n_values),
        total_weight_(total_weight),
        mean_(mean) {}

  // Calls follow_tree(t, add) for each tree, which adds leaves by add(value, weight, points,
  // first), where points are counted from the first.
  template <class FollowTree>
  void find(int threads, const FollowTree& follow_tree) {
    const std::size_t n_outputs = ensemble_.base_score.size(), n_trees = ensemble_.n_trees();
    for (std::size_t point = 0; point < n_points_; ++point)
      std::copy(ensemble_.base_score.begin(), ensemble_.base_score.end(),
                mean_ + point * n_outputs);
    const std::size_t of_tree = std::max<std::size_t>(n_points_ * n_values_, 1);
    const std::size_t at_a_time = std::max<std::size_t>(kSumsAtATime / of_tree, 1);
    for (std::size_t first = 0; first < n_trees; first += at_a_time) {
      const std::size_t count = std::min(at_a_time, n_trees - first);
      sums_.assign(count * of_tree, 0.0);
      parallel_for(threads, count, [&](std::size_t t) {
        check_interrupt();
        double* sums = sums_.data() + t * of_tree;
        follow_tree(first + t, [&](const double* value, double weight,
                                   std::span<const std::uint32_t> points, std::size_t start) {
          add(sums + start * n_values_, value, weight, points);
        });
      });
      for (std::size_t t = 0; t < count; ++t) write(first + t, sums_.data() + t * of_tree);
    }
  }

 private:
  void add(double* sums, const double* value, double weight,
           std::span<const std::uint32_t> points) const {
    for (std::size_t k = 0; k < n_values_; ++k) {
      const double added = weight * value[k];
      for (const std::uint32_t point : points) sums[point * n_values_ + k] += added;
    }
  }

  void write(std::size_t t, const double* sums) {
    const std::size_t n_outputs = ensemble_.base_score.size();
    double* added_to = mean_ + (n_values_ == 1 ? ensemble_.tree_output[t] : 0);
    for (std::size_t point = 0; point < n_points_; ++point)
      for (std::size_t k = 0; k < n_values_; ++k)
        added_to[point * n_outputs + k] += sums[point * n_values_ + k] / total_weight_;
  }

  const predict::EnsembleArrays& ensemble_;
  std::size_t n_points_, n_values_;
  double total_weight_;
  double* mean_;  // (points, outputs)
  std::vector<double> sums_;
};

double total_weight(std::size_t n_rows, const double* weights) {
  if (!weights) return static_cast<double>(n_rows);
  return std::accumulate(weights, weights + n_rows, 0.0);
}

}  // namespace

template <class T>
void mean_scores(const predict::EnsembleArrays& ensemble, Strided<const T> rows, std::size_t n_rows,
                 const double* weights, const GridPoints& grid, double* mean, int threads) {
  TreeMeans means(ensemble, grid.n_points, total_weight(n_rows, weights), mean);
  means.find(threads, [&](std::size_t t, const auto& add) {
    const predict::TreeArrays tree = ensemble.tree(t);
    RowParts<T> parts(rows, 0, n_rows);
    follow(tree, grid, parts, [&](std::size_t leaf, const auto& part, const auto& points) {
      add(tree.value + leaf * tree.n_values, weight_of(parts.rows(part), weights), points, 0);
    });
  });
}

template <class T>
void scores_at_points(const predict::EnsembleArrays& ensemble, Strided<const T> rows,
                      std::size_t n_rows, const GridPoints& grid, double* scores, int threads) {
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
      const predict::TreeArrays tree = ensemble.tree(t);
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

void scores_by_share(const predict::EnsembleArrays& ensemble, const double* share,
                     std::span<const GridPoints> grids, double* mean, int threads) {
  std::size_t n_points = 0;
  for (const GridPoints& grid : grids) n_points += grid.n_points;
  std::vector<std::uint32_t> numbers(n_points);
  std::iota(numbers.begin(), numbers.end(), std::uint32_t{0});
  const std::span<const std::uint32_t> every_point(numbers);
  TreeMeans means(ensemble, n_points, 1.0, mean);
  means.find(threads, [&](std::size_t t, const auto& add) {
    const predict::TreeArrays tree = ensemble.tree(t);
    TrainingParts parts(tree, share + ensemble.tree_offset[t]);
    std::vector<double> to_all(tree.n_values);
    std::size_t start = 0;
    for (const GridPoints& grid : grids) {
      parts.ask(tree, grid);
      std::ranges::fill(to_all, 0.0);
      follow(tree, grid, parts, [&](std::size_t node, const auto& part, const auto& points) {
        if (points.size() < grid.n_points)
          add(parts.mean(node), part.share, points, start);
        else
          for (std::size_t k = 0; k < to_all.size(); ++k)
            to_all[k] += part.share * parts.mean(node)[k];
      });
      add(to_all.data(), 1.0, every_point.subspan(0, grid.n_points), start);
      start += grid.n_points;
    }
  });
}

template void mean_scores(const predict::EnsembleArrays&, Strided<const float>, std::size_t,
                          const double*, const GridPoints&, double*, int);
template void mean_scores(const predict::EnsembleArrays&, Strided<const double>, std::size_t,
                          const double*, const GridPoints&, double*, int);
template void scores_at_points(const predict::EnsembleArrays&, Strided<const float>, std::size_t,
                               const GridPoints&, double*, int);
template void scores_at_points(const predict::EnsembleArrays&, Strided<const double>, std::size_t,
                               const GridPoints&, double*, int);

}  // namespace hedgerow::explain
