#include "explain/shap.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "explain/shap_trees.hpp"

namespace hedgerow::explain {

namespace {

constexpr std::size_t kMaxChunkRows = 256;
constexpr std::size_t kMaxChunkValues = 1 << 17;  // a megabyte
// Numbers of edges that are stored at a time: those of all trees of a deep forest would take
// several times its memory.
constexpr std::size_t kMaxNumbers = 1 << 23;  // 64 megabytes

// The effect of an edge at the points of the quadrature: `n` numbers of each kind.
//
// Going down it multiplies the product of all players on the way by its player's factor, f = z + t
// (o − z), after dividing it by the factor that the same player had before. Going up, the sum S of
// all leaves below adds S (o − z) / f to its player, less what the same player has had for it
// before. Both depend on whether the row fits (o = 1) and on whether it did before; one that did
// not, does not. Then the product takes the edge's own share, and nothing is added.
struct EdgeNumbers {
  const double *factor_in, *factor_out;
  const double *gain_in, *gain_out;

  static constexpr std::size_t kKinds = 4;

  EdgeNumbers(const double* of_edge, std::size_t n)
      : factor_in(of_edge),
        factor_out(of_edge + n),
        gain_in(of_edge + 2 * n),
        gain_out(of_edge + 3 * n) {}
};

void write_numbers(const ShapEdge& edge, double share_before, const QuadratureRule& rule,
                   double* numbers) {
  const std::size_t n = rule.size();
  const double z = edge.share, z_before = share_before;
  for (std::size_t q = 0; q < n; ++q) {
    const double t = rule.point[q], w = rule.weight[q];
    const double in = z + t * (1.0 - z), out = z * (1.0 - t);
    const double before = z_before + t * (1.0 - z_before);
    const double had = (1.0 - z_before) / before;
    numbers[q] = in / before;
    numbers[n + q] = out / before;
    numbers[2 * n + q] = w * ((1.0 - z) / in - had);
    numbers[3 * n + q] = w * (-1.0 / (1.0 - t) - had);
  }
}

// A tree with its edges' numbers.
struct Prepared {
  const ShapTree& tree;
  std::size_t n_points;
  std::vector<double> numbers;

  explicit Prepared(const ShapTree& of) : tree(of), n_points((of.n_players + 1) / 2) {}

  std::size_t n_numbers() const { return tree.edges.size() * EdgeNumbers::kKinds * n_points; }

  void write(const ShapTrees& trees) {
    const QuadratureRule& rule = trees.rules[n_points];
    numbers.resize(n_numbers());
    std::vector<double> share_on_way(tree.n_slots, 1.0);  // by slot
    double* to = numbers.data();
    for (const ShapEdge& edge : tree.edges) {
      share_on_way[edge.slot] = edge.share;
      write_numbers(edge, share_on_way[edge.previous], rule, to);
      to += EdgeNumbers::kKinds * n_points;
    }
  }

  EdgeNumbers of_edge(std::size_t edge) const {
    return {&numbers[edge * EdgeNumbers::kKinds * n_points], n_points};
  }
};

// The next trees from `first` on, as many as are kept at a time, at least one.
std::vector<Prepared> prepared_from(const ShapTrees& trees, std::size_t first, int threads) {
  std::vector<Prepared> prepared;
  std::size_t n_numbers = 0;
  for (std::size_t t = first; t < trees.trees.size(); ++t) {
    const Prepared next(trees.trees[t]);
    n_numbers += next.n_numbers();
    if (t > first && n_numbers > kMaxNumbers) break;
    prepared.push_back(next);
  }
  parallel_for(threads, prepared.size(), [&](std::size_t t) {
    check_interrupt();
    prepared[t].write(trees);
  });
  return prepared;
}

// Walks blocks of rows through trees. The state of the path from the root to the current node is
// stored in slots, one for each depth.
class BlockWalk {
 public:
  BlockWalk(const ShapTrees& trees, const std::vector<Prepared>& prepared) : trees_(trees) {
    for (const Prepared& tree : prepared) {
      n_slots_ = std::max(n_slots_, tree.tree.n_slots);
      n_points_ = std::max(n_points_, tree.n_points);
    }
    went_left_.resize(n_slots_);
    fits_.resize(n_slots_);
    fits_[0] = RowMasks::all();
    product_.resize(n_slots_ * n_points_);
    sum_.resize(n_slots_ * n_points_ * trees.n_values);
  }

  // Adds a tree's values of the block of rows that begins at `first` of the columns. Values of a
  // player are `stride` after those of the player before, and those of an output follow.
  void add(const Prepared& prepared, const ShapColumns& columns, std::size_t first, double* values,
           std::size_t stride) {
    const ShapTree& tree = prepared.tree;
    std::fill_n(product_.begin(), prepared.n_points, RowDoubles::all(1.0));
    for (const std::int32_t step : tree.steps) {
      const auto number = static_cast<std::size_t>(step < 0 ? -(step + 1) : step);
      const ShapEdge& edge = tree.edges[number];
      const EdgeNumbers numbers = prepared.of_edge(number);
      if (step >= 0) {
        turn(tree, edge, columns, first);
        go_down(edge, numbers, prepared.n_points);
      }
      if (step >= 0 && !edge.is_leaf) continue;
      for (std::size_t k = 0; k < trees_.n_values; ++k) {
        const std::size_t output = static_cast<std::size_t>(tree.output) + k;
        double* of_player = values + (output * trees_.players.size() + edge.player) * stride;
        if (edge.is_leaf)
          go_up<true>(edge, numbers, prepared.n_points, k, trees_.leaf_value(tree, edge, k),
                      of_player);
        else
          go_up<false>(edge, numbers, prepared.n_points, k, 1.0, of_player);
      }
    }
  }

