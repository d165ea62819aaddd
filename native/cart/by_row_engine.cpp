// The engine for small nodes with random thresholds, for two classes and rows of equal weight.
// Codes are stored row by row, followed by the class, and a split moves whole rows. One pass over a
// node's rows finds the smallest and the largest code of many features at once; another counts the
// rows on the left side of each random threshold.
#include "cart/by_row_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cart/candidate_search.hpp"
#include "cart/codes.hpp"

namespace hedgerow::cart {

class ByRowEngine::Implementation {
 public:
  static constexpr bool kGrowsSubtrees = false;

  Implementation(const PackedClasses& kind, const CartRules& rules, const BinColumns& columns)
      : kind_(kind),
        rules_(rules),
        columns_(columns),
        n_features_(static_cast<std::size_t>(columns.table.n_features)),
        stride_(columns.table.row_bytes),
        order_(columns.table.n_features, rules),
        totals_(kind, rules),
        search_(kind, rules),
        blocks_(stride_ / kLanes),
        left_(1) {}

  CartTree grow(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> contributions,
                double root_weight, CartNode node, const Sums& sums) {
    take_rows(ids, contributions);
    node.range = {0, ids.size()};
    return CartGrower<Implementation>(*this, kind_.target, rules_, root_weight, 1).grow(node, sums);
  }

  double weight(const std::uint64_t* sums) const { return kind_.weight(sums); }
  std::uint32_t first_row(const CartNode&) const { return 0; }
  bool is_pure(const CartNode& node, const std::uint64_t* sums) const {
    return kind_.is_pure({}, 0, node.range.size(), sums);
  }
  void values(const CartNode& node, const std::uint64_t* sums, double* out) const {
    write_values(kind_, {}, node.row, node.pure, sums, out);
  }

  CartSplit best_split(const CartNode& node, const std::uint64_t* sums) {
    draw_thresholds(node);
    count_left(node);
    totals_.start(sums);
    search_.start(totals_, {});
    for (std::size_t i = 0; i < candidates_.size(); ++i) push(i);
    search_.evaluate();
    if (!search_.found()) return {};
    const ThresholdCandidate& best = candidates_[search_.position() / 2];
    CartSplit split = split_at(columns_, best.feature, best.threshold);
    left_[0] = left_sums_of(search_.position());
    const auto on_left = static_cast<std::size_t>(kind_.count(left_.data()));
    split.missing_left =
        best.range.has_missing ? search_.position() % 2 == 1 : 2 * on_left >= node.range.size();
    split.gain = totals_.gain(search_.score());
    return split;
  }

  const Sums& left_sums() const { return left_; }

  std::size_t divide(const CartNode& node, const CartSplit& split) {
    return stride_ == kLanes ? divide<kLanes>(node, split, kLanes)
                             : divide<0>(node, split, stride_);
  }

  void finish_split(const CartNode&, const CartNode&, const CartNode&) {}

