// Interaction values, leaf by leaf: of players i and j, half of
//   v (oᵢ − zᵢ) (oⱼ − zⱼ) ∫₀¹ ∏_{m ≠ i, j} (z_m + t (o_m − z_m)) dt.
#include <algorithm>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "explain/shap.hpp"
#include "explain/shap_trees.hpp"

namespace hedgerow::explain {

namespace {

// The index of a pair of players among all pairs.
std::size_t pair_place(std::size_t a, std::size_t b) {
  const auto [low, high] = std::minmax(a, b);
  return high * (high - 1) / 2 + low;
}

// Turns of leaves that are stored for all blocks of rows. Those of deep forests would take several
// times the memory of the forest, and are listed again for each block, which costs little compared
// with the pairs.
constexpr std::size_t kMaxTurns = 1 << 21;

// The leaves of trees, listed once if that takes little memory.
class Leaves {
 public:
  explicit Leaves(const ShapTrees& trees) : trees_(trees) {
    std::size_t n_turns = 0;
    for (const ShapTree& tree : trees.trees)
      for (const ShapEdge& edge : tree.edges) n_turns += edge.is_leaf ? edge.slot : 0;
    if (n_turns > kMaxTurns) return;
    for (const ShapTree& tree : trees.trees) stored_.emplace_back(trees, tree);
  }

  // Calls use(leaves) of a tree.
  template <class Use>
  void with_tree(std::size_t t, const Use& use) const {
    if (stored_.empty())
      use(ShapLeaves(trees_, trees_.trees[t]));
    else
      use(stored_[t]);
  }

 private:
  const ShapTrees& trees_;
  std::vector<ShapLeaves> stored_;
};

// The pairs of a block of rows; values are added up in the order of the trees.
class BlockPairs {
 public:
  BlockPairs(const ShapTrees& trees, const std::vector<QuadratureRule>& rules)
      : trees_(trees), rules_(rules) {
    std::size_t most_nodes = 0, most_members = 0;
    for (const ShapTree& tree : trees.trees) {
      most_nodes = std::max(most_nodes, tree.edges.size() + 1);
      most_members = std::max(most_members, tree.n_players);
    }
    const std::size_t n_used = trees.players.size(), n_points = rules.size();
    went_left_.resize(most_nodes);
    fits_.resize(most_members);
    product_.resize(n_points);
    ratio_.resize(most_members * n_points);
    pairs_.assign(trees.n_outputs * n_used * (n_used - (n_used > 0)) / 2, RowDoubles(0.0));
  }

  void add(const ShapTree& tree, const ShapLeaves& leaves, const ShapColumns& columns) {
    for (const ShapEdge& edge : tree.edges) {
      if (edge.is_right) continue;
      const ShapTest& test = trees_.tests[tree.root + edge.parent];
      went_left_[edge.parent] = goes_left(trees_, test, columns.column(test.feature));
    }
    for (const ShapLeaves::ShapLeaf& leaf : leaves.leaves) {
      check_interrupt();
      if (leaf.member_end - leaf.member_begin > 1) add_leaf(tree, leaves, leaf);
    }
  }

  double of(std::size_t output, std::size_t a, std::size_t b, std::size_t i) const {
    return pairs_[output * n_pairs() + pair_place(a, b)][i];
  }

 private:
  std::size_t n_pairs() const { return pairs_.size() / trees_.n_outputs; }

  void add_leaf(const ShapTree& tree, const ShapLeaves& leaves, const ShapLeaves::ShapLeaf& leaf) {
    const ShapLeaves::Member* members = &leaves.members[leaf.member_begin];
    const std::size_t n_members = leaf.member_end - leaf.member_begin;
    const QuadratureRule& rule = rules_[n_members / 2];
    find_fits(leaves, leaf);
    multiply(members, n_members, rule);
    const std::size_t node = tree.root + leaf.node;
    for (std::size_t a = 1; a < n_members; ++a)
      for (std::size_t b = 0; b < a; ++b)
        add_pair(integral(a, b, rule.size()), pair_place(members[a].player, members[b].player),
                 &trees_.value[node * trees_.n_values], tree.output);
  }

  void find_fits(const ShapLeaves& leaves, const ShapLeaves::ShapLeaf& leaf) {
    std::fill_n(fits_.begin(), leaf.member_end - leaf.member_begin, RowMasks(-1));
    for (std::size_t t = leaf.turn_begin; t < leaf.turn_end; ++t) {
      const ShapLeaves::Turn& turn = leaves.turns[t];
      const RowMasks left = went_left_[turn.node];
      fits_[turn.member] = fits_[turn.member] & (turn.is_right ? ~left : left);
    }
  }

