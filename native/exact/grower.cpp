// Growing a tree on sorted columns. An iteration splits one leaf or a level:
//   1. rows:     the rows of each leaf are divided and renumbered, so that a node's rows are
//   contiguous;
//                sums are computed, and gradients become integers in units of the node;
//   2. features: every feature divides its sorted lists accordingly and scans those of the new
//   leaves.
// The recorded gains, weights and covers are computed from compensated sums of the rows.
#include "exact/grower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "exact/scan.hpp"
#include "shared/double_double.hpp"
#include "shared/min_child_weight.hpp"
#include "shared/random.hpp"
#include "tree/allowed_features.hpp"
#include "tree/pruning.hpp"

namespace hedgerow::exact {
namespace {

// Values that justify waking another thread (about 50 µs of work).
constexpr std::size_t kValuesPerThread = 20000;

// A gain below this fraction of the node's score is rounding: about ten operations, half an ulp
// each.
constexpr double kRelativeNoise = 0x1p-49;

struct Gradient {
  double g, h;
};

struct MutableExactList {
  std::uint32_t* rows;
  std::uint32_t* ranks;
};

struct ExactNode {
  std::size_t begin = 0, end = 0;  // its rows, in the numbering of growth
  std::int64_t depth = 0;
  std::uint64_t key = 0;  // of its random numbers: a hash of the path to it
  DoubleDouble G, H;
  bool has_units = false;  // false if sums of its gradients overflow float64
  Units units;
  Limits limits;       // of its weight, when its best split was searched
  double value = 0.0;  // its weight
  Candidate best;
  double gain = 0.0;       // of the best candidate; first from the scan, then from compensated sums
  double threshold = 0.0;  // of a numeric split
  int parent = -1;
  int left = -1;  // child; the right one follows it

  std::size_t size() const { return end - begin; }
};

double weight_of(const GrowthParams& params, const ExactNode& node) {
  if (params.leaf.is_newton()) {
    return static_cast<double>(newton_weight(params.penalties(), node.G, node.H));
  }
  return params.weight(static_cast<double>(node.G), static_cast<double>(node.H));
}

// The gain of a split from compensated sums, in the node's units so that nothing overflows.
double written_gain(const GrowthParams& params, const ExactNode& node, const ExactNode& left,
                    const ExactNode& right) {
  const Units& units = node.units;
  const auto accurate = [&](const ExactNode& n, double extra_lambda, const Limits& limits) {
    const DoubleDouble G(n.G.high * units.g_scale, n.G.low * units.g_scale);
    const DoubleDouble H(n.H.high * units.h_scale, n.H.low * units.h_scale);
    const Penalties penalties = units.with_lambda(extra_lambda);
    const double real = newton_weight(penalties, G, H).high / units.weight_scale();
    if (limits.low <= real && real <= limits.high) return score_by_weight(penalties, G, H);
    const DoubleDouble limited(limits.clamp(real) * units.weight_scale());
    return score_at(G, H + penalties.lambda, penalties.alpha, limited);
  };
  const double extra = node.best.extra_lambda > 0.0 ? units.cat_l2 : 0.0;
  const DoubleDouble children =
      accurate(left, extra, node.best.limits.left) + accurate(right, extra, node.best.limits.right);
  const DoubleDouble parent = accurate(node, 0.0, node.limits);
  return static_cast<double>(
      split_gain(children, parent, params.min_split_gain, units.score_scale()));
}

// The power of two that brings a finite `sum` just below 2^61. Bounded, so that its square stays
// finite.
double scale_for(double sum) {
  int exponent = 0;
  if (sum > 0.0) std::frexp(sum, &exponent);
  return std::ldexp(1.0, 61 - std::max(exponent, -400));
}

// Renumbers and divides a list: numbers below `middle` are written to `to` in order, the others to
// `to` + n_left.
void divide(const ExactList& from, std::size_t n, const std::uint32_t* renumber,
            std::uint32_t middle, std::size_t n_left, MutableExactList to) {
  std::size_t left = 0, right = n_left;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t row = renumber[from.rows[i]];
    const bool goes_left = row < middle;
    const std::size_t at = goes_left ? left : right;
    to.rows[at] = row;
    to.ranks[at] = from.ranks[i];
    left += goes_left;
    right += !goes_left;
  }
}

// The number of a row outside the bag.
constexpr std::uint32_t kOutside = 0xffffffffu;

// Renumbers a list and removes the rows outside the bag.
void filter(const ExactList& from, std::size_t n, const std::uint32_t* renumber,
            MutableExactList to) {
  std::size_t n_kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t row = renumber[from.rows[i]];
    to.rows[n_kept] = row;
    to.ranks[n_kept] = from.ranks[i];
    n_kept += row != kOutside;
  }
}

