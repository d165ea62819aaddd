#include "hist/tree_builder.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/interrupt.hpp"
#include "shared/growth_order.hpp"
#include "shared/random.hpp"
#include "tree/pruning.hpp"

namespace hedgerow::hist {
namespace {

AllowedFeatures only(const std::vector<int>& features, int n_features) {
  AllowedFeatures allowed;
  allowed.flags.resize(static_cast<std::size_t>(n_features), false);
  for (const int feature : features) allowed.flags[static_cast<std::size_t>(feature)] = true;
  return allowed;
}

// Adds a number to an increasing list, unless it is there.
void add_sorted(std::vector<int>& numbers, int number) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (at == numbers.end() || *at != number) numbers.insert(at, number);
}

// The tree of the nodes that pruning has kept.
GrownTree pruned(const GrownTree& tree, const PrunedNodes& nodes, std::size_t n_values) {
  GrownTree result;
  for (const int node : nodes.kept) {
    const auto i = static_cast<std::size_t>(node);
    const bool is_leaf = nodes.is_leaf[i];
    const auto number_of = [&](std::int32_t child) {
      return is_leaf ? -1 : nodes.number[static_cast<std::size_t>(child)];
    };
    const std::int32_t set = is_leaf ? -1 : tree.category_set[i];
    result.feature.push_back(is_leaf ? -1 : tree.feature[i]);
    result.left.push_back(number_of(tree.left[i]));
    result.right.push_back(number_of(tree.right[i]));
    result.category_set.push_back(
        set < 0 ? -1 : static_cast<std::int32_t>(result.category_bits.size() / 8));
    if (set >= 0) {
      const auto first = tree.category_bits.begin() + 8 * static_cast<std::ptrdiff_t>(set);
      result.category_bits.insert(result.category_bits.end(), first, first + 8);
    }
    result.split_bin.push_back(is_leaf ? 0 : tree.split_bin[i]);
    result.missing_left.push_back(is_leaf ? 0 : tree.missing_left[i]);
    result.gain.push_back(is_leaf ? 0.0 : tree.gain[i]);
    result.cover.push_back(tree.cover[i]);
    result.count.push_back(tree.count[i]);
    for (std::size_t k = 0; k < n_values; ++k) {
      result.value.push_back(tree.value[i * n_values + k]);
    }
  }
  return result;
}

}  // namespace

// One for each thread, so that all have work in small leaves; but no more than an eighth of the
// tree: few leaves are then evaluated in vain, and fewer calls than the tree is deep are not
// possible anyway.
int leaves_ahead_for(const GrowthParams& params, int threads) {
  constexpr int kShare = 8;
  return std::clamp((most_leaves(params) + kShare - 1) / kShare, 1, std::max(threads, 1));
}

// Engines without symmetric trees; Python refuses them before they are made.
void GrowthEngine::divide_level(std::span<Division>) { throw std::logic_error("no levels"); }
void GrowthEngine::search_level(LevelSearch&) { throw std::logic_error("no levels"); }

TreeBuilder::TreeBuilder(const GrowthParams& params, const Constraints& constraints,
                         std::span<const std::int32_t> n_bins, int leaves_ahead)
    : params_(params),
      constraints_(constraints),
      n_bins_(n_bins),
      max_leaves_(most_leaves(params)),
      leaves_ahead_(leaves_ahead) {
  if (constraints.are_monotone()) leaves_ahead_ = 1;  // a new leaf changes the limits of others
}

GrownTree TreeBuilder::grow(GrowthEngine& engine, const Bag& bag, std::uint64_t tree_id,
                            std::uint16_t* leaf_of_row) {
  engine_ = &engine;
  begin(tree_id);
  const TreeLeaf root = plant_root(bag);
  if (params_.is_symmetric()) {
    grow_levels(root);
  } else {
    grow_leaves(root);
  }
  finish(leaf_of_row);
  return std::move(tree_);
}

void TreeBuilder::grow_leaves(TreeLeaf root) {
  if (max_leaves_ > 1 && may_split(root)) {
    LeafSearch search = search_of(root, {});
    engine_->search(search);
    root.best = search.best;
  }
  enqueue_or_close(root);
  while (!open_.empty() && !is_full()) {
    check_interrupt();
    split(next());
  }
}

