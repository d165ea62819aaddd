// The growth loop of CART, depth first or best leaf first, with any engine that finds and applies
// splits. A node's random numbers are keyed by the path to it, so that subtrees can be grown
// separately, in any order and on any thread, and are spliced into the tree at the end.
//
// An engine provides
//   first_row(node)                        one of the node's rows
//   is_pure(node, sums)                    whether all rows of the node have the same target
//   values(node, sums, out)                the prediction of the node as a leaf
//   weight(sums)                           weight in fixed-point units
//   best_split(node, sums) → CartSplit     and left_sums(): the sums of its left side
//   divide(node, split) → middle           divides the rows; those from `middle` on go right
//   finish_split(node, left, right)        divides what else the engine keeps per node, once it is
//                                          known which children may be split
//   kGrowsSubtrees                         if true, also:
//   grows_separately(node)                 whether the node's subtree is grown separately
//   grow_subtree(node, sums) → CartTree    grows it; called from several threads
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "cart/tree.hpp"
#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "shared/random.hpp"

namespace hedgerow::cart {

using Sums = std::vector<std::uint64_t>;

// Rows [begin, end) in an engine's order.
struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

struct CartNode {
  Range range;
  int depth = 0;
  std::uint64_t key = 0;  // of its random numbers: a hash of the path to it
  int parent = -1;
  bool is_right = false;
  std::uint32_t row = 0;  // one of its rows, in the engine's numbering
  bool pure = false;      // all rows have the same target
  bool open = false;      // may be split

  CartNode child(Range of_child, int index, bool right) const {
    return {of_child, depth + 1, child_key(key, right), index, right};
  }
};

// Objects that threads borrow; created on demand and reused.
template <class T>
class Pool {
 public:
  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    Loan(const Loan&) = delete;
    ~Loan() { pool_.give_back(std::move(object_)); }
    T* operator->() const { return object_.get(); }
    T& operator*() const { return *object_; }

   private:
    Pool& pool_;
    std::unique_ptr<T> object_;
  };

  template <class Make>
  Loan borrow(Make make) {
    std::unique_ptr<T> spare = take();
    return Loan(*this, spare ? std::move(spare) : make());
  }

 private:
  std::unique_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) {
      // Reserve room for all objects, so that returning one, in a destructor, does not allocate.
      spare_.reserve(++n_made_);
      return nullptr;
    }
    std::unique_ptr<T> last = std::move(spare_.back());
    spare_.pop_back();
    return last;
  }

  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spare_;
  std::size_t n_made_ = 0;
};

// The features in a node's random order, or in their own order if all of them are tried.
class FeatureOrder {
 public:
  FeatureOrder(int n_features, const CartRules& rules)
      : rules_(rules), features_(static_cast<std::size_t>(n_features)) {
    std::iota(features_.begin(), features_.end(), 0);
  }

  // Calls try_feature(feature), which returns whether the feature is constant in the node, for
  // max_features features. Constant features count, but the search continues until one is not.
  template <class TryFeature>
  void visit(std::uint64_t key, TryFeature try_feature) {
    const std::size_t n = features_.size();
    const std::size_t max_features = rules_.max_features > 0 ? rules_.max_features : n;
    swaps_.clear();
    bool all_constant = true;
    if (max_features >= n) {
      for (const int feature : features_) try_feature(feature);
      return;
    }
    const std::uint64_t draws = hash_key(rules_.seed, Purpose::cart_features, key);
    for (std::size_t tried = 0; tried < n && (tried < max_features || all_constant); ++tried) {
      const double u = unit_interval(hash_at(draws, tried));
      swaps_.push_back(tried + static_cast<std::size_t>(u * static_cast<double>(n - tried)));
      std::swap(features_[tried], features_[swaps_.back()]);
      all_constant &= try_feature(features_[tried]);
    }
    for (std::size_t i = swaps_.size(); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
  }

 private:
  const CartRules& rules_;
  std::vector<int> features_;
  std::vector<std::size_t> swaps_;
};

template <class Engine>
class CartGrower {
 public:
  CartGrower(Engine& engine, const CartTarget& target, const CartRules& rules, double root_weight,
             int threads)
      : engine_(engine),
        target_(target),
        rules_(rules),
        least_gain_(rules.min_impurity_decrease * root_weight),
        threads_(threads) {}

  // Determines whether a new node is pure and whether it may be split.
  void examine(CartNode& node, const std::uint64_t* sums) {
    const auto n = static_cast<std::int64_t>(node.range.size());
    node.row = engine_.first_row(node);
    node.pure = engine_.is_pure(node, sums);
    node.open = !node.pure && n >= rules_.min_samples_split && n >= 2 * rules_.min_samples_leaf &&
                (rules_.max_depth == 0 || node.depth < rules_.max_depth);
  }

  // Grows a tree, or the subtree of a node, which has been examined.
  CartTree grow(const CartNode& root, const Sums& sums) {
    rules_.max_leaves > 0 ? grow_best_first(root, sums) : grow_depth_first(root, sums);
    if constexpr (Engine::kGrowsSubtrees) {
      if (!deferred_.empty()) return with_subtrees();
    }
    return std::move(tree_);
  }

