// The engine on columns of codes: bins, of which it builds a histogram for each feature that it
// tries, or ranks of values, between which it draws random thresholds. A small node copies the
// codes of its rows into memory that stays in the cache while its subtree grows.
#include "cart/cart.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cart/bins.hpp"
#include "cart/by_row_engine.hpp"
#include "cart/codes.hpp"
#include "cart/gain_ratio.hpp"
#include "cart/grower.hpp"

namespace hedgerow::cart {
namespace {

// Bytes of codes that a small node copies: what fits into the second-level cache beside the rest.
constexpr std::size_t kLocalBytes = std::size_t{1} << 19;

std::size_t local_rows(std::size_t bytes_of_row) {
  return std::clamp<std::size_t>(kLocalBytes / bytes_of_row, 1024, 16384);
}

template <class Kind, class Columns>
class CodeEngine {
  using Code = typename Columns::Code;
  using Contribution = typename Kind::Contribution;
  static constexpr bool kCanGoByRow =
      std::is_same_v<Kind, PackedClasses> && std::is_same_v<Columns, BinColumns>;
  static constexpr Code kMissing = std::numeric_limits<Code>::max();

 public:
  static constexpr bool kGrowsSubtrees = true;

  CodeEngine(const Kind& kind, const CartRules& rules, const Columns& columns)
      : kind_(kind),
        rules_(rules),
        columns_(columns),
        rows_(rows_of(kind.target)),
        codes_(columns.codes()),
        stride_(columns.table.n_rows),
        order_(columns.table.n_features, rules),
        totals_(kind, rules),
        search_(kind, rules),
        bins_(kind, rules),
        left_(words()),
        missing_(words()),
        best_left_(words()) {}

  CartTree grow(std::span<const std::uint32_t> sample, std::uint64_t tree_id, int threads) {
    reserve(sample.size());
    std::copy(sample.begin(), sample.end(), ids_.begin());
    take_contributions();
    Sums sums(words());
    add_up(
        kind_, ids_.size(), [&](std::size_t i) { return contributions_[i]; }, kEveryRow,
        sums.data());
    root_weight_ = weight(sums.data()) * kind_.target.weights.weight_unit;
    if constexpr (kCanGoByRow) goes_by_row_ = ByRowEngine::serves(kind_, columns_.table, sums);
    max_subtree_rows_ = rules_.max_leaves > 0 ? 0 : max_subtree_rows();
    CartGrower<CodeEngine> grower(*this, kind_.target, rules_, root_weight_, threads);
    CartNode root{{0, ids_.size()}, 0, root_key(tree_id)};
    grower.examine(root, sums.data());
    return grower.grow(root, sums);
  }

  double weight(const std::uint64_t* sums) const { return kind_.weight(sums); }

  std::uint32_t first_row(const CartNode& node) const { return ids_[node.range.begin]; }

  bool is_pure(const CartNode& node, const std::uint64_t* sums) const {
    return kind_.is_pure(rows_, row_at(node), node.range.size(), sums);
  }

  void values(const CartNode& node, const std::uint64_t* sums, double* out) const {
    write_values(kind_, rows_, node.row, node.pure, sums, out);
  }

  CartSplit best_split(const CartNode& node, const std::uint64_t* sums) {
    totals_.start(sums);
    if (rules_.impurity == Impurity::gain_ratio) return best_by_ratio(node);
    CartSplit best;
    Score score;
    order_.visit(node.key, [&](int feature) {
      search_.start(totals_, score);
      const bool constant = try_feature(node, feature, best);
      score = search_.score();
      return constant;
    });
    if (best.found()) best.gain = totals_.gain(score);
    return best;
  }

  const Sums& left_sums() const { return best_left_; }

  std::size_t divide(const CartNode& node, const CartSplit& split) {
    if (split.categorical) {
      return divide(node, split.feature, [&](Code code) {
        return code == kMissing ? split.missing_left : split.takes(code);
      });
    }
    return divide(node, split.feature, [last = split.last, left = split.missing_left](Code code) {
      return (code <= last) | (left & (code == kMissing));
    });
  }