void TreeBuilder::begin(std::uint64_t tree_id) {
  tree_id_ = tree_id;
  tree_ = {};
  parent_of_.clear();
  id_of_.clear();
  open_.clear();
  closed_.clear();
  children_.clear();
  if (!features_.empty() && params_.colsample_bytree >= 1.0) return;
  features_ = sample_tree_features(constraints_.usable(n_features()), params_.colsample_bytree,
                                   params_.seed, tree_id);
  const bool all = features_.size() == n_bins_.size();
  in_tree_ = all ? AllowedFeatures{} : only(features_, n_features());
  engine_->set_features(features_);
}

TreeBuilder::TreeLeaf TreeBuilder::plant_root(const Bag& bag) {
  TreeLeaf root = {engine_->plant_root(bag)};
  root.key = root_key(tree_id_);
  root.node = add_node(root, -1);
  if (has_limits()) {
    monotone_.plant(constraints_.directions, widest_limits(params_), weight(root));
  }
  return root;
}

// Whether the leaf is large enough and not too deep to be split.
bool TreeBuilder::may_split(const TreeLeaf& leaf) const {
  return leaf.is_heavy && params_.may_split(static_cast<std::int64_t>(leaf.count), leaf.depth);
}

// The order of the heap: whether a is split after b.
bool TreeBuilder::is_after(const TreeLeaf& a, const TreeLeaf& b) const {
  return hedgerow::is_after(params_, {a.best.weighted_gain(), a.depth, a.node},
                            {b.best.weighted_gain(), b.depth, b.node});
}

void TreeBuilder::enqueue_or_close(const TreeLeaf& leaf) {
  if (!leaf.best.found()) {
    engine_->close(leaf.id);
    closed_.push_back(leaf);
    return;
  }
  open_.push_back(leaf);
  std::push_heap(open_.begin(), open_.end(),
                 [this](const TreeLeaf& a, const TreeLeaf& b) { return is_after(a, b); });
}

TreeBuilder::TreeLeaf TreeBuilder::next() {
  std::pop_heap(open_.begin(), open_.end(),
                [this](const TreeLeaf& a, const TreeLeaf& b) { return is_after(a, b); });
  const TreeLeaf leaf = open_.back();
  open_.pop_back();
  return leaf;
}

void TreeBuilder::split(TreeLeaf leaf) {
  const bool is_evaluated = leaf.children >= 0;
  if (!is_evaluated) make_children(leaf);
  commit(leaf);
  if (!is_evaluated) evaluate_children(leaf);
  const Children children = children_[static_cast<std::size_t>(leaf.children)];
  for (const TreeLeaf& child : children) enqueue_or_close(child);
  if (has_limits()) rescan_bounded_leaves(children);
}

void TreeBuilder::make_children(TreeLeaf& leaf) {
  leaf.children = static_cast<int>(children_.size());
  const auto [left, right] = engine_->make_children(leaf.id, leaf.best);
  children_.push_back({TreeLeaf{left}, TreeLeaf{right}});
  for (const std::size_t side : {0, 1}) {
    TreeLeaf& child = children_.back()[side];
    child.key = child_key(leaf.key, side == 1);
    child.depth = leaf.depth + 1;
  }
}

// Turns a leaf into an inner node: its children get their node numbers.
void TreeBuilder::commit(const TreeLeaf& leaf) {
  Children& children = children_[static_cast<std::size_t>(leaf.children)];
  for (TreeLeaf& child : children) child.node = add_node(child, leaf.node);
  record_split(leaf, children);
  if (has_limits()) limit_children(leaf, children);
}

