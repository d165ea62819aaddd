// The kinds of targets, classes and numbers: how rows are summed, and how sums are read.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "cart/cart.hpp"

namespace hedgerow::cart {

// The targets of all rows of the table, or of a copy of some rows.
struct TargetRows {
  const std::uint64_t* fixed_weight;
  const std::uint16_t* label;
  const std::int64_t* numbers;
  const double* raw;
};

inline TargetRows rows_of(const CartTarget& target) {
  return {target.fixed_weight, target.label, target.numbers, target.raw};
}

// A copy of a small node's targets, which stays in the cache while its subtree grows.
class TargetCopy {
 public:
  TargetRows take(const TargetRows& from, std::span<const std::uint32_t> ids, int n_values) {
    const auto width = static_cast<std::size_t>(n_values);
    copy(from.fixed_weight, ids, 1, fixed_weight_);
    copy(from.label, ids, 1, label_);
    copy(from.numbers, ids, width, numbers_);
    copy(from.raw, ids, width, raw_);
    return {fixed_weight_.data(), label_.data(), numbers_.data(), raw_.data()};
  }

 private:
  template <class T>
  static void copy(const T* from, std::span<const std::uint32_t> ids, std::size_t width,
                   std::vector<T>& into) {
    if (!from) return;
    into.resize(ids.size() * width);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::copy_n(from + ids[i] * width, width, into.data() + i * width);
    }
  }

  std::vector<std::uint64_t> fixed_weight_;
  std::vector<std::uint16_t> label_;
  std::vector<std::int64_t> numbers_;
  std::vector<double> raw_;
};

// All kinds have the same members. Sums are n_words() words; kWords is this number if it is known
// at compile time, else 0. Sums of many candidates are stored word by word, `stride` words apart.
// Weights and amounts are in fixed-point units, amounts of numbers in the unit of the coarsest
// output.
//
// A contribution is what a row adds to sums. Engines that reorder rows reorder contributions with
// them.
//
// Classes: a sum of weights per class.
template <int kClasses>
struct Classes {
  static constexpr int kWords = kClasses;
  static constexpr int kFirstTerm = kClasses == 2 ? 1 : 0;  // one class of two is enough
  static constexpr int kTerms = kClasses == 2 ? 1 : 0;      // 0: not known at compile time
  static constexpr bool kHasNumbers = false;
  struct Contribution {
    std::uint64_t fixed_weight, label;
  };
  const CartTarget& target;

  int n_words() const { return kClasses ? kClasses : target.n_values; }
  int n_values() const { return n_words(); }
  Contribution contribution(const TargetRows& rows, std::uint32_t row) const {
    return {rows.fixed_weight[row], rows.label[row]};
  }
  void add(const Contribution& contribution, std::uint64_t* sums) const {
    sums[contribution.label] += contribution.fixed_weight;
  }
  // Adds where `mask` is all ones, nothing where it is 0; fast if the sums are in registers.
  void add_masked(const Contribution& contribution, std::uint64_t mask, std::uint64_t* sums) const {
    const std::uint64_t fixed_weight = contribution.fixed_weight & mask;
    if constexpr (kClasses == 2) {
      const std::uint64_t of_second = fixed_weight & (std::uint64_t{0} - contribution.label);
      sums[0] += fixed_weight - of_second;
      sums[1] += of_second;
    } else {
      sums[contribution.label] += fixed_weight;
    }
  }
  double weight(const std::uint64_t* sums, std::size_t stride = 1) const {
    return target.weights.weight(all(sums, stride));
  }
  std::int64_t count(const std::uint64_t* sums, std::size_t stride = 1) const {
    return target.weights.count(all(sums, stride));
  }
  std::int64_t units(const std::uint64_t* sums, int k, std::size_t stride = 1) const {
    return target.weights.units(sums[static_cast<std::size_t>(k) * stride]);
  }
  double amount(const std::uint64_t* sums, int k, std::size_t stride = 1) const {
    return static_cast<double>(units(sums, k, stride));
  }
  double value(const std::uint64_t* sums, int k, double weight) const {
    return amount(sums, k) * target.weights.weight_unit / weight;
  }
  template <class RowAt>
  bool is_pure(const TargetRows&, RowAt, std::size_t, const std::uint64_t* sums) const {
    return std::count(sums, sums + n_words(), std::uint64_t{0}) >= n_words() - 1;
  }