  void finish_split(const CartNode&, const CartNode&, const CartNode&) {}

  bool grows_separately(const CartNode& node) const {
    return node.range.size() <= max_subtree_rows_;
  }

  CartTree grow_subtree(const CartNode& node, const Sums& sums) {
    if constexpr (kCanGoByRow) {
      if (goes_by_row_) return grow_by_row(node, sums);
    }
    const auto local =
        local_.borrow([&] { return std::make_unique<CodeEngine>(kind_, rules_, columns_); });
    return local->grow_locally(*this, node, sums);
  }

 private:
  std::size_t words() const { return static_cast<std::size_t>(kind_.n_words()); }
  const Code* column_of(int feature) const {
    return codes_ + static_cast<std::size_t>(feature) * stride_;
  }
  auto row_at(const CartNode& node) const {
    return [ids = ids_.data() + node.range.begin](std::size_t i) { return ids[i]; };
  }

  auto contribution_at(const CartNode& node) const {
    return [contributions = contributions_.data() + node.range.begin](std::size_t i) {
      return contributions[i];
    };
  }

  void reserve(std::size_t n_rows) {
    ids_.resize(n_rows);
    contributions_.resize(n_rows);
    moved_ids_.resize(n_rows);
    moved_contributions_.resize(n_rows);
    gathered_.resize(n_rows);
  }

  void take_contributions() {
    for (std::size_t i = 0; i < ids_.size(); ++i)
      contributions_[i] = kind_.contribution(rows_, ids_[i]);
  }

  template <class GoesLeft>
  std::size_t divide(const CartNode& node, int feature, GoesLeft goes_left) {
    const Code* column = column_of(feature);
    std::size_t left = node.range.begin, right = 0;
    for (std::size_t i = node.range.begin; i < node.range.end; ++i) {
      const std::uint32_t row = ids_[i];
      const Contribution contribution = contributions_[i];
      const bool is_left = goes_left(column[row]);
      ids_[left] = moved_ids_[right] = row;
      contributions_[left] = moved_contributions_[right] = contribution;
      left += is_left;
      right += !is_left;
    }
    std::copy_n(moved_ids_.data(), right, ids_.data() + left);
    std::copy_n(moved_contributions_.data(), right, contributions_.data() + left);
    return left;
  }

  // Copying all rows of the table would gain nothing.
  std::size_t max_subtree_rows() const {
    const auto n_features = static_cast<std::size_t>(columns_.table.n_features);
    const std::size_t most = local_rows(n_features * sizeof(Code));
    return goes_by_row_ || stride_ > most ? most : 0;
  }

  CartTree grow_by_row(const CartNode& node, const Sums& sums) {
    const auto by_row =
        by_row_.borrow([&] { return std::make_unique<ByRowEngine>(kind_, rules_, columns_); });
    const auto ids = std::span(ids_).subspan(node.range.begin, node.range.size());
    const auto contributions =
        std::span(contributions_).subspan(node.range.begin, node.range.size());
    return by_row->grow(ids, contributions, root_weight_, node, sums);
  }

  CartTree grow_locally(const CodeEngine& whole, CartNode node, const Sums& sums) {
    const std::span ids = std::span(whole.ids_).subspan(node.range.begin, node.range.size());
    const auto n_features = static_cast<std::size_t>(columns_.table.n_features);
    stride_ = ids.size();
    copy_.resize(stride_ * n_features);
    for (std::size_t f = 0; f < n_features; ++f) {
      gather(whole.column_of(static_cast<int>(f)), ids, copy_.data() + f * stride_);
    }
    codes_ = copy_.data();
    reserve(stride_);
    std::iota(ids_.begin(), ids_.end(), 0);
    if constexpr (Kind::kHasNumbers) {
      rows_ = target_copy_.take(whole.rows_, ids, kind_.target.n_values);
      take_contributions();
    } else {
      std::copy_n(whole.contributions_.begin() + node.range.begin, stride_, contributions_.begin());
    }
    max_subtree_rows_ = 0;
    node.range = {0, stride_};
    return CartGrower<CodeEngine>(*this, kind_.target, rules_, whole.root_weight_, 1)
        .grow(node, sums);
  }

