// How a tree of CART grows, whatever engine finds and makes its cuts: depth first, or the best leaf
// first. A node's random draws are keyed by the way to it, so that subtrees may be grown aside, in
// any order and on any thread, and are put in their places when all are done.
//
// An engine has
//   first_row(node)                  one of its rows
//   is_pure(node, sums)              whether all its rows have the same to learn
//   values(node, sums, out)          what it predicts as a leaf
//   weight(sums)                     their weight in units of tickets
//   best_cut(node, sums) → Cut       and left_sums(), of that cut's left side
//   divide(node, cut) → middle       parts its rows, in order; middle is where those on the right
//   begin settle(node, left, right)        what else is to be parted, once it is known which of the
//   children
//                                    may be split; called right after divide and the two above
//   kGrowsAside                      if true, these two:
//   stands_aside(node)               whether its subtree is grown aside
//   grow_aside(node, sums) → tree    does so; may be called on several threads at once
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

// Rows begin … end − 1 of an engine's order.
struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

struct Node {
  Range range;
  int depth = 0;
  std::uint64_t key = 0;  // of its random draws: a hash of the way to it
  int parent = -1;
  bool is_right = false;
  std::uint32_t row = 0;  // one of its rows, as the engine numbers them
  bool pure = false;      // all rows have the same to learn
  bool open = false;      // may be split

  Node child(Range of_child, int index, bool right) const {
    return {of_child, depth + 1, mix_u64(2 * key + right), index, right};
  }
};

// Objects that threads borrow, made when there is none to spare.
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
      // Room for all that there are, so that what comes back, in a destructor, allocates nothing.
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

// The features in an order drawn for a node; in their own if all of them are tried.
class FeatureOrder {
 public:
  FeatureOrder(int n_features, const CartRules& rules)
      : rules_(rules), features_(static_cast<std::size_t>(n_features)) {
    std::iota(features_.begin(), features_.end(), 0);
  }

