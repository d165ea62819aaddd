// The engine on sorted lists. For every feature it keeps the rows of each node sorted by value: a
// scan reads a list from one end to the other, and a split is a stable partition of every list, so
// nothing is sorted within a node. The lists of a large node hold rows of the table, and threads
// share its features; a small node packs its lists into words of row and rank, which stay in the
// cache while its subtree grows on one thread.
//
// For the absolute error each target number has a list too, after those of the features.
//
// A list that is constant in a node is not divided any further: whichever of the ancestor's rows a
// descendant sees in it, their value is the same, and nothing else is read.
#include "cart/exact.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "cart/gain_ratio.hpp"
#include "cart/grower.hpp"
#include "cart/kinds.hpp"
#include "cart/lists.hpp"
#include "cart/median.hpp"
#include "cart/sums.hpp"
#include "core/buffer.hpp"

namespace hedgerow::cart {
namespace {

// Rows of a node that packs its lists, and of one within it that packs them again: what fits into
// the second-level and the first-level cache. Ranks and rows must fit into 16 bits.
constexpr std::size_t kPackedRows = 32768;
constexpr std::size_t kSmallRows = 2048;
// Values that justify waking another thread (about 50 µs of work).
constexpr std::size_t kValuesPerThread = 20000;
constexpr std::size_t kLongList = 4096;  // after which to check for Ctrl-C

// Threads take packed nodes in turn; each thread should get a few.
std::size_t rows_to_pack(std::size_t n_rows, int threads) {
  if (threads <= 1) return kPackedRows;
  return std::clamp(n_rows / (4 * static_cast<std::size_t>(threads)), kSmallRows, kPackedRows);
}

// Divides a list by flags of rows, keeping the order; a side that is not kept is left in disorder.
// `room` is working memory for n words.
template <class Words>
void divide_list(std::uint32_t* words, std::size_t n, const std::uint8_t* goes_left, bool keep_left,
                 bool keep_right, std::uint32_t* room) {
  if (!keep_left) {  // from the end, so that words are read before they are overwritten
    std::uint32_t* right = words + n;
    for (std::size_t i = n; i-- > 0;) {
      const std::uint32_t word = words[i];
      right[-1] = word;
      right -= !goes_left[Words::row(word)];
    }
    return;
  }
  std::uint32_t* left = words;
  std::uint32_t* right = room;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t word = words[i];
    const bool is_left = goes_left[Words::row(word)];
    *left = word;
    *right = word;
    left += is_left;
    right += !is_left;
  }
  if (keep_right) std::copy(room, right, left);
}

template <class Criterion, class Words>
class ListEngine {
  using PackedEngine = ListEngine<Criterion, PackedWords>;
  static constexpr bool kMedians = std::is_same_v<Criterion, MedianCriterion>;
  static constexpr bool kPacked = std::is_same_v<Words, PackedWords>;

 public:
  static constexpr bool kGrowsSubtrees = true;

  ListEngine(const SortedColumns& table, const CartTarget& target, const CartRules& rules)
      : table_(table),
        target_(target),
        rules_(rules),
        criterion_(target, rules),
        rows_(rows_of(target)),
        n_features_(static_cast<std::size_t>(table.n_features)),
        n_lists_(n_features_ + (kMedians ? static_cast<std::size_t>(target.n_values) : 0)),
        slot_(n_lists_),
        order_(table.n_features, rules),
        left_sums_(static_cast<std::size_t>(criterion_.kind.n_words())),
        scratch_(criterion_) {}

  CartTree grow(std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads) {
    threads_ = threads;
    take_lists(rows.size());
    Sums sums(left_sums_.size());
    add_up(
        criterion_.kind, rows.size(),
        [&](std::size_t i) { return criterion_.kind.contribution(rows_, rows[i]); }, kEveryRow,
        sums.data());
    root_weight_ = weight(sums.data()) * target_.weights.weight_unit;
    CartGrower<ListEngine> grower(*this, target_, rules_, root_weight_, threads);
    CartNode root{{0, rows.size()}, 0, root_key(tree_id)};
    grower.examine(root, sums.data());
    if (root.open && rows.size() <= kPackedRows) return grow_subtree(root, sums);
    if (rules_.max_leaves == 0) packed_rows_ = rows_to_pack(rows.size(), threads);
    return grower.grow(root, sums);
  }