bool goes_left(const Candidate& split, std::size_t position, std::uint32_t rank) {
  if (rank == kMissingRank) return split.missing_left;
  if (!split.categorical) return position <= split.position;
  return split.categories[rank >> 5] >> (rank & 31) & 1;
}

}  // namespace

// Rows are renumbered in each tree, so that a node's rows are contiguous.
struct Workspace {
  explicit Workspace(const PresortedTable& table) : table(table) {
    const std::size_t n = table.n_rows;
    rows.resize(n * static_cast<std::size_t>(table.n_features));
    ranks.resize(rows.size());
    gradients.resize(n);
    gradients_copy.resize(n);
    row_of.resize(n);
    row_of_copy.resize(n);
    sums.resize(n);
    renumber.resize(n);
  }

  PresortedTable table;
  std::vector<std::uint32_t> rows, ranks;           // (n_features, n_rows): lists of the nodes
  std::vector<Gradient> gradients, gradients_copy;  // by number
  std::vector<std::uint32_t> row_of, row_of_copy;   // number → row of the table
  std::vector<StepSum> sums;                        // gradients in the units of their node
  std::vector<std::uint32_t> renumber;              // old number → new
  std::vector<std::vector<std::uint32_t>> copies;   // of lists, one per active task
  std::mutex copies_mutex;

  ExactList sorted(int feature) const {
    const std::size_t at = static_cast<std::size_t>(feature) * table.n_rows;
    return {table.rows + at, table.ranks + at};
  }
  MutableExactList list(int feature, std::size_t begin) {
    const std::size_t at = static_cast<std::size_t>(feature) * table.n_rows + begin;
    return {rows.data() + at, ranks.data() + at};
  }
  std::vector<std::uint32_t> take_copy() {
    const std::lock_guard lock(copies_mutex);
    if (copies.empty()) return std::vector<std::uint32_t>(2 * table.n_rows);
    std::vector<std::uint32_t> copy = std::move(copies.back());
    copies.pop_back();
    return copy;
  }
  void give_back(std::vector<std::uint32_t>&& copy) {
    const std::lock_guard lock(copies_mutex);
    copies.push_back(std::move(copy));
  }
};

namespace {

// A tree during growth.
class ExactGrowth {
 public:
  ExactGrowth(Workspace& work, const TreePlan& plan, int threads)
      : work_(work),
        params_(plan.params),
        constraints_(plan.constraints),
        tree_id_(plan.tree_id),
        features_(plan.features.begin(), plan.features.end()),
        threads_(threads) {
    std::erase_if(features_, [&](int f) { return constraints_.weight(f) == 0.0; });
  }