  // Calls try_feature(feature), which says whether the feature is constant in the node, for
  // max_features of them. One that is constant counts as tried, but one that is not must be found.
  template <class TryFeature>
  void visit(std::uint64_t key, TryFeature try_feature) {
    const std::size_t n = features_.size();
    const std::size_t wanted = rules_.max_features > 0 ? rules_.max_features : n;
    swaps_.clear();
    bool all_constant = true;
    if (wanted >= n) {
      for (const int feature : features_) try_feature(feature);
      return;
    }
    const std::uint64_t draws = hash_key(rules_.seed, Purpose::cart_features, key);
    for (std::size_t tried = 0; tried < n && (tried < wanted || all_constant); ++tried) {
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
class Growth {
 public:
  Growth(Engine& engine, const CartTarget& target, const CartRules& rules, double root_weight,
         int threads)
      : engine_(engine),
        target_(target),
        rules_(rules),
        least_gain_(rules.min_impurity_decrease * root_weight),
        threads_(threads) {}

  // Looks at a node that is the root, or was just parted from its sibling.
  void examine(Node& node, const std::uint64_t* sums) {
    const auto n = static_cast<std::int64_t>(node.range.size());
    node.row = engine_.first_row(node);
    node.pure = engine_.is_pure(node, sums);
    node.open = !node.pure && n >= rules_.min_samples_split && n >= 2 * rules_.min_samples_leaf &&
                (rules_.max_depth == 0 || node.depth < rules_.max_depth);
  }

  // Grows a tree, or the subtree of a node, which has been examined.
  CartTree grow(const Node& root, const Sums& sums) {
    rules_.max_leaves > 0 ? grow_best_first(root, sums) : grow_depth_first(root, sums);
    if constexpr (Engine::kGrowsAside) {
      if (!asides_.empty()) return with_asides();
    }
    return std::move(tree_);
  }

 private:
  // A leaf of a tree that grows best first, with the cut that it would be split by.
  struct Leaf {
    Node node;
    int index;
    Sums sums, left;
    Cut cut;

    bool operator<(const Leaf& other) const {
      return cut.gain != other.cut.gain ? cut.gain < other.cut.gain : index > other.index;
    }
  };

  // A node whose subtree is grown aside; a leaf holds its place.
  struct Aside {
    Node node;
    Sums sums;
  };

  int add(const Node& node, const std::uint64_t* sums) {
    const double weight = engine_.weight(sums) * target_.tickets.weight_unit;
    const int index = add_node(tree_, weight, node.range.size(), target_.n_values);
    engine_.values(node, sums, tree_.value.data() + tree_.value.size() - target_.n_values);
    if (node.parent >= 0) {
      (node.is_right ? tree_.right : tree_.left)[static_cast<std::size_t>(node.parent)] = index;
    }
    return index;
  }

  bool is_worth(const Cut& cut) const { return cut.found() && cut.gain >= least_gain_; }

  struct Children {
    Node left, right;
  };

  // Parts a node; `sums` become those of the right child.
  Children split(const Node& node, int index, const Cut& cut, Sums& sums, const Sums& left) {
    record_cut(tree_, index, cut);
    for (std::size_t w = 0; w < sums.size(); ++w) sums[w] -= left[w];
    const std::size_t middle = engine_.divide(node, cut);
    Children children{node.child({node.range.begin, middle}, index, false),
                      node.child({middle, node.range.end}, index, true)};
    examine(children.left, left.data());
    examine(children.right, sums.data());
    engine_.settle(node, children.left, children.right);
    return children;
  }

  // The nodes to come wait on a stack, their sums beside them.
  void grow_depth_first(const Node& root, const Sums& root_sums) {
    push(root, root_sums);
    Sums sums, left;
    while (!stack_.empty()) {
      const Node node = pop(sums, root_sums.size());
      const int index = add(node, sums.data());
      if (!node.open) continue;
      if constexpr (Engine::kGrowsAside) {
        if (engine_.stands_aside(node)) {
          asides_.push_back({node, sums});
          places_.push_back(index);
          continue;
        }
      }
      if (node.range.size() >= 256) check_interrupt();
      const Cut cut = engine_.best_cut(node, sums.data());
      if (!is_worth(cut)) continue;
      left = engine_.left_sums();
      const Children children = split(node, index, cut, sums, left);
      push(children.right, sums);
      push(children.left, left);
    }
  }

  void push(const Node& node, const Sums& sums) {
    stack_.push_back(node);
    stack_sums_.insert(stack_sums_.end(), sums.begin(), sums.end());
  }

  Node pop(Sums& sums, std::size_t n_words) {
    sums.assign(stack_sums_.end() - static_cast<std::ptrdiff_t>(n_words), stack_sums_.end());
    stack_sums_.resize(stack_sums_.size() - n_words);
    const Node node = stack_.back();
    stack_.pop_back();
    return node;
  }

  CartTree with_asides() {
    std::vector<CartTree> grown(asides_.size());
    parallel_for(threads_, asides_.size(), [&](std::size_t i) {
      Node node = asides_[i].node;
      node.parent = -1;
      grown[i] = engine_.grow_aside(node, asides_[i].sums);
    });
    return splice(tree_, places_, grown);
  }

  void grow_best_first(const Node& root, const Sums& sums) {
    std::vector<Leaf> leaves;
    int n_leaves = 1;
    const auto add_leaf = [&](const Node& node, const Sums& of_node) {
      Leaf leaf{node, add(node, of_node.data()), of_node, {}, {}};
      if (!node.open || n_leaves == rules_.max_leaves) return;
      leaf.cut = engine_.best_cut(node, of_node.data());
      if (!is_worth(leaf.cut)) return;
      leaf.left = engine_.left_sums();
      leaves.push_back(std::move(leaf));
      std::push_heap(leaves.begin(), leaves.end());
    };
    add_leaf(root, sums);
    while (n_leaves < rules_.max_leaves && !leaves.empty()) {
      check_interrupt();
      std::pop_heap(leaves.begin(), leaves.end());
      Leaf leaf = std::move(leaves.back());
      leaves.pop_back();
      const Children children = split(leaf.node, leaf.index, leaf.cut, leaf.sums, leaf.left);
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
  std::vector<Node> stack_;
  Sums stack_sums_;
  std::vector<Aside> asides_;
  std::vector<int> places_;
};

}  // namespace hedgerow::cart