 private:
  RowDoubles* product(std::size_t slot) { return &product_[slot * n_points_]; }
  RowDoubles* sum(std::size_t slot, std::size_t k) {
    return &sum_[(slot * trees_.n_values + k) * n_points_];
  }

  // Determines which rows fit.
  void turn(const ShapTree& tree, const ShapEdge& edge, const ShapColumns& columns,
            std::size_t first) {
    RowMasks& left = went_left_[edge.slot - 1];
    if (!edge.is_right) {
      const ShapTest& test = trees_.tests[tree.root + edge.parent];
      left = goes_left(trees_, test, columns.column(test.feature) + first);
    }
    fits_[edge.slot] = (edge.is_right ? ~left : left) & fits_[edge.previous];
  }

  void go_down(const ShapEdge& edge, const EdgeNumbers& numbers, std::size_t n_points) {
    const RowDoubles* from = product(edge.slot - 1);
    RowDoubles* to = product(edge.slot);
    const RowMasks fits = fits_[edge.slot], before = fits_[edge.previous];
    const RowDoubles share = RowDoubles::all(edge.own_share);
    for (std::size_t q = 0; q < n_points; ++q) {
      const RowDoubles in = RowDoubles::all(numbers.factor_in[q]);
      RowDoubles out = RowDoubles::all(numbers.factor_out[q]);
      if (edge.previous != 0) out = RowDoubles::select(before, out, share);
      to[q] = from[q] * RowDoubles::select(fits, in, out);
    }
  }

  // Adds to the player, and passes the sum of the leaves below on to the parent.
  template <bool is_leaf>
  void go_up(const ShapEdge& edge, const EdgeNumbers& numbers, std::size_t n_points, std::size_t k,
             double leaf_value, double* of_player) {
    const RowDoubles* from = is_leaf ? product(edge.slot) : sum(edge.slot, k);
    RowDoubles* to = sum(edge.slot - 1, k);
    const RowMasks fits = fits_[edge.slot], before = fits_[edge.previous];
    const RowDoubles value = RowDoubles::all(leaf_value), nothing = RowDoubles::all(0.0);
    RowDoubles gained = nothing;
    for (std::size_t q = 0; q < n_points; ++q) {
      const RowDoubles below = is_leaf ? from[q] * value : from[q];
      RowDoubles out = RowDoubles::all(numbers.gain_out[q]);
      if (edge.previous != 0) out = RowDoubles::select(before, out, nothing);
      gained = gained + below * RowDoubles::select(fits, RowDoubles::all(numbers.gain_in[q]), out);
      to[q] = edge.is_right ? to[q] + below : below;
    }
    (RowDoubles::load(of_player) + gained).store(of_player);
  }

  const ShapTrees& trees_;
  std::size_t n_slots_ = 1, n_points_ = 1;
  std::vector<RowMasks> went_left_, fits_;
  std::vector<RowDoubles> product_, sum_;
};

std::size_t chunk_rows(const ShapTrees& trees) {
  const std::size_t n_values = std::max<std::size_t>(trees.players.size() * trees.n_outputs, 1);
  const std::size_t rows = kMaxChunkValues / n_values / kRowLanes * kRowLanes;
  return std::clamp(rows, kRowLanes, kMaxChunkRows);
}

// Adds the values of trees to a chunk of rows; values are (rows, players, outputs).
template <class T>
void add_trees(const ShapTrees& trees, const std::vector<Prepared>& prepared, Strided<const T> rows,
               std::size_t n_rows, double* values) {
  const std::size_t capacity = (n_rows + kRowLanes - 1) / kRowLanes * kRowLanes;
  const std::size_t n_used = trees.players.size();
  ShapColumns columns(trees.features.size(), capacity);
  columns.read(rows, n_rows, trees.features);
  std::vector<double> added(trees.n_outputs * n_used * capacity);
  const auto with_each = [&](const auto& change) {
    for (std::size_t k = 0; k < trees.n_outputs; ++k)
      for (std::size_t p = 0; p < n_used; ++p)
        for (std::size_t i = 0; i < n_rows; ++i)
          change(values[(i * trees.n_players + trees.players[p]) * trees.n_outputs + k],
                 added[(k * n_used + p) * capacity + i]);
  };
  with_each([](double value, double& so_far) { so_far = value; });
  BlockWalk walk(trees, prepared);
  for (const Prepared& tree : prepared) {
    for (std::size_t first = 0; first < n_rows; first += kRowLanes) {
      check_interrupt();
      walk.add(tree, columns, first, added.data() + first, capacity);
    }
  }
  with_each([](double& value, double so_far) { value = so_far; });
}

}  // namespace

template <class T>
void ShapExplainer::explain(Strided<const T> rows, std::size_t n_rows, double* values,
                            int threads) const {
  const ShapTrees& trees = *trees_;
  const std::size_t chunk = chunk_rows(trees), row_values = trees.n_players * trees.n_outputs;
  for (std::size_t first = 0; first < trees.trees.size();) {
    const std::vector<Prepared> prepared = prepared_from(trees, first, threads);
    parallel_for(threads, (n_rows + chunk - 1) / chunk, [&](std::size_t c) {
      const std::size_t begin = c * chunk, n = std::min(chunk, n_rows - begin);
      add_trees(trees, prepared, rows.from(begin, 0), n, values + begin * row_values);
    });
    first += prepared.size();
  }
}

template void ShapExplainer::explain(Strided<const float>, std::size_t, double*, int) const;
template void ShapExplainer::explain(Strided<const double>, std::size_t, double*, int) const;

}  // namespace hedgerow::explain