  double weight(const std::uint64_t* sums) const { return criterion_.kind.weight(sums); }

  // Called for the root and for the children of the last split, whose list is already divided.
  std::uint32_t first_row(const CartNode& node) const { return list_of(split_list_, node).row(0); }

  bool is_pure(const CartNode& node, const std::uint64_t* sums) const {
    if constexpr (kMedians) {
      bool pure = true;
      for (std::size_t l = n_features_; l < n_lists_; ++l) pure &= is_constant(l, node);
      return pure;
    } else {
      const SortedList<Words> list = list_of(split_list_, node);
      const auto row_at = [&](std::size_t i) { return list.row(i); };
      return criterion_.kind.is_pure(rows_, row_at, list.size, sums);
    }
  }

  void values(const CartNode& node, const std::uint64_t* sums, double* out) const {
    if constexpr (kMedians) {
      for (std::size_t l = n_features_; l < n_lists_; ++l) *out++ = median(l, node, sums[0]);
    } else {
      write_values(criterion_.kind, rows_, node.row, node.pure, sums, out);
    }
  }

  CartSplit best_split(const CartNode& node, const std::uint64_t* sums) {
    start(node, sums);
    tried_.clear();
    order_.visit(node.key, [&](int feature) {
      const bool constant = is_constant(static_cast<std::size_t>(feature), node);
      if (!constant) tried_.push_back(feature);
      return constant;
    });
    const CartSplit split = best_of_tried(node, weight(sums));
    if (!split.found()) return split;
    const SortedList<Words> list = list_of(static_cast<std::size_t>(split.feature), node);
    add_up(
        criterion_.kind, list.size,
        [&](std::size_t i) { return criterion_.kind.contribution(rows_, list.row(i)); },
        [&](std::size_t i) { return std::uint64_t{0} - goes_left(split, list.rank(i)); },
        left_sums_.data());
    return split;
  }

  const Sums& left_sums() const { return left_sums_; }

  std::size_t divide(const CartNode& node, const CartSplit& split) {
    split_list_ = static_cast<std::size_t>(split.feature);
    const SortedList<Words> list = list_of(split_list_, node);
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
      const bool left = goes_left(split, list.rank(i));
      goes_left_[list.row(i)] = left;
      n_left += left;
    }
    divide_list(split_list_, node, true, true, scratch_);
    for (std::size_t l = n_features_; l < n_lists_; ++l) divide_list(l, node, true, true, scratch_);
    return node.range.begin + n_left;
  }

  void finish_split(const CartNode& node, const CartNode& left, const CartNode& right) {
    if (!left.open && !right.open) return;
    for_each(n_features_, node, [&](std::size_t l, ListScratch& scratch) {
      if (l != split_list_) divide_list(l, node, left.open, right.open, scratch);
    });
  }

  bool grows_separately(const CartNode& node) const { return node.range.size() <= packed_rows_; }

  CartTree grow_subtree(const CartNode& node, const Sums& sums) {
    const auto packed =
        packed_.borrow([&] { return std::make_unique<PackedEngine>(table_, target_, rules_); });
    return packed->grow_packed(*this, node, sums);
  }

 private:
  template <class, class>
  friend class ListEngine;

  // Working memory of one thread.
  struct ListScratch {
    explicit ListScratch(const Criterion& criterion) : search(criterion) {}
    typename Criterion::Scratch search;
    std::vector<std::uint32_t> room;
  };

  // Calls task(i, scratch) for each i < n, on as many threads as the node justifies.
  template <class Task>
  void for_each(std::size_t n, const CartNode& node, Task task) {
    const int threads = threads_for(node.range.size() * n, kValuesPerThread, threads_);
    parallel_for(threads, n, [&](std::size_t i) {
      if (node.range.size() >= kLongList) check_interrupt();
      if (threads == 1) return task(i, scratch_);
      const auto scratch =
          scratch_pool_.borrow([&] { return std::make_unique<ListScratch>(criterion_); });
      task(i, *scratch);
    });
  }