 private:
  static constexpr std::size_t kLanes = kRowAlignment;
  typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));
  static constexpr std::size_t kByteCounts = 255;  // rows that can be counted in bytes

  struct ThresholdCandidate {
    int feature;
    CodeThreshold threshold;
    CodeRange<std::uint8_t> range;
    std::uint64_t left, missing;  // sums
  };

  // Ranges and counts of the codes of kLanes features in the current node.
  struct Block {
    Bytes low, high, next_to_high;
    Bytes last;  // code on the left side of each threshold
    bool has_ranges, has_thresholds, has_missing;
    std::uint32_t left[kLanes], left_second[kLanes], missing[kLanes], missing_second[kLanes];
  };

  static Bytes load(const std::uint8_t* from) {
    Bytes bytes;
    std::memcpy(&bytes, from, kLanes);
    return bytes;
  }
  static void store(const Bytes& bytes, std::uint8_t* to) { std::memcpy(to, &bytes, kLanes); }
  static Bytes all(std::uint8_t byte) { return byte - Bytes{}; }

  // Swaps each row that goes left with the first that goes right; the order of rows is irrelevant
  // here. The number of bytes is a compile-time constant for the most common row size.
  template <std::size_t kBytes>
  std::size_t divide(const CartNode& node, const CartSplit& split, std::size_t bytes_of_row) {
    const std::size_t n_bytes = kBytes ? kBytes : bytes_of_row;
    const auto feature = static_cast<std::size_t>(split.feature);
    std::uint8_t* middle = row(node.range.begin);
    const std::uint8_t* end = row(node.range.end);
    for (std::uint8_t* at = middle; at < end; at += n_bytes) {
      const std::uint8_t code = at[feature];
      const bool left = (code <= split.last) | (split.missing_left & (code == kMissingBin));
      for (std::size_t b = 0; b < n_bytes; b += kLanes) {
        const Bytes here = load(at + b), there = load(middle + b);
        store(there, at + b);
        store(here, middle + b);
      }
      middle += left ? n_bytes : 0;
    }
    return static_cast<std::size_t>(middle - rows_.data()) / n_bytes;
  }

  std::uint8_t* row(std::size_t i) { return rows_.data() + i * stride_; }

  void take_rows(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> contributions) {
    rows_.resize(ids.size() * stride_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::copy_n(columns_.table.by_row + ids[i] * stride_, stride_, row(i));
      row(i)[n_features_] = kind_.amount(&contributions[i], 1) > 0.0 ? 0xff : 0;
    }
  }

  void draw_thresholds(const CartNode& node) {
    candidates_.clear();
    for (Block& block : blocks_)
      block.has_ranges = block.has_thresholds = block.has_missing = false;
    const std::uint64_t draws = threshold_draws(rules_, node.key);
    order_.visit(node.key, [&](int feature) {
      Block& block = blocks_[static_cast<std::size_t>(feature) / kLanes];
      const std::size_t lane = static_cast<std::size_t>(feature) % kLanes;
      if (!block.has_ranges) find_code_range(node, block);
      const CodeRange<std::uint8_t> range{block.low[lane],
                                          static_cast<std::uint8_t>(block.next_to_high[lane] - 1),
                                          block.high[lane] == kMissingBin};
      if (range.is_constant()) return true;
      const CodeThreshold threshold = draw_between(columns_, feature, range, draws);
      block.last[lane] = static_cast<std::uint8_t>(threshold.last);
      block.has_thresholds = true;
      block.has_missing |= range.has_missing;
      candidates_.push_back({feature, threshold, range, 0, 0});
      return false;
    });
  }

  void find_code_range(const CartNode& node, Block& block) {
    Bytes low = all(kMissingBin), high{}, next{};
    const std::size_t offset = offset_of(block);
    for (std::size_t i = node.range.begin; i < node.range.end; ++i) {
      const Bytes codes = load(row(i) + offset), above = codes + 1;  // missing ones wrap round to 0
      low = codes < low ? codes : low;
      high = codes > high ? codes : high;
      next = above > next ? above : next;
    }
    block.low = low;
    block.high = high;
    block.next_to_high = next;
    block.last = Bytes{};
    block.has_ranges = true;
  }

  std::size_t offset_of(const Block& block) const {
    return static_cast<std::size_t>(&block - blocks_.data()) * kLanes;
  }

  void count_left(const CartNode& node) {
    for (Block& block : blocks_) {
      if (!block.has_thresholds) continue;
      const Bytes last = block.last;
      count(
          node, block, [last](const Bytes& codes) { return codes <= last; }, block.left,
          block.left_second);
      if (!block.has_missing) continue;
      count(
          node, block, [](const Bytes& codes) { return codes == all(kMissingBin); }, block.missing,
          block.missing_second);
    }
    for (ThresholdCandidate& candidate : candidates_) {
      const auto feature = static_cast<std::size_t>(candidate.feature);
      const Block& block = blocks_[feature / kLanes];
      const std::size_t lane = feature % kLanes;
      candidate.left = sums_of(block.left[lane], block.left_second[lane]);
      if (!candidate.range.has_missing) continue;
      candidate.missing = sums_of(block.missing[lane], block.missing_second[lane]);
    }
  }

  // Counts the rows that pass a test in each lane, and those of the second class among them.
  template <class Test>
  void count(const CartNode& node, const Block& block, Test test, std::uint32_t* passed,
             std::uint32_t* passed_second) {
    std::fill_n(passed, kLanes, 0u);
    std::fill_n(passed_second, kLanes, 0u);
    const std::size_t offset = offset_of(block);
    for (std::size_t i = node.range.begin; i < node.range.end;) {
      const std::size_t end = std::min(i + kByteCounts, node.range.end);
      Bytes count{}, of_second{};
      for (; i < end; ++i) {
        const std::uint8_t* codes = row(i);
        const Bytes passes = reinterpret_cast<Bytes>(test(load(codes + offset)));  // 0 or 255
        count -= passes;
        of_second -= passes & all(codes[n_features_]);
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        passed[lane] += count[lane];
        passed_second[lane] += of_second[lane];
      }
    }
  }

  std::uint64_t sums_of(std::uint64_t count, std::uint64_t of_second) const {
    return count | of_second << kind_.bits | count << 2 * kind_.bits;
  }

  // Positions 2i and 2i + 1 are candidate i with missing values on the right and on the left.
  std::uint64_t left_sums_of(std::size_t position) const {
    const ThresholdCandidate& candidate = candidates_[position / 2];
    return position % 2 ? candidate.left + candidate.missing : candidate.left;
  }

  void push(std::size_t i) {
    const CodeRange<std::uint8_t>& range = candidates_[i].range;
    const std::size_t n_ways = range.has_missing && range.has_distinct_values() ? 2 : 1;
    for (std::size_t position = 2 * i; position < 2 * i + n_ways; ++position) {
      const std::uint64_t left = left_sums_of(position);
      search_.push(&left, static_cast<std::uint32_t>(position));
    }
  }

  PackedClasses kind_;
  const CartRules& rules_;
  BinColumns columns_;
  std::size_t n_features_, stride_;
  std::vector<std::uint8_t> rows_;
  FeatureOrder order_;
  NodeTotals<PackedClasses> totals_;
  CandidateSearch<PackedClasses> search_;
  std::vector<Block> blocks_;
  std::vector<ThresholdCandidate> candidates_;
  Sums left_;
};

ByRowEngine::ByRowEngine(const PackedClasses& kind, const CartRules& rules,
                         const BinColumns& columns)
    : implementation_(std::make_unique<Implementation>(kind, rules, columns)) {}

ByRowEngine::~ByRowEngine() = default;

CartTree ByRowEngine::grow(std::span<const std::uint32_t> ids,
                           std::span<const std::uint64_t> contributions, double root_weight,
                           const CartNode& node, const Sums& sums) {
  return implementation_->grow(ids, contributions, root_weight, node, sums);
}

}  // namespace hedgerow::cart