  // A feature's best split by information gain.
  struct FeatureSplit {
    CartSplit split;
    Sums left;
  };

  CartSplit best_by_ratio(const CartNode& node) {
    GainRatios ratios;
    std::vector<FeatureSplit> splits;
    order_.visit(node.key, [&](int feature) {
      CartSplit split;
      search_.start(totals_, {});
      const bool constant = try_feature(node, feature, split);
      if (!search_.found()) return constant;
      split.gain = totals_.gain(search_.score());
      ratios.add(split.gain, search_.left_weight(), totals_.weight);
      splits.push_back({split, best_left_});
      return constant;
    });
    if (splits.empty()) return {};
    FeatureSplit& best = splits[ratios.best()];
    best_left_ = std::move(best.left);
    return best.split;
  }

  // Evaluates the splits of a feature and updates `best`; returns whether the feature is constant
  // in the node.
  bool try_feature(const CartNode& node, int feature, CartSplit& best) {
    const bool at_random = rules_.random_thresholds && !columns_.table.is_categorical[feature];
    return at_random ? try_random_threshold(node, feature, best) : try_bins(node, feature, best);
  }

  bool try_bins(const CartNode& node, int feature, CartSplit& best) {
    const Code* column = column_of(feature);
    bins_.fill(
        node.range.size(),
        [column, row = row_at(node)](std::size_t i) { return Columns::bin_of(column[row(i)]); },
        contribution_at(node));
    if (bins_.is_constant()) return true;
    const bool categorical = columns_.table.is_categorical[feature];
    if (categorical) bins_.sort_categories(node.key, feature);
    if (rules_.random_thresholds) {
      bins_.search_at_random(search_, draw_threshold(threshold_draws(rules_, node.key), feature));
    } else {
      bins_.search(search_);
    }
    if (!search_.found()) return false;
    const auto position = static_cast<int>(search_.position());
    best = CartSplit();
    best.feature = feature;
    best.categorical = categorical;
    bins_.take_left(position, search_.missing_left(), best_left_.data());
    send_missing(best, bins_.has_missing(), node.range.size());
    if (categorical) bins_.take_categories(position, best.categories);
    if constexpr (Columns::kBinned) {
      if (!categorical) set_threshold(best, position);
    }
    return false;
  }

  void set_threshold(CartSplit& split, int position) const {
    const bool has_distinct_values = position + 1 < bins_.n_values();
    const int low = bins_.code(position);
    split.last = has_distinct_values
                     ? columns_.table.middle_bin(split.feature, low, bins_.code(position + 1))
                     : columns_.last_code(split.feature);
    columns_.set_threshold(split, 0.0);
  }

  // Missing values go to the better side; if the node has none, to the larger side.
  void send_missing(CartSplit& split, bool has_missing, std::size_t n) const {
    const auto on_left = static_cast<std::size_t>(kind_.count(best_left_.data()));
    split.missing_left =
        has_missing ? search_.missing_left() : !split.categorical && 2 * on_left >= n;
  }

  // The codes of a node's rows. For all rows they are the column itself.
  std::span<const Code> codes_of(const CartNode& node, int feature) {
    const Code* column = column_of(feature);
    const std::size_t n = node.range.size();
    if (n == stride_) return {column, n};
    gather(column, std::span(ids_).subspan(node.range.begin, n), gathered_.data());
    return {gathered_.data(), n};
  }

  // The same with a random threshold between the smallest and the largest value of the node.
  bool try_random_threshold(const CartNode& node, int feature, CartSplit& best) {
    const std::span<const Code> codes = codes_of(node, feature);
    const CodeRange<Code> range = code_range_of(codes);
    if (range.is_constant()) return true;
    const CodeThreshold threshold =
        draw_between(columns_, feature, range, threshold_draws(rules_, node.key));
    evaluate_both_sides(node, codes, threshold.last, range);
    if (!search_.found()) return false;
    best = split_at(columns_, feature, threshold);
    best_left_ = left_;
    if (search_.missing_left()) add_missing(best_left_);
    send_missing(best, range.has_missing, codes.size());
    return false;
  }