  // At each point the product of all factors, weighed, and of each member (o − z) / factor.
  void multiply(const ShapLeaves::Member* members, std::size_t n_members,
                const QuadratureRule& rule) {
    for (std::size_t q = 0; q < rule.size(); ++q) {
      RowDoubles product = RowDoubles(rule.weight[q]);
      for (std::size_t m = 0; m < n_members; ++m) {
        const double z = members[m].share, t = rule.point[q];
        const double in = z + t * (1.0 - z), out = z * (1.0 - t);
        product = product * select(fits_[m], RowDoubles(in), RowDoubles(out));
        ratio_[m * rule.size() + q] =
            select(fits_[m], RowDoubles((1.0 - z) / in), RowDoubles(-1.0 / (1.0 - t)));
      }
      product_[q] = product;
    }
  }

  RowDoubles integral(std::size_t a, std::size_t b, std::size_t n_points) const {
    const RowDoubles *of_a = &ratio_[a * n_points], *of_b = &ratio_[b * n_points];
    RowDoubles sum = RowDoubles(0.0);
    for (std::size_t q = 0; q < n_points; ++q) sum = sum + product_[q] * of_a[q] * of_b[q];
    return sum;
  }

  void add_pair(const RowDoubles& integral, std::size_t pair, const double* value,
                std::int32_t output) {
    for (std::size_t k = 0; k < trees_.n_values; ++k) {
      RowDoubles& sum = pairs_[(static_cast<std::size_t>(output) + k) * n_pairs() + pair];
      sum = sum + integral * RowDoubles(0.5 * value[k]);
    }
  }

  const ShapTrees& trees_;
  const std::vector<QuadratureRule>& rules_;  // by the number of points
  std::vector<RowMasks> went_left_, fits_;    // of nodes, of a leaf's members
  std::vector<RowDoubles> product_, ratio_;
  std::vector<RowDoubles> pairs_;  // output by output
};

// A rule for leaves of any number of players.
std::vector<QuadratureRule> rules_of(const ShapTrees& trees) {
  std::size_t most_players = 0;
  for (const ShapTree& tree : trees.trees) most_players = std::max(most_players, tree.n_players);
  std::vector<QuadratureRule> rules;
  for (std::size_t n_points = 0; n_points <= most_players / 2; ++n_points) {
    check_interrupt();
    rules.push_back(gauss_legendre(n_points));
  }
  return rules;
}

// Writes the table of one row and output; the diagonal is a player's value minus those of its
// pairs.
void write_row(const ShapTrees& trees, const BlockPairs& pairs, std::size_t i, std::size_t k,
               const double* values, double* interactions) {
  const std::size_t n_outputs = trees.n_outputs, n_used = trees.players.size();
  const auto at = [&](std::size_t a, std::size_t b) -> double& {
    return interactions[(trees.players[a] * trees.n_players + trees.players[b]) * n_outputs + k];
  };
  for (std::size_t a = 0; a < n_used; ++a) {
    double left = values[trees.players[a] * n_outputs + k];
    for (std::size_t b = 0; b < n_used; ++b) {
      if (b == a) continue;
      at(a, b) = pairs.of(k, a, b, i);
      left -= at(a, b);
    }
    at(a, a) = left;
  }
}

}  // namespace

template <class T>
void ShapExplainer::interact(Strided<const T> rows, std::size_t n_rows, const double* values,
                             double* interactions, int threads) const {
  const ShapTrees& trees = *trees_;
  const Leaves leaves(trees);
  const std::vector<QuadratureRule> rules = rules_of(trees);
  const std::size_t row_values = trees.n_players * trees.n_outputs;
  parallel_for(threads, (n_rows + kRowLanes - 1) / kRowLanes, [&](std::size_t c) {
    const std::size_t begin = c * kRowLanes, n = std::min(kRowLanes, n_rows - begin);
    ShapColumns columns(trees.features.size(), kRowLanes);
    columns.read(rows.from(begin, 0), n, trees.features);
    BlockPairs pairs(trees, rules);
    for (std::size_t t = 0; t < trees.trees.size(); ++t)
      leaves.with_tree(
          t, [&](const ShapLeaves& of_tree) { pairs.add(trees.trees[t], of_tree, columns); });
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < trees.n_outputs; ++k)
        write_row(trees, pairs, i, k, values + (begin + i) * row_values,
                  interactions + (begin + i) * row_values * trees.n_players);
  });
}

template void ShapExplainer::interact(Strided<const float>, std::size_t, const double*, double*,
                                      int) const;
template void ShapExplainer::interact(Strided<const double>, std::size_t, const double*, double*,
                                      int) const;

}  // namespace hedgerow::explain