  // List l is that of feature l, or of target number l − n_features_. A packed node has no list for
  // what is constant in it.
  bool has_list(std::size_t l) const { return slot_[l] >= 0; }
  std::uint32_t* words_of(std::size_t l, const CartNode& node) const {
    return words_.get() + static_cast<std::size_t>(slot_[l]) * stride_ + node.range.begin;
  }
  SortedList<Words> list_of(std::size_t l, const CartNode& node) const {
    return {words_of(l, node), node.range.size(), ranks_of(l)};
  }
  bool is_constant(std::size_t l, const CartNode& node) const {
    return !has_list(l) || list_of(l, node).is_constant();
  }
  typename Words::Ranks ranks_of(std::size_t l) const {
    if constexpr (kPacked) {
      return {};
    } else {
      return {l < n_features_ ? table_.rank + l * table_.n_rows
                              : target_.number_rank + (l - n_features_) * table_.n_rows};
    }
  }
  // The row of the table behind a word.
  std::size_t table_row(std::uint32_t word) const {
    return kPacked ? ids_[Words::row(word)] : Words::row(word);
  }

  void reserve(std::size_t n_rows, std::size_t n_row_numbers) {
    stride_ = n_rows;
    if (n_lists_ * n_rows > capacity_) {
      capacity_ = n_lists_ * n_rows;
      words_ = Buffer<std::uint32_t>(capacity_);
    }
    goes_left_.resize(n_row_numbers);
    packed_number_.resize(n_row_numbers);
  }

  // Fills the lists with the rows of the tree's sample.
  void take_lists(std::size_t n_rows) {
    reserve(n_rows, table_.n_rows);
    parallel_for(threads_, n_lists_, [&](std::size_t l) {
      const std::uint32_t* order = l < n_features_
                                       ? table_.order + l * table_.n_rows
                                       : target_.number_order + (l - n_features_) * table_.n_rows;
      std::uint32_t* to = words_.get() + l * stride_;
      for (const std::uint32_t* end = to + stride_; to < end; ++order) {
        *to = *order;
        to += target_.fixed_weight[*order] != 0;
      }
      slot_[l] = static_cast<int>(l);
    });
  }

  // Grows the subtree of a node of a larger engine.
  template <class LargerWords>
  CartTree grow_packed(ListEngine<Criterion, LargerWords>& whole, CartNode node, const Sums& sums) {
    const std::size_t n = node.range.size();
    reserve(n, n);
    packed_rows_ = rules_.max_leaves > 0 || n < 2 * kSmallRows ? 0 : kSmallRows;
    root_weight_ = whole.root_weight_;
    number_rows(whole, node);
    rows_ = target_copy_.take(whole.rows_, ids_, target_.n_values);
    for (std::uint32_t& id : ids_) id = static_cast<std::uint32_t>(whole.table_row(id));
    int n_kept = 0;
    for (std::size_t l = 0; l < n_lists_; ++l) {
      slot_[l] = whole.is_constant(l, node) ? -1 : n_kept++;
      if (has_list(l)) pack(whole.list_of(l, node), l, whole.packed_number_.data());
    }
    if constexpr (kMedians) note_constants(whole, node);
    node.range = {0, n};
    return CartGrower<ListEngine>(*this, target_, rules_, root_weight_, 1).grow(node, sums);
  }

  // Numbers the node's rows in the order of a list that is not constant.
  template <class LargerWords>
  void number_rows(ListEngine<Criterion, LargerWords>& whole, const CartNode& node) {
    ids_.clear();
    std::size_t l = 0;
    while (l < n_lists_ && whole.is_constant(l, node)) ++l;
    if (l == n_lists_) return;  // nothing can be split, and no row will be read
    const SortedList<LargerWords> list = whole.list_of(l, node);
    for (std::size_t i = 0; i < list.size; ++i) {
      whole.packed_number_[list.row(i)] = static_cast<std::uint16_t>(i);
      ids_.push_back(list.row(i));
    }
  }