 private:
  // An open leaf in best-first growth, with its best split.
  struct OpenLeaf {
    CartNode node;
    int index;
    Sums sums, left;
    CartSplit split;

    bool operator<(const OpenLeaf& other) const {
      return split.gain != other.split.gain ? split.gain < other.split.gain : index > other.index;
    }
  };

  // A node whose subtree is grown separately; a leaf holds its place in the tree.
  struct DeferredSubtree {
    CartNode node;
    Sums sums;
  };

  int add(const CartNode& node, const std::uint64_t* sums) {
    const double weight = engine_.weight(sums) * target_.weights.weight_unit;
    const int index = add_node(tree_, weight, node.range.size(), target_.n_values);
    engine_.values(node, sums, tree_.value.data() + tree_.value.size() - target_.n_values);
    if (node.parent >= 0) {
      (node.is_right ? tree_.right : tree_.left)[static_cast<std::size_t>(node.parent)] = index;
    }
    return index;
  }

  bool is_worth(const CartSplit& split) const { return split.found() && split.gain >= least_gain_; }

  struct Children {
    CartNode left, right;
  };

  // Splits a node; `sums` become those of the right child.
  Children split_node(const CartNode& node, int index, const CartSplit& split, Sums& sums,
                      const Sums& left) {
    record_split(tree_, index, split);
    for (std::size_t w = 0; w < sums.size(); ++w) sums[w] -= left[w];
    const std::size_t middle = engine_.divide(node, split);
    Children children{node.child({node.range.begin, middle}, index, false),
                      node.child({middle, node.range.end}, index, true)};
    examine(children.left, left.data());
    examine(children.right, sums.data());
    engine_.finish_split(node, children.left, children.right);
    return children;
  }

  // Pending nodes are on a stack, with a parallel stack of their sums.
  void grow_depth_first(const CartNode& root, const Sums& root_sums) {
    push(root, root_sums);
    Sums sums, left;
    while (!stack_.empty()) {
      const CartNode node = pop(sums, root_sums.size());
      const int index = add(node, sums.data());
      if (!node.open) continue;
      if constexpr (Engine::kGrowsSubtrees) {
        if (engine_.grows_separately(node)) {
          deferred_.push_back({node, sums});
          places_.push_back(index);
          continue;
        }
      }
      if (node.range.size() >= 256) check_interrupt();
      const CartSplit split = engine_.best_split(node, sums.data());
      if (!is_worth(split)) continue;
      left = engine_.left_sums();
      const Children children = split_node(node, index, split, sums, left);
      push(children.right, sums);
      push(children.left, left);
    }
  }

  void push(const CartNode& node, const Sums& sums) {
    stack_.push_back(node);
    stack_sums_.insert(stack_sums_.end(), sums.begin(), sums.end());
  }

  CartNode pop(Sums& sums, std::size_t n_words) {
    sums.assign(stack_sums_.end() - static_cast<std::ptrdiff_t>(n_words), stack_sums_.end());
    stack_sums_.resize(stack_sums_.size() - n_words);
    const CartNode node = stack_.back();
    stack_.pop_back();
    return node;
  }

  CartTree with_subtrees() {
    std::vector<CartTree> grown(deferred_.size());
    parallel_for(threads_, deferred_.size(), [&](std::size_t i) {
      CartNode node = deferred_[i].node;
      node.parent = -1;
      grown[i] = engine_.grow_subtree(node, deferred_[i].sums);
    });
    return splice(tree_, places_, grown);
  }

  void grow_best_first(const CartNode& root, const Sums& sums) {
    std::vector<OpenLeaf> leaves;
    int n_leaves = 1;
    const auto add_leaf = [&](const CartNode& node, const Sums& of_node) {
      OpenLeaf leaf{node, add(node, of_node.data()), of_node, {}, {}};
      if (!node.open || n_leaves == rules_.max_leaves) return;
      leaf.split = engine_.best_split(node, of_node.data());
      if (!is_worth(leaf.split)) return;
      leaf.left = engine_.left_sums();
      leaves.push_back(std::move(leaf));
      std::push_heap(leaves.begin(), leaves.end());
    };
    add_leaf(root, sums);
    while (n_leaves < rules_.max_leaves && !leaves.empty()) {
      check_interrupt();
      std::pop_heap(leaves.begin(), leaves.end());
      OpenLeaf leaf = std::move(leaves.back());
      leaves.pop_back();
      const Children children = split_node(leaf.node, leaf.index, leaf.split, leaf.sums, leaf.left);
      ++n_leaves;
      add_leaf(children.left, leaf.left);
      add_leaf(children.right, leaf.sums);
    }
  }

  Engine& engine_;
  const CartTarget& target_;
  const CartRules& rules_;
  double least_gain_;
  int threads_;
  CartTree tree_;
  std::vector<CartNode> stack_;
  Sums stack_sums_;
  std::vector<DeferredSubtree> deferred_;
  std::vector<int> places_;
};

}  // namespace hedgerow::cart
