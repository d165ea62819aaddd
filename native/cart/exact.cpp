// The engine that keeps, for every feature, the rows of each node in the order of their values: a
// scan reads a list from one end to the other, and a split is a stable partition of every list, so
// nothing is sorted within a node. While a node is large its lists hold rows of the table and its
// features are shared out among threads; a small one packs its lists into words of both row and
// rank, which stay in the cache while its subtree grows on one thread.
//
// For the absolute error the numbers to be learned have lists of their own, behind the features'.
//
// A list that is constant in a node is left as it is from there on: whatever rows of the ancestor
// it shows to a descendant, they are of one value, and that is all that is asked of it.
#include "cart/exact.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "cart/growth.hpp"
#include "cart/kinds.hpp"
#include "cart/lists.hpp"
#include "cart/median.hpp"
#include "cart/sums.hpp"
#include "core/buffer.hpp"

namespace hedgerow {
namespace cart {
namespace {

// Rows of a node that packs its lists, and of one within it that does so again: what the second and
// the first level of the cache hold of them. Ranks and rows must fit 16 bits.
constexpr std::size_t kPackedRows = 32768;
constexpr std::size_t kSmallRows = 2048;
// Values that make it worth to wake another thread (about 50 µs of work).
constexpr std::size_t kValuesPerThread = 20000;
constexpr std::size_t kLongList = 4096;  // after which Ctrl-C is asked for

// Threads take packed nodes in turn: each should have a few.
std::size_t rows_to_pack(std::size_t n_rows, int threads) {
  if (threads <= 1) return kPackedRows;
  return std::clamp(n_rows / (4 * static_cast<std::size_t>(threads)), kSmallRows, kPackedRows);
}

// Parts a list by the flags of its rows, each side in its order; a side that is not kept is left in
// disorder. `room` is for as many words.
template <class Words>
void divide_list(std::uint32_t* words, std::size_t n, const std::uint8_t* goes_left, bool keep_left,
                 bool keep_right, std::uint32_t* room) {
  if (!keep_left) {  // from the end, so that what is written has been read
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
  static constexpr bool kGrowsAside = true;

  ListEngine(const SortedTable& table, const CartTarget& target, const CartRules& rules)
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
        lane_(criterion_) {}

  CartTree grow(std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads) {
    threads_ = threads;
    take_lists(rows.size());
    Sums sums(left_sums_.size());
    add_up(
        criterion_.kind, rows.size(),
        [&](std::size_t i) { return criterion_.kind.load(rows_, rows[i]); }, kEveryRow,
        sums.data());
    root_weight_ = weight(sums.data()) * target_.tickets.weight_unit;
    Growth<ListEngine> growth(*this, target_, rules_, root_weight_, threads);
    Node root{{0, rows.size()}, 0, mix_u64(tree_id)};
    growth.examine(root, sums.data());
    if (root.open && rows.size() <= kPackedRows) return grow_aside(root, sums);
    if (rules_.max_leaves == 0) packed_rows_ = rows_to_pack(rows.size(), threads);
    return growth.grow(root, sums);
  }

  double weight(const std::uint64_t* sums) const { return criterion_.kind.weight(sums); }

  // These are asked of the root, and of the children of the last cut, whose list has been parted.
  std::uint32_t first_row(const Node& node) const { return list_of(parted_, node).row(0); }

  bool is_pure(const Node& node, const std::uint64_t* sums) const {
    if constexpr (kMedians) {
      bool pure = true;
      for (std::size_t l = n_features_; l < n_lists_; ++l) pure &= is_constant(l, node);
      return pure;
    } else {
      const List<Words> list = list_of(parted_, node);
      const auto row_at = [&](std::size_t i) { return list.row(i); };
      return criterion_.kind.is_pure(rows_, row_at, list.size, sums);
    }
  }

  void values(const Node& node, const std::uint64_t* sums, double* out) const {
    if constexpr (kMedians) {
      for (std::size_t l = n_features_; l < n_lists_; ++l) *out++ = median(l, node, sums[0]);
    } else {
      write_values(criterion_.kind, rows_, node.row, node.pure, sums, out);
    }
  }

  Cut best_cut(const Node& node, const std::uint64_t* sums) {
    start(node, sums);
    tried_.clear();
    order_.visit(node.key, [&](int feature) {
      const bool constant = is_constant(static_cast<std::size_t>(feature), node);
      if (!constant) tried_.push_back(feature);
      return constant;
    });
    const Cut cut = best_of_tried(node);
    if (!cut.found()) return cut;
    const List<Words> list = list_of(static_cast<std::size_t>(cut.feature), node);
    add_up(
        criterion_.kind, list.size,
        [&](std::size_t i) { return criterion_.kind.load(rows_, list.row(i)); },
        [&](std::size_t i) { return std::uint64_t{0} - goes_left(cut, list.rank(i)); },
        left_sums_.data());
    return cut;
  }

  const Sums& left_sums() const { return left_sums_; }

  std::size_t divide(const Node& node, const Cut& cut) {
    parted_ = static_cast<std::size_t>(cut.feature);
    const List<Words> list = list_of(parted_, node);
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
      const bool left = goes_left(cut, list.rank(i));
      goes_left_[list.row(i)] = left;
      n_left += left;
    }
    divide_list(parted_, node, true, true, lane_);
    for (std::size_t l = n_features_; l < n_lists_; ++l) divide_list(l, node, true, true, lane_);
    return node.range.begin + n_left;
  }

  void settle(const Node& node, const Node& left, const Node& right) {
    if (!left.open && !right.open) return;
    for_each(n_features_, node, [&](std::size_t l, Lane& lane) {
      if (l != parted_) divide_list(l, node, left.open, right.open, lane);
    });
  }

  bool stands_aside(const Node& node) const { return node.range.size() <= packed_rows_; }

  CartTree grow_aside(const Node& node, const Sums& sums) {
    const auto packed =
        packed_.borrow([&] { return std::make_unique<PackedEngine>(table_, target_, rules_); });
    return packed->grow_packed(*this, node, sums);
  }

 private:
  template <class, class>
  friend class ListEngine;

  // The memory of one thread.
  struct Lane {
    explicit Lane(const Criterion& criterion) : search(criterion) {}
    typename Criterion::Lane search;
    std::vector<std::uint32_t> room;
  };

  // Calls task(i, lane) for each i < n, on as many threads as work on the node is worth.
  template <class Task>
  void for_each(std::size_t n, const Node& node, Task task) {
    const int threads = threads_for(node.range.size() * n, kValuesPerThread, threads_);
    parallel_for(threads, n, [&](std::size_t i) {
      if (node.range.size() >= kLongList) check_interrupt();
      if (threads == 1) return task(i, lane_);
      const auto lane = lanes_.borrow([&] { return std::make_unique<Lane>(criterion_); });
      task(i, *lane);
    });
  }

  // List l is feature l's, or behind them number l − n_features_'s. One that is constant when a
  // node packs its lists is not kept.
  bool has_list(std::size_t l) const { return slot_[l] >= 0; }
  std::uint32_t* words_of(std::size_t l, const Node& node) const {
    return words_.get() + static_cast<std::size_t>(slot_[l]) * stride_ + node.range.begin;
  }
  List<Words> list_of(std::size_t l, const Node& node) const {
    return {words_of(l, node), node.range.size(), ranks_of(l)};
  }
  bool is_constant(std::size_t l, const Node& node) const {
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

  // Fills the lists with the rows that the tree drew.
  void take_lists(std::size_t n_rows) {
    reserve(n_rows, table_.n_rows);
    parallel_for(threads_, n_lists_, [&](std::size_t l) {
      const std::uint32_t* order = l < n_features_
                                       ? table_.order + l * table_.n_rows
                                       : target_.number_order + (l - n_features_) * table_.n_rows;
      std::uint32_t* to = words_.get() + l * stride_;
      for (const std::uint32_t* end = to + stride_; to < end; ++order) {
        *to = *order;
        to += target_.ticket[*order] != 0;
      }
      slot_[l] = static_cast<int>(l);
    });
  }

  // Takes over a node of a larger engine.
  template <class LargerWords>
  CartTree grow_packed(ListEngine<Criterion, LargerWords>& whole, Node node, const Sums& sums) {
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
    return Growth<ListEngine>(*this, target_, rules_, root_weight_, 1).grow(node, sums);
  }

  // Numbers the node's rows in the order of a list that holds them.
  template <class LargerWords>
  void number_rows(ListEngine<Criterion, LargerWords>& whole, const Node& node) {
    ids_.clear();
    std::size_t l = 0;
    while (l < n_lists_ && whole.is_constant(l, node)) ++l;
    if (l == n_lists_) return;  // there is nothing to cut, and no row will be looked at
    const List<LargerWords> list = whole.list_of(l, node);
    for (std::size_t i = 0; i < list.size; ++i) {
      whole.packed_number_[list.row(i)] = static_cast<std::uint16_t>(i);
      ids_.push_back(list.row(i));
    }
  }

  // Packs a list. Ranks of numbers count the values of this node; categories keep theirs.
  template <class LargerWords>
  void pack(const List<LargerWords>& list, std::size_t l, const std::uint16_t* number) {
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
  void note_constants(const ListEngine<Criterion, LargerWords>& whole, const Node& node) {
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

  // The number up to which a node has half its weight, or halfway to the next if it is just half.
  double median(std::size_t l, const Node& node, std::uint64_t of_node) const {
    if (!has_list(l)) return constant_[l - n_features_];
    const List<Words> list = list_of(l, node);
    if (list.is_constant()) return number_at(l, list.words[0]);
    const double weight = target_.tickets.weight(of_node);
    std::uint64_t passed = 0;
    std::size_t i = 0;
    while (2.0 * target_.tickets.weight(passed += rows_.ticket[list.row(i)]) < weight) ++i;
    const double at = number_at(l, list.words[i]);
    const bool is_half = 2.0 * target_.tickets.weight(passed) == weight;
    return is_half ? 0.5 * at + 0.5 * number_at(l, list.words[i + 1]) : at;
  }

  void start(const Node& node, const std::uint64_t* sums) {
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

  // The features that were tried, in their order: the first of the best cuts.
  Cut best_of_tried(const Node& node) {
    answers_.assign(tried_.size(), Answer());
    for_each(tried_.size(), node,
             [&](std::size_t i, Lane& lane) { answers_[i] = search(node, tried_[i], lane); });
    std::size_t best = 0;
    for (std::size_t i = 1; i < answers_.size(); ++i) {
      if (answers_[i].found && beats(answers_[i].score, answers_[best].score)) best = i;
    }
    if (answers_.empty() || !answers_[best].found) return Cut();
    return cut_of(node, tried_[best], answers_[best]);
  }

  Answer search(const Node& node, int feature, Lane& lane) const {
    const List<Words> list = list_of(static_cast<std::size_t>(feature), node);
    Question question{feature, table_.is_categorical[feature], node.key, {}};
    if (rules_.random_cuts && !question.categorical) {
      question.only = draw_position(list, feature, node.key).position;
    }
    return criterion_.search(lane.search, rows_, list, question);
  }

  struct Drawn {
    std::size_t position;  // of the last value that goes left
    double at;
  };

  // A number at random between a list's least and largest.
  Drawn draw_position(const List<Words>& list, int feature, std::uint64_t key) const {
    const std::size_t last = list.n_values() - 1;
    if (list.rank(0) == list.rank(last)) return {last, kEveryNumber};
    const double least = value_at(feature, list.words[0]);
    const double most = value_at(feature, list.words[last]);
    const double at = between(least, most, draw_cut(cut_draws(rules_, key), feature));
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

  static bool goes_left(const Cut& cut, std::uint32_t rank) {
    return rank == Words::kMissing ? cut.missing_left : cut.takes(rank);
  }

  Cut cut_of(const Node& node, int feature, const Answer& answer) const {
    const List<Words> list = list_of(static_cast<std::size_t>(feature), node);
    const bool has_missing = list.is_missing(list.size - 1);
    Cut cut;
    cut.gain = criterion_.gain(answer.score);
    cut.feature = feature;
    cut.categorical = table_.is_categorical[feature];
    cut.missing_left = answer.missing_left;
    if (cut.categorical) {
      std::copy_n(answer.categories, 8, cut.categories);
      return cut;
    }
    cut.last = list.rank(answer.position);
    if (!has_missing) cut.missing_left = 2 * (answer.position + 1) >= list.size;
    name(cut, node, list, answer.position);
    return cut;
  }

  // Writes down where a cut after a place of the list is made.
  void name(Cut& cut, const Node& node, const List<Words>& list, std::size_t position) const {
    const std::uint32_t low = rank_in_table(cut.feature, list.words[position]);
    const bool parts_values = position + 1 < list.size && !list.is_missing(position + 1);
    const std::uint32_t high =
        parts_values ? rank_in_table(cut.feature, list.words[position + 1]) : low;
    if (table_.bins) {
      cut.split_bin =
          parts_values
              ? table_.bins->middle_bin(cut.feature, static_cast<int>(low), static_cast<int>(high))
              : static_cast<std::uint8_t>(table_.bins->n_bins[cut.feature] - 1);
      cut.threshold = table_.bins->threshold(cut.feature, cut.split_bin);
    } else if (!parts_values) {
      cut.threshold = kEveryNumber;
    } else if (rules_.random_cuts) {
      cut.threshold = draw_position(list, cut.feature, node.key).at;
    } else {
      cut.threshold = between(table_.value(cut.feature, low), table_.value(cut.feature, high), 0.5);
    }
  }

  void divide_list(std::size_t l, const Node& node, bool keep_left, bool keep_right, Lane& lane) {
    if (is_constant(l, node)) return;
    const std::size_t n = node.range.size();
    if (lane.room.size() < n) lane.room.resize(n);
    cart::divide_list<Words>(words_of(l, node), n, goes_left_.data(), keep_left, keep_right,
                             lane.room.data());
  }

  const SortedTable& table_;
  const CartTarget& target_;
  const CartRules& rules_;
  Criterion criterion_;
  TargetRows rows_;
  std::size_t n_features_, n_lists_;
  std::size_t stride_ = 0, capacity_ = 0;
  Buffer<std::uint32_t> words_;
  std::vector<int> slot_;  // list l begins at words_ + slot_[l] · stride_; −1 if it is not kept
  std::vector<std::uint8_t> goes_left_;  // by row
  std::size_t parted_ = 0;               // the list of the last cut
  FeatureOrder order_;
  std::vector<int> tried_;
  std::vector<Answer> answers_;
  Sums left_sums_;
  Lane lane_;
  Pool<Lane> lanes_;
  int threads_ = 1;
  double root_weight_ = 0.0;

  std::size_t packed_rows_ = 0;               // of a node that is packed; 0 for none
  std::vector<std::uint16_t> packed_number_;  // of a row in the node that packs it
  Pool<PackedEngine> packed_;

  // Of a packed one.
  std::vector<std::uint32_t> ids_;  // rows of the table
  TargetCopy target_copy_;
  std::vector<double> constant_;  // values of numbers that have no list
};

template <class Criterion>
CartTree grow_lists(const SortedTable& table, const CartTarget& target, const CartRules& rules,
                    std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads) {
  ListEngine<Criterion, TableWords> engine(table, target, rules);
  return engine.grow(rows, tree_id, threads);
}

}  // namespace
}  // namespace cart

namespace {

template <class Value>
void read_column(const RawColumn& column, std::vector<Value>& values) {
  const auto* at = static_cast<const unsigned char*>(column.data);
  for (Value& value : values) {
    std::memcpy(&value, at, sizeof value);
    at += column.stride;
  }
}

// Writes the order of the rows, and their ranks, which come in that order, by row.
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

// The column is copied first: its values are looked at in any order, and columns of a table that is
// stored by rows are far apart.
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

CartTree grow_cart_exact(const SortedTable& table, const CartTarget& target, const CartRules& rules,
                         std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads) {
  if (rules.impurity == Impurity::absolute) {
    return cart::grow_lists<cart::MedianCriterion>(table, target, rules, rows, tree_id, threads);
  }
  if (rules.random_cuts) return grow_random_cuts(table, target, rules, rows, tree_id, threads);
  return cart::visit_kind(target, [&]<class Kind>(const Kind&) {
    return cart::grow_lists<cart::SumCriterion<Kind>>(table, target, rules, rows, tree_id, threads);
  });
}

}  // namespace hedgerow