  // Packs a list. Numeric ranks are counted within this node; categories keep theirs.
  template <class LargerWords>
  void pack(const SortedList<LargerWords>& list, std::size_t l, const std::uint16_t* number) {
    const bool categorical = l < n_features_ && table_.is_categorical[l];
    std::uint32_t* to = words_.get() + static_cast<std::size_t>(slot_[l]) * stride_;
    std::uint32_t rank = 0, before = list.rank(0);
    for (std::size_t i = 0; i < list.size; ++i) {
      const std::uint32_t here = list.rank(i);
      rank += here != before;
      before = here;
      const std::uint32_t packed = here == LargerWords::kMissing ? Words::kMissing
                                   : categorical                 ? here
                                                                 : rank;
      to[i] = Words::pack(packed, number[list.row(i)]);
    }
  }

  template <class LargerWords>
  void note_constants(const ListEngine<Criterion, LargerWords>& whole, const CartNode& node) {
    constant_.clear();
    for (std::size_t l = n_features_; l < n_lists_; ++l) {
      constant_.push_back(whole.has_list(l) ? whole.number_at(l, whole.words_of(l, node)[0])
                                            : whole.constant_[l - n_features_]);
    }
  }

  double number_at(std::size_t l, std::uint32_t word) const {
    const auto width = static_cast<std::size_t>(target_.n_values);
    return rows_.raw[Words::row(word) * width + (l - n_features_)];
  }

  // The weighted median of a node: the midpoint of two numbers if half of the weight is below it.
  double median(std::size_t l, const CartNode& node, std::uint64_t of_node) const {
    if (!has_list(l)) return constant_[l - n_features_];
    const SortedList<Words> list = list_of(l, node);
    if (list.is_constant()) return number_at(l, list.words[0]);
    const double weight = target_.weights.weight(of_node);
    std::uint64_t passed = 0;
    std::size_t i = 0;
    while (2.0 * target_.weights.weight(passed += rows_.fixed_weight[list.row(i)]) < weight) ++i;
    const double at = number_at(l, list.words[i]);
    const bool is_half = 2.0 * target_.weights.weight(passed) == weight;
    return is_half ? 0.5 * at + 0.5 * number_at(l, list.words[i + 1]) : at;
  }

  void start(const CartNode& node, const std::uint64_t* sums) {
    if constexpr (kMedians) {
      criterion_.start(sums, goes_left_.size());
      for (std::size_t l = n_features_; l < n_lists_; ++l) {
        const auto v = static_cast<int>(l - n_features_);
        if (!is_constant(l, node)) criterion_.take(v, rows_, list_of(l, node));
      }
    } else {
      criterion_.start(sums);
    }
  }

  // The best split of the features tried, the first of equals.
  CartSplit best_of_tried(const CartNode& node, double weight) {
    search_tried(node, criterion_.gains_first());
    if (criterion_.gains_first() && !finds_gain()) search_tried(node, false);
    const bool by_ratio = rules_.impurity == Impurity::gain_ratio;
    const std::size_t best = by_ratio ? best_ratio(weight) : best_score();
    if (results_.empty() || !results_[best].found) return CartSplit();
    return split_of(node, tried_[best], results_[best]);
  }

  void search_tried(const CartNode& node, bool gains_only) {
    results_.assign(tried_.size(), ScanResult());
    for_each(tried_.size(), node, [&](std::size_t i, ListScratch& scratch) {
      results_[i] = search(node, tried_[i], gains_only, scratch);
    });
  }

  bool finds_gain() const {
    return std::any_of(results_.begin(), results_.end(),
                       [](const ScanResult& result) { return result.found; });
  }