 private:
  std::uint64_t all(const std::uint64_t* sums, std::size_t stride) const {
    std::uint64_t sum = 0;
    for (int k = 0; k < n_words(); ++k) sum += sums[static_cast<std::size_t>(k) * stride];
    return sum;
  }
};

// Two classes with small integer weights, as in a bootstrap sample: one word holds the weight,
// above it the weight of the second class, and above that the count.
struct PackedClasses {
  static constexpr int kWords = 1;
  static constexpr int kFirstTerm = 1, kTerms = 1;
  static constexpr bool kHasNumbers = false;
  using Contribution = std::uint64_t;
  const CartTarget& target;
  const int bits = target.packed_bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;

  int n_words() const { return 1; }
  int n_values() const { return 2; }
  Contribution contribution(const TargetRows& rows, std::uint32_t row) const {
    const auto weight = static_cast<std::uint64_t>(target.weights.weight(rows.fixed_weight[row]));
    return weight | weight * rows.label[row] << bits | std::uint64_t{1} << 2 * bits;
  }
  void add(Contribution contribution, std::uint64_t* sums) const { *sums += contribution; }
  void add_masked(Contribution contribution, std::uint64_t mask_of_row, std::uint64_t* sums) const {
    *sums += contribution & mask_of_row;
  }
  double weight(const std::uint64_t* sums, std::size_t = 1) const { return number(*sums & mask); }
  std::int64_t count(const std::uint64_t* sums, std::size_t = 1) const {
    return static_cast<std::int64_t>(*sums >> 2 * bits);
  }
  std::int64_t units(const std::uint64_t* sums, int k, std::size_t = 1) const {
    const std::uint64_t of_second = *sums >> bits & mask;
    return static_cast<std::int64_t>(k == 1 ? of_second : (*sums & mask) - of_second);
  }
  double amount(const std::uint64_t* sums, int k, std::size_t = 1) const {
    const double of_second = number(*sums >> bits & mask);
    return k == 1 ? of_second : weight(sums) - of_second;
  }
  double value(const std::uint64_t* sums, int k, double weight) const {
    return amount(sums, k) / weight;
  }
  template <class RowAt>
  bool is_pure(const TargetRows&, RowAt, std::size_t, const std::uint64_t* sums) const {
    return amount(sums, 0) == 0.0 || amount(sums, 1) == 0.0;
  }

 private:
  static double number(std::uint64_t field) { return static_cast<std::int32_t>(field); }
};

// Numbers: a sum per number, and the sum of weights last.
template <int kNumbers>
struct Numbers {
  static constexpr int kWords = kNumbers ? kNumbers + 1 : 0;
  static constexpr int kFirstTerm = 0, kTerms = kNumbers;
  static constexpr bool kHasNumbers = true;
  struct One {
    std::int64_t number;
    std::uint64_t fixed_weight;
    const std::int64_t* numbers() const { return &number; }
  };
  struct Many {
    const std::int64_t* first;
    std::uint64_t fixed_weight;
    const std::int64_t* numbers() const { return first; }
  };
  using Contribution = std::conditional_t<kNumbers == 1, One, Many>;
  const CartTarget& target;