  void start(const double* g, const double* h, std::span<const std::uint32_t> bag) {
    const std::size_t n = work_.table.n_rows;
    bagged_ = !bag.empty();
    ExactNode root;
    root.end = bagged_ ? bag.size() : n;
    if (bagged_) std::fill(work_.renumber.begin(), work_.renumber.end(), kOutside);
    for (std::size_t i = 0; i < root.end; ++i) {
      const std::uint32_t row = bagged_ ? bag[i] : static_cast<std::uint32_t>(i);
      work_.row_of[i] = row;
      work_.renumber[row] = static_cast<std::uint32_t>(i);
      work_.gradients[i] = {g[row], h[row]};
    }
    root.key = root_key(tree_id_);
    measure(root);
    nodes_.push_back(root);
    if (is_monotone()) {
      const double cap = params_.max_delta_step;
      monotone_.plant(constraints_.directions, cap > 0.0 ? Limits{-cap, cap} : Limits{},
                      root.value);
    }
    if (may_split(root)) scan({}, {0});
  }

  // Splits a leaf or a level; returns false if nothing is left to split.
  bool step() {
    const std::vector<int> parents = next_batch();
    if (parents.empty()) return false;
    for (const int parent : parents) {
      nodes_[parent].left = static_cast<int>(nodes_.size());
      nodes_.resize(nodes_.size() + 2);
    }
    n_leaves_ += static_cast<std::int64_t>(parents.size());
    std::size_t n_rows = 0;
    for (const int parent : parents) n_rows += nodes_[parent].size();
    parallel_for(threads_for(n_rows, kValuesPerThread, threads_), parents.size(),
                 [&](std::size_t i) {
                   check_interrupt();
                   divide_rows(parents[i]);
                 });
    std::vector<int> leaves;
    for (const int parent : parents) {
      leaves.insert(leaves.end(), {nodes_[parent].left, nodes_[parent].left + 1});
      if (is_monotone()) limit_children(parent, leaves);
    }
    std::erase_if(leaves, [&](int leaf) { return full() || !may_split(nodes_[leaf]); });
    scan(parents, leaves);
    return true;
  }

  ExactTree finish() {
    if (params_.prune_below > 0.0) prune_nodes();
    if (is_monotone()) choose_values();
    apply_common_step();
    ExactTree tree;
    for (const ExactNode& node : nodes_) append(tree, node);
    tree.leaf_of_row.assign(work_.table.n_rows, -1);
    for (std::size_t index = 0; index < nodes_.size(); ++index) {
      if (nodes_[index].left >= 0) continue;
      for (std::size_t i = nodes_[index].begin; i < nodes_[index].end; ++i) {
        tree.leaf_of_row[work_.row_of[i]] = static_cast<std::int32_t>(index);
      }
    }
    return tree;
  }

 private:
  bool is_monotone() const { return constraints_.are_monotone(); }
  bool full() const { return params_.max_leaves > 0 && n_leaves_ >= params_.max_leaves; }
  Values values_of(int feature) const {
    return {work_.table.columns[static_cast<std::size_t>(feature)], work_.row_of.data()};
  }
  double weighted_gain(const ExactNode& leaf) const {
    return constraints_.weight(leaf.best.feature) * leaf.gain;
  }

  void measure(ExactNode& node) {
    CompensatedSum G, H;
    double size_g = 0.0, size_h = 0.0;
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const Gradient& row = work_.gradients[i];
      G.add(row.g);
      H.add(row.h);
      size_g += std::fabs(row.g);
      size_h += std::fabs(row.h);
    }
    node.G = G.total();
    node.H = H.total();
    node.value = weight_of(params_, node);
    set_units(node, size_g, size_h);
  }