  std::size_t best_score() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < results_.size(); ++i) {
      if (results_[i].found && beats(results_[i].score, results_[best].score)) best = i;
    }
    return best;
  }

  std::size_t best_ratio(double weight) const {
    GainRatios ratios;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i].found) continue;
      ratios.add(criterion_.gain(results_[i].score), results_[i].left_weight, weight);
      found.push_back(i);
    }
    return ratios.empty() ? 0 : found[ratios.best()];
  }

  ScanResult search(const CartNode& node, int feature, bool gains_only,
                    ListScratch& scratch) const {
    const SortedList<Words> list = list_of(static_cast<std::size_t>(feature), node);
    ScanRequest request{feature, table_.is_categorical[feature], node.key, {}, gains_only};
    if (rules_.random_thresholds && !request.categorical) {
      request.only = draw_position(list, feature, node.key).position;
    }
    return criterion_.search(scratch.search, rows_, list, request);
  }

  struct RandomPosition {
    std::size_t position;  // of the last value that goes left
    double threshold;
  };

  // A random threshold between the smallest and the largest value of a list.
  RandomPosition draw_position(const SortedList<Words>& list, int feature,
                               std::uint64_t key) const {
    const std::size_t last = list.n_values() - 1;
    if (list.rank(0) == list.rank(last)) return {last, kEveryNumber};
    const double least = value_at(feature, list.words[0]);
    const double most = value_at(feature, list.words[last]);
    const double at = between(least, most, draw_threshold(threshold_draws(rules_, key), feature));
    const auto is_left = [&](std::uint32_t word) {
      return list.ranks(word) != list.rank(last) && value_at(feature, word) <= at;
    };
    const auto* above = std::partition_point(list.words, list.words + last, is_left);
    return {static_cast<std::size_t>(above - list.words) - 1, at};
  }

  double value_at(int feature, std::uint32_t word) const {
    const std::uint32_t rank = rank_in_table(feature, word);
    return table_.bins ? table_.bins->value(feature, static_cast<int>(rank))
                       : table_.value(feature, rank);
  }

  std::uint32_t rank_in_table(int feature, std::uint32_t word) const {
    return table_.rank[static_cast<std::size_t>(feature) * table_.n_rows + table_row(word)];
  }

  static bool goes_left(const CartSplit& split, std::uint32_t rank) {
    return rank == Words::kMissing ? split.missing_left : split.takes(rank);
  }

  CartSplit split_of(const CartNode& node, int feature, const ScanResult& result) const {
    const SortedList<Words> list = list_of(static_cast<std::size_t>(feature), node);
    const bool has_missing = list.is_missing(list.size - 1);
    CartSplit split;
    split.gain = criterion_.gain(result.score);
    split.feature = feature;
    split.categorical = table_.is_categorical[feature];
    split.missing_left = result.missing_left;
    if (split.categorical) {
      std::copy_n(result.categories, 8, split.categories);
      return split;
    }
    split.last = list.rank(result.position);
    if (!has_missing) split.missing_left = 2 * (result.position + 1) >= list.size;
    set_threshold(split, node, list, result.position);
    return split;
  }

  // Sets the threshold of a split after a position of the list.
  void set_threshold(CartSplit& split, const CartNode& node, const SortedList<Words>& list,
                     std::size_t position) const {
    const std::uint32_t low = rank_in_table(split.feature, list.words[position]);
    const bool has_distinct_values = position + 1 < list.size && !list.is_missing(position + 1);
    const std::uint32_t high =
        has_distinct_values ? rank_in_table(split.feature, list.words[position + 1]) : low;
    if (table_.bins) {
      split.split_bin = has_distinct_values
                            ? table_.bins->middle_bin(split.feature, static_cast<int>(low),
                                                      static_cast<int>(high))
                            : static_cast<std::uint8_t>(table_.bins->n_bins[split.feature] - 1);
      split.threshold = table_.bins->threshold(split.feature, split.split_bin);
    } else if (!has_distinct_values) {
      split.threshold = kEveryNumber;
    } else if (rules_.random_thresholds) {
      split.threshold = draw_position(list, split.feature, node.key).threshold;
    } else {
      split.threshold =
          between(table_.value(split.feature, low), table_.value(split.feature, high), 0.5);
    }
  }

  void divide_list(std::size_t l, const CartNode& node, bool keep_left, bool keep_right,
                   ListScratch& scratch) {
    if (is_constant(l, node)) return;
    const std::size_t n = node.range.size();
    if (scratch.room.size() < n) scratch.room.resize(n);
    cart::divide_list<Words>(words_of(l, node), n, goes_left_.data(), keep_left, keep_right,
                             scratch.room.data());
  }

  const SortedColumns& table_;
  const CartTarget& target_;
  const CartRules& rules_;
  Criterion criterion_;
  TargetRows rows_;
  std::size_t n_features_, n_lists_;
  std::size_t stride_ = 0, capacity_ = 0;
  Buffer<std::uint32_t> words_;
  std::vector<int> slot_;                // list l starts at words_ + slot_[l] · stride_; −1: none
  std::vector<std::uint8_t> goes_left_;  // by row
  std::size_t split_list_ = 0;           // the list of the last split
  FeatureOrder order_;
  std::vector<int> tried_;
  std::vector<ScanResult> results_;
  Sums left_sums_;
  ListScratch scratch_;
  Pool<ListScratch> scratch_pool_;
  int threads_ = 1;
  double root_weight_ = 0.0;

  std::size_t packed_rows_ = 0;               // smaller nodes are packed; 0: none
  std::vector<std::uint16_t> packed_number_;  // of a row within the node that packs it
  Pool<PackedEngine> packed_;

  // Of a packed engine.
  std::vector<std::uint32_t> ids_;  // rows of the table
  TargetCopy target_copy_;
  std::vector<double> constant_;  // the values of numbers without a list
};