// Evaluates the children of a leaf that has just been split, and those of leaves that will probably
// be split next. These are found by simulating further growth with the splits that are known: a
// leaf whose children are evaluated is followed by them. A child is searched only if max_leaves
// permits another split after its parent's.
void TreeBuilder::evaluate_children(TreeLeaf& leaf) {
  int n_leaves = this->n_leaves() + 2;  // the leaf itself is not counted any more
  std::vector<TreeLeaf*> parents = {&leaf};
  std::vector<Division> divisions = {division(leaf, n_leaves < max_leaves_)};
  // Pointers to children must stay valid.
  children_.reserve(children_.size() + static_cast<std::size_t>(leaves_ahead_));
  std::vector<TreeLeaf*> next;
  const auto is_later = [this](const TreeLeaf* a, const TreeLeaf* b) { return is_after(*a, *b); };
  if (leaves_ahead_ > 1) {
    for (TreeLeaf& open : open_) next.push_back(&open);
    std::make_heap(next.begin(), next.end(), is_later);
  }
  while (!next.empty() && static_cast<int>(divisions.size()) < leaves_ahead_ &&
         n_leaves < max_leaves_) {
    std::pop_heap(next.begin(), next.end(), is_later);
    TreeLeaf& likely = *next.back();
    next.pop_back();
    ++n_leaves;
    if (likely.children < 0) {
      make_children(likely);
      parents.push_back(&likely);
      divisions.push_back(division(likely, n_leaves < max_leaves_));
      continue;
    }
    for (TreeLeaf& child : children_[static_cast<std::size_t>(likely.children)]) {
      // The features that interactions allow below a leaf are known once its parent is a node.
      if (!child.best.found() || constraints_.interactions.any()) continue;
      next.push_back(&child);
      std::push_heap(next.begin(), next.end(), is_later);
    }
  }
  engine_->divide(divisions);
  for (std::size_t i = 0; i < parents.size(); ++i) {
    Children& children = children_[static_cast<std::size_t>(parents[i]->children)];
    for (const std::size_t side : {0, 1}) children[side].best = divisions[i].children[side].best;
  }
}

Division TreeBuilder::division(const TreeLeaf& leaf, bool has_room) const {
  Division division;
  division.leaf = leaf.id;
  division.split = leaf.best;
  const Children& children = children_[static_cast<std::size_t>(leaf.children)];
  std::vector<int> tested;
  if (constraints_.interactions.any()) {
    tested = features_above(leaf.node);
    add_sorted(tested, leaf.best.feature);
  }
  for (const std::size_t side : {0, 1}) {
    division.children[side].leaf = children[side].id;
    division.is_searched[side] = has_room && may_split(children[side]);
    if (division.is_searched[side]) division.children[side] = search_of(children[side], tested);
  }
  return division;
}

// Divides the leaves of a level until no test gains, beginning with the root. A level counts as one
// node when features are sampled, and its leaves have all tests of the levels above on their paths.
void TreeBuilder::grow_levels(const TreeLeaf& root) {
  std::vector<TreeLeaf> level = {root};
  NodePath path = {tree_id_, root.key, 0, {}};
  for (const int levels = most_levels(params_); path.depth < levels; ++path.depth) {
    const auto stays = std::stable_partition(
        level.begin(), level.end(), [this](const TreeLeaf& leaf) { return may_split(leaf); });
    closed_.insert(closed_.end(), stays, level.end());
    level.erase(stays, level.end());
    if (level.empty()) break;
    check_interrupt();
    LevelSearch search;
    for (const TreeLeaf& leaf : level) search.leaves.push_back(leaf.id);
    search.allowed = allowed_at(path);
    engine_->search_level(search);
    if (!search.test.found()) break;
    level = divide_level(level, search, path.depth + 1 == levels);
    path.key = child_key(path.key, false);
    add_sorted(path.tested, search.test.feature);
  }
  closed_.insert(closed_.end(), level.begin(), level.end());
}

// Divides the leaves that the test divides; returns the next level.
std::vector<TreeBuilder::TreeLeaf> TreeBuilder::divide_level(std::vector<TreeLeaf>& level,
                                                             const LevelSearch& search,
                                                             bool is_last) {
  std::vector<TreeLeaf> next;
  std::vector<Division> divisions;
  children_.reserve(children_.size() + level.size());
  for (std::size_t i = 0; i < level.size(); ++i) {
    TreeLeaf& leaf = level[i];
    leaf.best = search.splits[i];
    if (!leaf.best.found()) {
      next.push_back(leaf);
      continue;
    }
    make_children(leaf);
    commit(leaf);
    const Children& children = children_[static_cast<std::size_t>(leaf.children)];
    Division division = {leaf.id, leaf.best};
    for (const std::size_t side : {0, 1}) {
      division.children[side].leaf = children[side].id;
      division.is_searched[side] = !is_last && may_split(children[side]);
      next.push_back(children[side]);
    }
    divisions.push_back(std::move(division));
  }
  engine_->divide_level(divisions);
  return next;
}