  void evaluate_both_sides(const CartNode& node, std::span<const Code> codes, std::uint32_t last,
                           const CodeRange<Code>& range) {
    add_up_where(node, codes, [last](Code code) { return code <= last; }, left_);
    evaluate(left_, false);
    if (!range.has_missing || !range.has_distinct_values()) return;
    add_up_where(node, codes, [](Code code) { return code == kMissing; }, missing_);
    with_missing_ = left_;
    add_missing(with_missing_);
    evaluate(with_missing_, true);
  }

  template <class Test>
  void add_up_where(const CartNode& node, std::span<const Code> codes, Test test,
                    Sums& sums) const {
    const auto mask_at = [codes, test](std::size_t i) { return std::uint64_t{0} - test(codes[i]); };
    add_up(kind_, codes.size(), contribution_at(node), mask_at, sums.data());
  }

  void evaluate(const Sums& left, bool missing_left) {
    search_.send_missing(missing_left);
    search_.push(left.data(), 0);
    search_.evaluate();
  }

  void add_missing(Sums& sums) const {
    for (std::size_t w = 0; w < words(); ++w) sums[w] += missing_[w];
  }

  Kind kind_;
  const CartRules& rules_;
  Columns columns_;
  TargetRows rows_;
  const Code* codes_;  // code of feature f in row r: codes_[f · stride_ + r]
  std::size_t stride_;
  std::size_t max_subtree_rows_ = 0;  // smaller nodes grow separately
  double root_weight_ = 0.0;
  // Rows in node order: their indices and contributions, and buffers for the right side of a split.
  std::vector<std::uint32_t> ids_, moved_ids_;
  std::vector<Contribution> contributions_, moved_contributions_;
  std::vector<Code> gathered_;  // the codes of a node's rows
  std::vector<Code> copy_;
  TargetCopy target_copy_;
  FeatureOrder order_;
  NodeTotals<Kind> totals_;
  CandidateSearch<Kind> search_;
  BinScan<Kind> bins_;
  Sums left_, missing_, with_missing_, best_left_;
  Pool<CodeEngine> local_;
  bool goes_by_row_ = false;  // whether ByRowEngine grows subtrees
  Pool<ByRowEngine> by_row_;
};

}  // namespace
double CartTable::threshold(int feature, int bin) const {
  const std::int64_t* start = threshold_starts + feature;
  const std::int64_t at = start[0] + bin;
  return at < start[1] ? thresholds[at] : kEveryNumber;
}

std::uint8_t CartTable::middle_bin(int feature, int low, int high) const {
  const double* edge = thresholds + threshold_starts[feature];
  const double middle = 0.5 * edge[low] + 0.5 * edge[high - 1];
  const double* above = std::lower_bound(edge + low, edge + high - 1, middle);
  if (above != edge + low && middle - above[-1] <= *above - middle) --above;
  return static_cast<std::uint8_t>(above - edge);
}

CartTree grow_cart(const CartTable& table, const CartTarget& target, const CartRules& rules,
                   std::span<const std::uint32_t> rows, std::uint64_t tree_id, int threads) {
  const auto grow = [&]<class Kind>(const Kind& kind) {
    CodeEngine<Kind, BinColumns> engine(kind, rules, {table});
    return engine.grow(rows, tree_id, threads);
  };
  if (target.packed_bits > 0) return grow(PackedClasses{target});
  return visit_kind(target, grow);
}

CartTree grow_random_thresholds(const SortedColumns& table, const CartTarget& target,
                                const CartRules& rules, std::span<const std::uint32_t> rows,
                                std::uint64_t tree_id, int threads) {
  return visit_kind(target, [&]<class Kind>(const Kind& kind) {
    CodeEngine<Kind, RankColumns> engine(kind, rules, {table});
    return engine.grow(rows, tree_id, threads);
  });
}

}  // namespace hedgerow::cart