template <class Criterion>
CartTree grow_lists(const SortedColumns& table, const CartTarget& target, const CartRules& rules,
                    std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads) {
  ListEngine<Criterion, TableWords> engine(table, target, rules);
  return engine.grow(rows, tree_id, threads);
}

}  // namespace
namespace {

template <class Value>
void read_column(const RawColumn& column, std::vector<Value>& values) {
  const auto* at = static_cast<const unsigned char*>(column.data);
  for (Value& value : values) {
    std::memcpy(&value, at, sizeof value);
    at += column.stride;
  }
}

// Writes the order of the rows and their ranks by row; calls on_rank(rank, row) in that order.
template <class OnRank>
void sort_contiguous(const RawColumn& column, std::size_t n_rows, std::uint32_t* order,
                     std::uint32_t* rank, OnRank on_rank) {
  std::vector<std::uint32_t> in_order(n_rows);
  presort(column, n_rows, order, in_order.data());
  for (std::size_t i = 0; i < n_rows; ++i) {
    rank[order[i]] = in_order[i];
    on_rank(in_order[i], order[i]);
  }
}

// The column is copied first: its values are read in random order, and in a row-major table they
// are far apart.
template <class Float>
std::vector<double> sort_floats(const RawColumn& column, std::size_t n_rows, std::uint32_t* order,
                                std::uint32_t* rank) {
  std::vector<Float> copy(n_rows);
  read_column(column, copy);
  std::vector<double> distinct;
  sort_contiguous({copy.data(), sizeof(Float), column.type}, n_rows, order, rank,
                  [&](std::uint32_t of_row, std::uint32_t row) {
                    if (of_row == distinct.size()) distinct.push_back(copy[row]);
                  });
  return distinct;
}

}  // namespace

std::vector<double> sort_column(const RawColumn& column, std::size_t n_rows, std::uint32_t* order,
                                std::uint32_t* rank) {
  switch (column.type) {
    case RawColumn::Type::float32:
      return sort_floats<float>(column, n_rows, order, rank);
    case RawColumn::Type::float64:
      return sort_floats<double>(column, n_rows, order, rank);
    case RawColumn::Type::category:
      sort_contiguous(column, n_rows, order, rank, [](std::uint32_t, std::uint32_t) {});
  }
  return {};
}

CartTree grow_cart_exact(const SortedColumns& table, const CartTarget& target,
                         const CartRules& rules, std::span<const std::uint32_t> rows,
                         std::uint64_t tree_id, int threads) {
  if (rules.impurity == Impurity::absolute) {
    return grow_lists<MedianCriterion>(table, target, rules, rows, tree_id, threads);
  }
  if (rules.random_thresholds)
    return grow_random_thresholds(table, target, rules, rows, tree_id, threads);
  return visit_kind(target, [&]<class Kind>(const Kind&) {
    return grow_lists<SumCriterion<Kind>>(table, target, rules, rows, tree_id, threads);
  });
}

}  // namespace hedgerow::cart