LeafSearch TreeBuilder::search_of(const TreeLeaf& leaf, const std::vector<int>& tested) const {
  const NodePath path = {tree_id_, leaf.key, leaf.depth, tested};
  return {leaf.id, allowed_at(path), {has_limits() ? &monotone_ : nullptr, leaf.node}, {}};
}

// The features tested on the way to a node, in increasing order.
std::vector<int> TreeBuilder::features_above(int node) const {
  std::vector<int> tested;
  for (int above = parent_of_[static_cast<std::size_t>(node)]; above >= 0;
       above = parent_of_[static_cast<std::size_t>(above)]) {
    tested.push_back(tree_.feature[static_cast<std::size_t>(above)]);
  }
  std::sort(tested.begin(), tested.end());
  tested.erase(std::unique(tested.begin(), tested.end()), tested.end());
  return tested;
}

AllowedFeatures TreeBuilder::allowed_at(const NodePath& path) const {
  const Interactions& interactions = constraints_.interactions;
  const bool draws = params_.colsample_bylevel < 1.0 || params_.colsample_bynode < 1.0;
  if (!draws && !interactions.any()) return in_tree_;
  return only(allowed_features(params_, interactions, features_, path), n_features());
}

double TreeBuilder::weight(const TreeLeaf& leaf, int output) const {
  const LeafSums sums = engine_->sums(leaf.id, output);
  return params_.weight(sums.G, sums.H);
}

int TreeBuilder::add_node(const TreeLeaf& leaf, int parent) {
  for (int k = 0; k < engine_->n_values(); ++k) {
    tree_.value.push_back(params_.learning_rate * weight(leaf, k));
  }
  tree_.feature.push_back(-1);
  tree_.left.push_back(-1);
  tree_.right.push_back(-1);
  tree_.category_set.push_back(-1);
  tree_.split_bin.push_back(0);
  tree_.missing_left.push_back(0);
  tree_.gain.push_back(0.0);
  tree_.cover.push_back(leaf.cover);
  tree_.count.push_back(static_cast<std::int64_t>(leaf.count));
  parent_of_.push_back(parent);
  id_of_.push_back(leaf.id);
  return tree_.n_nodes() - 1;
}

void TreeBuilder::record_split(const TreeLeaf& leaf, const Children& children) {
  const auto i = static_cast<std::size_t>(leaf.node);
  const Split& split = leaf.best;
  tree_.feature[i] = split.feature;
  tree_.left[i] = children[0].node;
  tree_.right[i] = children[1].node;
  tree_.gain[i] = split.gain;
  tree_.missing_left[i] = split.missing_left;
  if (split.categorical) {
    tree_.category_set[i] = static_cast<std::int32_t>(tree_.category_bits.size() / 8);
    tree_.category_bits.insert(tree_.category_bits.end(), split.categories, split.categories + 8);
  } else {
    tree_.split_bin[i] = split.bin;
  }
}

// Sets values of two new leaves that are monotone with those of all others.
void TreeBuilder::limit_children(const TreeLeaf& leaf, const Children& children) {
  const Split& split = leaf.best;
  const bool takes_all = split.bin + 1 == n_bins_[static_cast<std::size_t>(split.feature)];
  const double end = takes_all ? std::numeric_limits<double>::infinity() : split.bin;
  const BoxSplit box_split = {split.feature, end, split.missing_left, split.categorical,
                              split.categories};
  monotone_.split(leaf.node, box_split, children[0].node, children[1].node, weight(children[0]),
                  weight(children[1]));
  for (const TreeLeaf& child : children) {
    tree_.value[static_cast<std::size_t>(child.node)] =
        params_.learning_rate * monotone_.value(child.node);
  }
}