  int n_values() const { return kNumbers ? kNumbers : target.n_values; }
  int n_words() const { return n_values() + 1; }
  Contribution contribution(const TargetRows& rows, std::uint32_t row) const {
    const std::int64_t* first = rows.numbers + static_cast<std::size_t>(row) * width();
    if constexpr (kNumbers == 1) {
      return {*first, rows.fixed_weight[row]};
    } else {
      return {first, rows.fixed_weight[row]};
    }
  }
  void add(const Contribution& contribution, std::uint64_t* sums) const {
    add_masked(contribution, ~std::uint64_t{0}, sums);
  }
  void add_masked(const Contribution& contribution, std::uint64_t mask, std::uint64_t* sums) const {
    const std::int64_t* number = contribution.numbers();
    for (int v = 0; v < n_values(); ++v) sums[v] += static_cast<std::uint64_t>(number[v]) & mask;
    sums[n_values()] += contribution.fixed_weight & mask;
  }
  double weight(const std::uint64_t* sums, std::size_t stride = 1) const {
    return target.weights.weight(sums[width() * stride]);
  }
  std::int64_t count(const std::uint64_t* sums, std::size_t stride = 1) const {
    return target.weights.count(sums[width() * stride]);
  }
  double amount(const std::uint64_t* sums, int v, std::size_t stride = 1) const {
    const std::uint64_t word = sums[static_cast<std::size_t>(v) * stride];
    return static_cast<double>(static_cast<std::int64_t>(word)) * target.number_scale[v];
  }
  double value(const std::uint64_t* sums, int v, double weight) const {
    const auto number = static_cast<double>(static_cast<std::int64_t>(sums[v]));
    return target.offset[v] + number * target.number_unit[v] / weight;
  }
  template <class RowAt>
  bool is_pure(const TargetRows& rows, RowAt row_at, std::size_t n, const std::uint64_t*) const {
    const double* first = rows.raw + row_at(0) * width();
    for (std::size_t i = 1; i < n; ++i) {
      if (!std::equal(first, first + width(), rows.raw + row_at(i) * width())) return false;
    }
    return true;
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(n_values()); }
};

// Adds up contribution_at(i) for i < n where mask_at(i) is all ones; rows with mask 0 are skipped.
template <class Kind, class ContributionAt, class MaskAt>
void add_up(const Kind& kind, std::size_t n, ContributionAt contribution_at, MaskAt mask_at,
            std::uint64_t* sums) {
  std::fill_n(sums, kind.n_words(), 0);
  std::size_t i = 0;
  if constexpr (Kind::kWords > 0) {
    constexpr std::size_t kLanes = 8;
    std::uint64_t of_lane[kLanes][Kind::kWords] = {};
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        kind.add_masked(contribution_at(i + lane), mask_at(i + lane), of_lane[lane]);
      }
    }
    for (const auto& lane : of_lane) {
      for (int w = 0; w < Kind::kWords; ++w) sums[w] += lane[w];
    }
  }
  for (; i < n; ++i) kind.add_masked(contribution_at(i), mask_at(i), sums);
}

inline constexpr auto kEveryRow = [](std::size_t) { return ~std::uint64_t{0}; };

// The prediction of a node as a leaf. In a pure node it is the number of `row`, to the last bit.
template <class Kind>
void write_values(const Kind& kind, const TargetRows& rows, std::uint32_t row, bool pure,
                  const std::uint64_t* sums, double* values) {
  if (pure && rows.raw) {
    const auto width = static_cast<std::size_t>(kind.n_values());
    std::copy_n(rows.raw + row * width, width, values);
    return;
  }
  const double weight = kind.weight(sums) * kind.target.weights.weight_unit;
  for (int v = 0; v < kind.n_values(); ++v) values[v] = kind.value(sums, v, weight);
}

// Calls visitor(kind) with the kind of a target.
template <class Visitor>
auto visit_kind(const CartTarget& target, Visitor&& visitor) {
  if (target.has_classes() && target.n_values == 2) return visitor(Classes<2>{target});
  if (target.has_classes()) return visitor(Classes<0>{target});
  if (target.n_values == 1) return visitor(Numbers<1>{target});
  return visitor(Numbers<0>{target});
}

}  // namespace hedgerow::cart
