#include "explain/shap_trees.hpp"

#include <map>

#include "explain/shap.hpp"
#include "predict/node_means.hpp"

namespace hedgerow::explain {

namespace {

// Numbers the features, or players, that some tree uses from 0.
class Places {
 public:
  std::uint32_t of(std::int32_t used) {
    const auto [place, is_new] = place_.try_emplace(used, static_cast<std::uint32_t>(used_.size()));
    if (is_new) used_.push_back(static_cast<std::size_t>(used));
    return place->second;
  }

  std::vector<std::size_t> used() { return std::move(used_); }

 private:
  std::map<std::int32_t, std::uint32_t> place_;
  std::vector<std::size_t> used_;
};

// Traverses a tree, left before right, and records the walk.
class TreeWalk {
 public:
  TreeWalk(const predict::TreeArrays& tree, const double* share,
           const std::vector<std::uint32_t>& player)
      : tree_(tree), share_(share), player_(player), depth_(tree.n_nodes, 0) {}

  // `latest`: of each player the slot of its last edge on the way; all 0 before and after.
  void write(ShapTree& walk, std::vector<std::uint32_t>& latest) {
    push_children(0);
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      if (next.is_done)
        leave(walk, latest, next.number);
      else
        enter(walk, latest, next.number, next.is_right);
    }
  }

 private:
  struct Pending {
    std::uint32_t number;  // of an edge that is done, or of a node whose child is next
    bool is_done, is_right;
  };

  void push_children(std::uint32_t node) {
    if (tree_.is_leaf(node)) return;
    pending_.push_back({node, false, true});
    pending_.push_back({node, false, false});
  }

  void enter(ShapTree& walk, std::vector<std::uint32_t>& latest, std::uint32_t parent,
             bool is_right) {
    const auto child =
        static_cast<std::uint32_t>(is_right ? tree_.right[parent] : tree_.left[parent]);
    const std::uint32_t player = player_[parent], previous = latest[player];
    const std::uint32_t slot = depth_[child] = depth_[parent] + 1;
    if (share_on_way_.size() <= slot) share_on_way_.resize(slot + 1, 1.0);
    share_on_way_[slot] = share_[child] * share_on_way_[previous];
    const auto number = static_cast<std::uint32_t>(walk.edges.size());
    const bool is_leaf = tree_.is_leaf(child);
    walk.edges.push_back({parent, child, player, seat_of(walk, player), slot, previous,
                          share_[child], share_on_way_[slot], is_right, is_leaf});
    walk.steps.push_back(static_cast<std::int32_t>(number));
    walk.n_slots = std::max<std::size_t>(walk.n_slots, slot + 1);
    n_players_ += previous == 0;
    walk.n_players = std::max(walk.n_players, n_players_);
    latest[player] = slot;
    if (is_leaf) return forget(latest, walk.edges.back());
    pending_.push_back({number, true, false});
    push_children(child);
  }

  // Players take seats as they appear.
  std::uint32_t seat_of(ShapTree& walk, std::uint32_t player) {
    const auto free = static_cast<std::uint32_t>(walk.seats.size());
    const auto [seat, is_new] = seat_.try_emplace(player, free);
    if (is_new) walk.seats.push_back(player);
    return seat->second;
  }

  void leave(ShapTree& walk, std::vector<std::uint32_t>& latest, std::uint32_t number) {
    walk.steps.push_back(-static_cast<std::int32_t>(number) - 1);
    forget(latest, walk.edges[number]);
  }

  void forget(std::vector<std::uint32_t>& latest, const ShapEdge& edge) {
    latest[edge.player] = edge.previous;
    n_players_ -= edge.previous == 0;
  }