// Searches again for the best splits of leaves whose limits two new leaves have changed. They may
// be better or worse, or exist where there was none.
void TreeBuilder::rescan_bounded_leaves(const Children& children) {
  if (is_full()) return;
  std::vector<int> nodes = monotone_.touching(children[0].node);
  for (const int node : monotone_.touching(children[1].node)) nodes.push_back(node);
  std::erase_if(nodes,
                [&](int node) { return node == children[0].node || node == children[1].node; });
  std::sort(nodes.begin(), nodes.end());
  const auto is_changed = [&](const TreeLeaf& leaf) {
    return std::binary_search(nodes.begin(), nodes.end(), leaf.node) && may_split(leaf);
  };
  std::vector<TreeLeaf> changed;
  for (std::vector<TreeLeaf>* leaves : {&open_, &closed_}) {
    std::copy_if(leaves->begin(), leaves->end(), std::back_inserter(changed), is_changed);
    std::erase_if(*leaves, is_changed);
  }
  std::make_heap(open_.begin(), open_.end(),
                 [this](const TreeLeaf& a, const TreeLeaf& b) { return is_after(a, b); });
  for (TreeLeaf& leaf : changed) {
    check_interrupt();
    const bool is_restricted = constraints_.interactions.any();
    LeafSearch search =
        search_of(leaf, is_restricted ? features_above(leaf.node) : std::vector<int>{});
    engine_->search(search);
    leaf.best = search.best;
    enqueue_or_close(leaf);
  }
}

// After growth, the values of all leaves are jointly optimal among monotone ones.
void TreeBuilder::choose_values() {
  std::vector<int> nodes;
  std::vector<double> target, weights;
  for (const TreeLeaf& leaf : closed_) {
    nodes.push_back(leaf.node);
    target.push_back(weight(leaf));
    weights.push_back(engine_->sums(leaf.id, 0).H + params_.reg_lambda);
  }
  const std::vector<double> value = isotonic(monotone_.links(nodes), target, weights);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    tree_.value[static_cast<std::size_t>(nodes[i])] = params_.learning_rate * value[i];
  }
}

// Moves all leaves by the common step that remains after their individual steps, one for each
// output.
void TreeBuilder::apply_common_step() {
  if (!params_.has_common_step()) return;
  const int n_values = engine_->n_values();
  for (int k = 0; k < n_values; ++k) {
    CommonStep common(params_.leaf, params_.learning_rate);
    for (const TreeLeaf& leaf : closed_) {
      const LeafSums sums = engine_->sums(leaf.id, k);
      common.add(sums.G, sums.H, params_.learning_rate * weight(leaf, k));
    }
    const double step = common.step();
    for (auto i = static_cast<std::size_t>(k); i < tree_.value.size();
         i += static_cast<std::size_t>(n_values)) {
      tree_.value[i] += step;
    }
  }
}

// Cuts the splits that do not gain prune_below. Engines find the rows and sums of a node whether it
// was divided or not, so a node that becomes a leaf needs nothing but its number.
void TreeBuilder::prune_tree() {
  for (std::size_t i = 0; i < tree_.gain.size(); ++i) {
    if (tree_.left[i] >= 0) tree_.gain[i] -= params_.prune_below;
  }
  const auto left_of = [this](std::size_t i) { return tree_.left[i]; };
  const auto right_of = [this](std::size_t i) { return tree_.right[i]; };
  const auto gain_of = [this](std::size_t i) { return tree_.gain[i]; };
  const PrunedNodes nodes = prune(tree_.gain.size(), left_of, right_of, gain_of);
  closed_.clear();
  for (const int node : nodes.kept) {
    if (!nodes.is_leaf[static_cast<std::size_t>(node)]) continue;
    TreeLeaf leaf;
    leaf.id = id_of_[static_cast<std::size_t>(node)];
    leaf.node = nodes.number[static_cast<std::size_t>(node)];
    closed_.push_back(leaf);
  }
  tree_ = pruned(tree_, nodes, static_cast<std::size_t>(engine_->n_values()));
}

void TreeBuilder::finish(std::uint16_t* leaf_of_row) {
  closed_.insert(closed_.end(), open_.begin(), open_.end());
  if (params_.prune_below > 0.0) prune_tree();
  std::sort(closed_.begin(), closed_.end(),
            [](const TreeLeaf& a, const TreeLeaf& b) { return a.node < b.node; });
  std::vector<int> ids;
  for (const TreeLeaf& leaf : closed_) {
    tree_.leaf_node.push_back(leaf.node);
    ids.push_back(leaf.id);
  }
  engine_->number_rows(tree_, ids, leaf_of_row);
  if (has_limits()) choose_values();
  apply_common_step();
}

}  // namespace hedgerow::hist