  void set_units(ExactNode& node, double size_g, double size_h) {
    node.has_units = std::isfinite(size_g + size_h);
    if (!node.has_units) return;
    Units& units = node.units;
    units.g_scale = scale_for(size_g);
    // λ is included, so that products of two denominators stay finite.
    units.h_scale = scale_for(std::max(size_h, params_.reg_lambda));
    units.penalties = {params_.reg_lambda * units.h_scale, params_.reg_alpha * units.g_scale,
                       params_.max_delta_step * units.weight_scale()};
    // Steps are so small here that one for each row of the node, not only of the child, is
    // negligible.
    const double min_steps = min_steps_of_child(params_.min_child_weight, 1.0 / units.h_scale);
    units.min_h =
        std::max(min_steps - static_cast<double>(node.size()), min_steps > 0.0 ? 1.0 : 0.0);
    units.cat_smooth = params_.cat_smooth * units.h_scale;
    units.cat_l2 = params_.cat_l2 * units.h_scale;
    units.min_category_h = params_.min_category_weight * units.h_scale;
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const Gradient& row = work_.gradients[i];
      work_.sums[i] = {static_cast<std::int64_t>(std::rint(row.g * units.g_scale)),
                       static_cast<std::int64_t>(std::rint(row.h * units.h_scale))};
      units.total += work_.sums[i];
    }
    units.node_score = score_by_weight(units.penalties, static_cast<double>(units.total.g),
                                       static_cast<double>(units.total.h));
    set_floor(units, units.node_score);
  }

  void set_floor(Units& units, double size) const {
    const double gamma = params_.min_split_gain * (units.g_scale * units.g_scale / units.h_scale);
    units.floor = units.node_score + size * kRelativeNoise + score_difference(0.0, gamma);
  }

  bool may_split(const ExactNode& node) const {
    return node.has_units && params_.may_split(static_cast<std::int64_t>(node.size()), node.depth);
  }

  std::vector<int> next_batch() {
    if (full() || open_.empty()) return {};
    if (is_monotone()) {
      const auto next = std::max_element(open_.begin(), open_.end(),
                                         [this](int a, int b) { return opens_later(a, b); });
      const int leaf = *next;
      open_.erase(next);
      return {leaf};
    }
    if (params_.is_leafwise()) {
      std::pop_heap(open_.begin(), open_.end(), [this](int a, int b) { return opens_later(a, b); });
      const int best = open_.back();
      open_.pop_back();
      return {best};
    }
    std::vector<int> level = std::exchange(open_, {});
    if (params_.max_leaves > 0) {
      const auto room = static_cast<std::size_t>(params_.max_leaves - n_leaves_);
      level.resize(std::min(level.size(), room));
    }
    return level;
  }

  bool opens_later(int a, int b) const {
    if (!params_.is_leafwise()) {
      const std::int64_t depth_a = nodes_[a].depth, depth_b = nodes_[b].depth;
      return depth_a != depth_b ? depth_a > depth_b : a > b;
    }
    const double gain_a = weighted_gain(nodes_[a]), gain_b = weighted_gain(nodes_[b]);
    return gain_a < gain_b || (gain_a == gain_b && a > b);
  }

  void open(int node) {
    open_.push_back(node);
    if (!params_.is_leafwise() || is_monotone()) return;
    std::push_heap(open_.begin(), open_.end(), [this](int a, int b) { return opens_later(a, b); });
  }

  ExactList list_of(int node, int feature) const {
    if (node == 0 && !bagged_) return work_.sorted(feature);
    const MutableExactList list = work_.list(feature, nodes_[node].begin);
    return {list.rows, list.ranks};
  }

  std::size_t number_rows(int parent) {
    const ExactNode& node = nodes_[parent];
    const ExactList list = list_of(parent, node.best.feature);
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const bool left = goes_left(node.best, i, list.ranks[i]);
      work_.renumber[list.rows[i]] = left;
      n_left += left;
    }
    auto left = static_cast<std::uint32_t>(node.begin);
    auto right = static_cast<std::uint32_t>(node.begin + n_left);
    for (std::size_t i = node.begin; i < node.end; ++i) {
      std::uint32_t& number = work_.renumber[i];
      number = number ? left++ : right++;
    }
    return n_left;
  }

  void fix_threshold(int parent) {
    ExactNode& node = nodes_[parent];
    if (node.best.categorical) return;
    const ExactList list = list_of(parent, node.best.feature);
    const std::size_t at = node.best.position;
    const bool all_values = at + 1 == node.size() || list.ranks[at + 1] == kMissingRank;
    node.threshold = all_values ? std::numeric_limits<double>::max()
                                : values_of(node.best.feature).middle(list.rows + at);
    const bool has_missing = list.ranks[node.size() - 1] == kMissingRank;
    if (!has_missing) node.best.missing_left = 2 * (at + 1) >= node.size();
  }

  void divide_rows(int parent) {
    fix_threshold(parent);
    ExactNode& node = nodes_[parent];
    const std::size_t n_left = number_rows(parent);
    for (std::size_t i = node.begin; i < node.end; ++i) {
      work_.gradients_copy[work_.renumber[i]] = work_.gradients[i];
      work_.row_of_copy[work_.renumber[i]] = work_.row_of[i];
    }
    const auto copy_back = [&](auto& to, const auto& from) {
      std::copy(from.begin() + node.begin, from.begin() + node.end, to.begin() + node.begin);
    };
    copy_back(work_.gradients, work_.gradients_copy);
    copy_back(work_.row_of, work_.row_of_copy);
    ExactNode &left = nodes_[node.left], &right = nodes_[node.left + 1];
    left.begin = node.begin;
    left.end = right.begin = node.begin + n_left;
    right.end = node.end;
    left.depth = right.depth = node.depth + 1;
    left.parent = right.parent = parent;
    left.key = child_key(node.key, false);
    right.key = child_key(node.key, true);
    measure(left);
    measure(right);
    node.gain = written_gain(params_, node, left, right);
  }

  void divide_list(int parent, int feature, std::vector<std::uint32_t>& copy) {
    const ExactNode& node = nodes_[parent];
    const std::size_t n = node.size(), middle = nodes_[node.left].end;
    ExactList from = list_of(parent, feature);
    const MutableExactList to = work_.list(feature, node.begin);
    if (from.rows == to.rows) {
      std::copy_n(from.rows, n, copy.data());
      std::copy_n(from.ranks, n, copy.data() + n);
      from = {copy.data(), copy.data() + n};
    }
    divide(from, n, work_.renumber.data(), static_cast<std::uint32_t>(middle), middle - node.begin,
           to);
  }

  void scan(const std::vector<int>& parents, const std::vector<int>& leaves) {
    if (leaves.empty()) return;
    std::vector<std::vector<std::uint8_t>> allowed;
    std::size_t n_rows = 0;
    for (const int leaf : leaves) {
      allowed.push_back(allowed_at(leaf));
      if (is_monotone()) limit_score(leaf);
      n_rows += nodes_[leaf].size();
    }
    std::vector<Candidate> candidates(leaves.size() * features_.size());
    const int threads = threads_for(n_rows * features_.size(), kValuesPerThread, threads_);
    parallel_for(threads, features_.size(), [&](std::size_t index) {
      check_interrupt();
      const int feature = features_[index];
      bring_up_to_date(parents, feature);
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!allowed[i][feature]) continue;
        Candidate& candidate = candidates[i * features_.size() + index];
        candidate = best_candidate(leaves[i], feature);
      }
    });
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      ExactNode& leaf = nodes_[leaves[i]];
      leaf.best = {};
      for (std::size_t index = 0; index < features_.size(); ++index) {
        const Candidate& candidate = candidates[i * features_.size() + index];
        if (!candidate.found()) continue;
        const bool is_first = !leaf.best.found();
        if (is_first || weighted_gain(leaf, candidate) > weighted_gain(leaf, leaf.best))
          leaf.best = candidate;
      }
      if (!leaf.best.found()) continue;
      leaf.gain = gain_of(leaf, leaf.best);
      if (leaf.gain > 0.0) open(leaves[i]);
    }
  }

  double gain_of(const ExactNode& leaf, const Candidate& candidate) const {
    const Units& units = leaf.units;
    return split_gain(candidate.total, units.node_score, params_.min_split_gain,
                      units.score_scale());
  }

  double weighted_gain(const ExactNode& leaf, const Candidate& candidate) const {
    if (constraints_.feature_weights.empty()) return candidate.total;
    return constraints_.weight(candidate.feature) * gain_of(leaf, candidate);
  }

  void bring_up_to_date(const std::vector<int>& parents, int feature) {
    if (parents.empty()) {  // the root: its list is the table's, restricted to the bag
      if (!bagged_) return;
      const std::uint32_t* renumber = work_.renumber.data();
      return filter(work_.sorted(feature), work_.table.n_rows, renumber, work_.list(feature, 0));
    }
    std::vector<std::uint32_t> copy = work_.take_copy();
    for (const int parent : parents) {
      const int left = nodes_[parent].left;
      if (may_split(nodes_[left]) || may_split(nodes_[left + 1]))
        divide_list(parent, feature, copy);
    }
    work_.give_back(std::move(copy));
  }

  Candidate best_candidate(int leaf, int feature) const {
    const LimitedLeaf limited = {is_monotone() ? &monotone_ : nullptr, leaf};
    const Scanner scanner(params_, nodes_[leaf].units, work_.sums.data(), nodes_[leaf].size(),
                          values_of(feature), feature, limited);
    const ExactList list = list_of(leaf, feature);
    const bool categorical = work_.table.is_categorical[feature];
    Candidate best = categorical ? scanner.categorical(list) : scanner.numeric(list);
    if (best.total > nodes_[leaf].units.floor) best.feature = feature;
    return best;
  }

  std::vector<int> features_above(int node) const {
    std::vector<int> tested;
    for (int above = nodes_[node].parent; above >= 0; above = nodes_[above].parent) {
      tested.push_back(nodes_[above].best.feature);
    }
    std::sort(tested.begin(), tested.end());
    tested.erase(std::unique(tested.begin(), tested.end()), tested.end());
    return tested;
  }

  std::vector<std::uint8_t> allowed_at(int node) const {
    const Interactions& interactions = constraints_.interactions;
    NodePath path = {tree_id_, nodes_[node].key, static_cast<int>(nodes_[node].depth), {}};
    if (interactions.any()) path.tested = features_above(node);
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(work_.table.n_features));
    for (const int feature : allowed_features(params_, interactions, features_, path)) {
      flags[feature] = 1;
    }
    return flags;
  }

  void limit_children(int parent, std::vector<int>& leaves) {
    const ExactNode& node = nodes_[parent];
    ExactNode &left = nodes_[node.left], &right = nodes_[node.left + 1];
    const bool takes_all = node.threshold == std::numeric_limits<double>::max();
    const double end = takes_all ? std::numeric_limits<double>::infinity() : node.threshold;
    const BoxSplit box_split = {node.best.feature, end, node.best.missing_left,
                                node.best.categorical, node.best.categories};
    monotone_.split(parent, box_split, node.left, node.left + 1, left.value, right.value);
    left.value = monotone_.value(node.left);
    right.value = monotone_.value(node.left + 1);
    for (const int child : {node.left, node.left + 1}) {
      for (const int other : monotone_.touching(child)) {
        if (std::find(leaves.begin(), leaves.end(), other) != leaves.end()) continue;
        leaves.push_back(other);
        std::erase(open_, other);
      }
    }
  }

  void limit_score(int leaf) {
    ExactNode& node = nodes_[leaf];
    Units& units = node.units;
    node.limits = monotone_.limits(leaf);
    const auto G = static_cast<double>(units.total.g),
               d = static_cast<double>(units.total.h) + units.penalties.lambda;
    const double scale = units.weight_scale(), alpha = units.penalties.alpha;
    const double w = limited_weight(G, d, alpha, node.limits.low * scale, node.limits.high * scale);
    units.node_score = score_at(G, d, alpha, w);
    set_floor(units, -score_at(std::fabs(G), d, alpha, std::fabs(w)));
  }

  // Cuts the splits that do not gain prune_below. A node's rows are contiguous whether it was
  // divided or not, and children stay side by side.
  void prune_nodes() {
    for (ExactNode& node : nodes_) node.gain -= params_.prune_below;
    const auto left_of = [this](std::size_t i) { return nodes_[i].left; };
    const auto right_of = [this](std::size_t i) { return nodes_[i].left + 1; };
    const auto gain_of = [this](std::size_t i) { return nodes_[i].gain; };
    const PrunedNodes nodes = prune(nodes_.size(), left_of, right_of, gain_of);
    std::vector<ExactNode> kept;
    for (const int index : nodes.kept) {
      ExactNode node = nodes_[static_cast<std::size_t>(index)];
      const bool is_leaf = nodes.is_leaf[static_cast<std::size_t>(index)];
      node.left = is_leaf ? -1 : nodes.number[static_cast<std::size_t>(node.left)];
      kept.push_back(node);
    }
    nodes_ = std::move(kept);
  }

  void choose_values() {
    std::vector<int> leaves;
    std::vector<double> target, weights;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].left >= 0) continue;
      leaves.push_back(static_cast<int>(i));
      target.push_back(weight_of(params_, nodes_[i]));
      weights.push_back(static_cast<double>(nodes_[i].H) + params_.reg_lambda);
    }
    const std::vector<double> value = isotonic(monotone_.links(leaves), target, weights);
    for (std::size_t i = 0; i < leaves.size(); ++i) nodes_[leaves[i]].value = value[i];
  }

  void apply_common_step() {
    if (!params_.has_common_step()) return;
    CommonStep common(params_.leaf, params_.learning_rate);
    for (const ExactNode& node : nodes_) {
      if (node.left >= 0) continue;
      common.add(static_cast<double>(node.G), static_cast<double>(node.H),
                 params_.learning_rate * weight_of(params_, node));
    }
    const double step = common.step() / params_.learning_rate;
    for (ExactNode& node : nodes_) node.value += step;
  }

  void append(ExactTree& tree, const ExactNode& node) const {
    const bool split = node.left >= 0, categorical = split && node.best.categorical;
    const auto n_sets = static_cast<std::int32_t>(tree.category_bits.size() / 8);
    tree.feature.push_back(split ? node.best.feature : -1);
    tree.left.push_back(node.left);
    tree.right.push_back(split ? node.left + 1 : -1);
    tree.missing_left.push_back(split && node.best.missing_left);
    tree.category_set.push_back(categorical ? n_sets : -1);
    if (categorical) {
      const auto& words = node.best.categories;
      tree.category_bits.insert(tree.category_bits.end(), std::begin(words), std::end(words));
    }
    tree.value.push_back(params_.learning_rate * node.value);
    tree.gain.push_back(split ? node.gain : 0.0);
    tree.cover.push_back(static_cast<double>(node.H));
    tree.count.push_back(static_cast<std::int64_t>(node.size()));
    tree.threshold.push_back(split ? node.threshold : 0.0);
  }

  Workspace& work_;
  const GrowthParams& params_;
  const Constraints& constraints_;
  std::uint64_t tree_id_;
  std::vector<std::int32_t> features_;
  int threads_;
  bool bagged_ = false;
  std::vector<ExactNode> nodes_;
  std::vector<int> open_;    // leaves with a split: a heap if leaf-wise, else in order
  MonotoneLeaves monotone_;  // used with monotonic constraints
  std::int64_t n_leaves_ = 1;
};

}  // namespace

ExactGrower::ExactGrower(const PresortedTable& table)
    : workspace_(std::make_unique<Workspace>(table)) {}
ExactGrower::~ExactGrower() = default;

ExactTree ExactGrower::grow(const double* g, const double* h, std::span<const std::uint32_t> bag,
                            const TreePlan& plan, int threads) {
  ExactGrowth growth(*workspace_, plan, threads);
  growth.start(g, h, bag);
  while (growth.step()) {
  }
  return growth.finish();
}

}  // namespace hedgerow::exact