  const predict::TreeArrays& tree_;
  const double* share_;
  const std::vector<std::uint32_t>& player_;  // of each node
  std::vector<std::uint32_t> depth_;
  std::vector<double> share_on_way_{1.0};  // by slot
  std::vector<Pending> pending_;
  std::map<std::uint32_t, std::uint32_t> seat_;  // of a player
  std::size_t n_players_ = 0;                    // on the way
};

void add_slopes(const ShapArrays& arrays, Places& features, Places& players, ShapTrees& trees) {
  if (!arrays.ensemble.linear) return;
  const predict::LinearTerms& terms = *arrays.ensemble.linear;
  const std::size_t n_nodes = arrays.ensemble.nodes.n_nodes, width = terms.n_values;
  const auto n_terms = static_cast<std::size_t>(terms.start[n_nodes]);
  ShapTrees::ShapSlopes& slopes = trees.slopes;
  slopes.start.assign(terms.start, terms.start + n_nodes + 1);
  for (std::size_t t = 0; t < n_terms; ++t) {
    slopes.feature.push_back(features.of(terms.feature[t]));
    slopes.player.push_back(players.of(arrays.player[terms.feature[t]]));
  }
  slopes.coefficient.assign(terms.coefficient, terms.coefficient + n_terms * width);
  slopes.centre.assign(terms.centre, terms.centre + n_terms * width);
  slopes.low.assign(terms.low, terms.low + n_terms);
  slopes.high.assign(terms.high, terms.high + n_terms);
}

void add_nodes(const ShapArrays& arrays, Places& features, ShapTrees& trees) {
  const predict::TreeArrays& nodes = arrays.ensemble.nodes;
  std::int32_t n_sets = 0;
  for (std::size_t node = 0; node < nodes.n_nodes; ++node) {
    const std::uint32_t place = nodes.is_leaf(node) ? 0 : features.of(nodes.feature[node]);
    trees.tests.push_back(
        {nodes.threshold[node], place, nodes.category_set[node], nodes.missing_left[node]});
    n_sets = std::max(n_sets, nodes.category_set[node] + 1);
  }
  trees.value.assign(nodes.value, nodes.value + nodes.n_nodes * nodes.n_values);
  trees.category_bits.assign(nodes.category_bits, nodes.category_bits + 8 * std::ptrdiff_t{n_sets});
}

// The player of each node of a tree, as a place.
std::vector<std::uint32_t> players_of(const ShapArrays& arrays, const predict::TreeArrays& tree,
                                      Places& players) {
  std::vector<std::uint32_t> player(tree.n_nodes, 0);
  for (std::size_t node = 0; node < tree.n_nodes; ++node)
    if (!tree.is_leaf(node)) player[node] = players.of(arrays.player[tree.feature[node]]);
  return player;
}

void add_rule(std::size_t n_points, ShapTrees& trees) {
  if (trees.rules.size() <= n_points) trees.rules.resize(n_points + 1);
  if (trees.rules[n_points].size() < n_points) trees.rules[n_points] = gauss_legendre(n_points);
}

void add_tree(const ShapArrays& arrays, std::size_t t, Places& players,
              std::vector<std::uint32_t>& latest, ShapTrees& trees) {
  const predict::TreeArrays tree = arrays.ensemble.tree(t);
  const auto root = static_cast<std::uint32_t>(arrays.ensemble.tree_offset[t]);
  ShapTree walk{root, arrays.ensemble.tree_output[t], {}, {}};
  walk.tests = predict::distinct_tests(tree);
  const std::vector<std::uint32_t> player = players_of(arrays, tree, players);
  TreeWalk(tree, arrays.share + root, player).write(walk, latest);
  const std::vector<double> mean = predict::node_means(tree, arrays.share + root);
  for (std::size_t k = 0; k < tree.n_values; ++k)
    trees.expected[static_cast<std::size_t>(walk.output) + k] += mean[k];
  add_rule((walk.n_players + 1) / 2, trees);
  trees.trees.push_back(std::move(walk));
}

std::unique_ptr<const ShapTrees> build(const ShapArrays& arrays) {
  auto trees = std::make_unique<ShapTrees>();
  const predict::EnsembleArrays& ensemble = arrays.ensemble;
  trees->n_players = arrays.n_players;
  trees->n_outputs = ensemble.base_score.size();
  trees->n_values = ensemble.nodes.n_values;
  trees->expected.assign(ensemble.base_score.begin(), ensemble.base_score.end());
  Places features, players;
  add_nodes(arrays, features, *trees);
  std::vector<std::uint32_t> latest(arrays.n_players, 0);
  for (std::size_t t = 0; t < ensemble.n_trees(); ++t) add_tree(arrays, t, players, latest, *trees);
  add_slopes(arrays, features, players, *trees);
  trees->features = features.used();
  trees->players = players.used();
  return trees;
}

}  // namespace

ShapExplainer::ShapExplainer(const ShapArrays& arrays) : trees_(build(arrays)) {}
ShapExplainer::~ShapExplainer() = default;
std::size_t ShapExplainer::n_players() const { return trees_->n_players; }
std::size_t ShapExplainer::n_outputs() const { return trees_->n_outputs; }
std::span<const double> ShapExplainer::expected() const { return trees_->expected; }

namespace {

// The members of one leaf, each once.
class Members {
 public:
  Members(ShapLeaves& leaves, std::size_t n_players) : leaves_(leaves), member_(n_players, kNone) {}

  void begin() { begin_ = leaves_.members.size(); }

  std::uint32_t of(std::uint32_t player) {
    if (member_[player] == kNone) {
      member_[player] = static_cast<std::uint32_t>(leaves_.members.size() - begin_);
      leaves_.members.push_back({player, 1.0});
    }
    return member_[player];
  }

  void end() {
    for (std::size_t m = begin_; m < leaves_.members.size(); ++m)
      member_[leaves_.members[m].player] = kNone;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  ShapLeaves& leaves_;
  std::vector<std::uint32_t> member_;  // of each player
  std::size_t begin_ = 0;
};

}  // namespace

ShapLeaves::ShapLeaves(const ShapTrees& trees, const ShapTree& tree) {
  std::vector<const ShapEdge*> way;
  Members of_leaf(*this, trees.players.size());
  const auto add_leaf = [&](std::uint32_t node) {
    ShapLeaf leaf{node, members.size(), 0, turns.size(), 0};
    of_leaf.begin();
    for (const ShapEdge* edge : way) {
      const std::uint32_t member = of_leaf.of(edge->player);
      members[leaf.member_begin + member].share = edge->share;
      turns.push_back({edge->parent, member, edge->is_right});
    }
    for (const std::size_t t : trees.slopes.of_node(tree.root + node))
      of_leaf.of(trees.slopes.player[t]);
    of_leaf.end();
    leaf.member_end = members.size();
    leaf.turn_end = turns.size();
    if (leaf.member_end > leaf.member_begin) leaves.push_back(leaf);
  };
  if (tree.edges.empty()) add_leaf(0);
  for (const std::int32_t step : tree.steps) {
    if (step < 0) {
      way.pop_back();
      continue;
    }
    way.push_back(&tree.edges[static_cast<std::size_t>(step)]);
    if (!way.back()->is_leaf) continue;
    add_leaf(way.back()->child);
    way.pop_back();
  }
}

std::size_t ShapLeaves::most_members() const {
  std::size_t most = 0;
  for (const ShapLeaf& leaf : leaves) most = std::max(most, leaf.member_end - leaf.member_begin);
  return most;
}

}  // namespace hedgerow::explain
