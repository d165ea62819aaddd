// The two kinds of target, classes and numbers: how the engines of CART add up rows, and what the
// sums say.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cart.hpp"

namespace hedgerow::cart {

// What rows have to learn: all rows of the table, or a copy of some.
struct TargetRows {
  const std::uint64_t* ticket;
  const std::uint16_t* label;
  const std::int64_t* numbers;
  const double* raw;
};

inline TargetRows rows_of(const CartTarget& target) {
  return {target.ticket, target.label, target.numbers, target.raw};
}

// A copy of a small node's rows, which stays in the cache while its subtree grows.
class TargetCopy {
 public:
  TargetRows take(const TargetRows& from, std::span<const std::uint32_t> ids, int n_values) {
    const auto width = static_cast<std::size_t>(n_values);
    copy(from.ticket, ids, 1, ticket_);
    copy(from.label, ids, 1, label_);
    copy(from.numbers, ids, width, numbers_);
    copy(from.raw, ids, width, raw_);
    return {ticket_.data(), label_.data(), numbers_.data(), raw_.data()};
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

  std::vector<std::uint64_t> ticket_;
  std::vector<std::uint16_t> label_;
  std::vector<std::int64_t> numbers_;
  std::vector<double> raw_;
};

// Both kinds have these members. Sums are n_words() words; kWords is their number if it is known
// when this is compiled, else 0. Amounts are in units of tickets, or of the coarsest number.
//
// Classes: a sum of tickets for each class.
template <int kClasses>
struct Classes {
  static constexpr int kWords = kClasses;
  static constexpr int kFirstTerm = kClasses == 2 ? 1 : 0;  // of two classes one tells all
  const CartTarget& target;

  int n_words() const { return kClasses ? kClasses : target.n_values; }
  int n_values() const { return n_words(); }
  void add(const TargetRows& rows, std::uint32_t row, std::uint64_t* sums) const {
    sums[rows.label[row]] += rows.ticket[row];
  }
  // The same where `mask` is all ones, nothing where it is 0; quick if the sums are in registers.
  void add_masked(const TargetRows& rows, std::uint32_t row, std::uint64_t mask,
                  std::uint64_t* sums) const {
    const std::uint64_t ticket = rows.ticket[row] & mask;
    if constexpr (kClasses == 2) {
      const std::uint64_t of_second = ticket & (std::uint64_t{0} - rows.label[row]);
      sums[0] += ticket - of_second;
      sums[1] += of_second;
    } else {
      sums[rows.label[row]] += ticket;
    }
  }
  // Sums are stride words apart here: those of many cuts are kept word by word.
  std::uint64_t tickets(const std::uint64_t* sums, std::size_t stride = 1) const {
    std::uint64_t sum = 0;
    for (int k = 0; k < n_words(); ++k) sum += sums[static_cast<std::size_t>(k) * stride];
    return sum;
  }
  double amount(std::uint64_t word, int) const { return target.tickets.weight(word); }
  double value(const std::uint64_t* sums, int k, double weight) const {
    return target.tickets.weight(sums[k]) * target.tickets.weight_unit / weight;
  }
  template <class RowAt>
  bool is_pure(const TargetRows&, RowAt, std::size_t, const std::uint64_t* sums) const {
    return std::count(sums, sums + n_words(), std::uint64_t{0}) >= n_words() - 1;
  }
};

// Numbers: a sum for each of them, and the tickets last.
template <int kNumbers>
struct Numbers {
  static constexpr int kWords = kNumbers ? kNumbers + 1 : 0;
  static constexpr int kFirstTerm = 0;
  const CartTarget& target;

  int n_values() const { return kNumbers ? kNumbers : target.n_values; }
  int n_words() const { return n_values() + 1; }
  void add(const TargetRows& rows, std::uint32_t row, std::uint64_t* sums) const {
    add_masked(rows, row, ~std::uint64_t{0}, sums);
  }
  void add_masked(const TargetRows& rows, std::uint32_t row, std::uint64_t mask,
                  std::uint64_t* sums) const {
    const std::int64_t* number = rows.numbers + static_cast<std::size_t>(row) * n_values();
    for (int v = 0; v < n_values(); ++v) sums[v] += static_cast<std::uint64_t>(number[v]) & mask;
    sums[n_values()] += rows.ticket[row] & mask;
  }
  std::uint64_t tickets(const std::uint64_t* sums, std::size_t stride = 1) const {
    return sums[static_cast<std::size_t>(n_values()) * stride];
  }
  double amount(std::uint64_t word, int v) const {
    const auto number = static_cast<double>(static_cast<std::int64_t>(word));
    return number * target.number_scale[v];
  }
  double value(const std::uint64_t* sums, int v, double weight) const {
    const auto number = static_cast<double>(static_cast<std::int64_t>(sums[v]));
    return target.offset[v] + number * target.number_unit[v] / weight;
  }
  template <class RowAt>
  bool is_pure(const TargetRows& rows, RowAt row_at, std::size_t n, const std::uint64_t*) const {
    const auto width = static_cast<std::size_t>(n_values());
    const double* first = rows.raw + row_at(0) * width;
    for (std::size_t i = 1; i < n; ++i) {
      if (!std::equal(first, first + width, rows.raw + row_at(i) * width)) return false;
    }
    return true;
  }
};

// Adds up row_at(i) for i < n where mask_at(i, row) is all ones; where it is 0, the row is left
// out.
template <class Kind, class RowAt, class MaskAt>
void add_up(const Kind& kind, const TargetRows& rows, std::size_t n, RowAt row_at, MaskAt mask_at,
            std::uint64_t* sums) {
  const auto add_to = [&](std::uint64_t* into) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t row = row_at(i);
      kind.add_masked(rows, row, mask_at(i, row), into);
    }
  };
  std::fill_n(sums, kind.n_words(), 0);
  if constexpr (Kind::kWords > 0) {
    std::uint64_t in_registers[Kind::kWords] = {};
    add_to(in_registers);
    std::copy_n(in_registers, Kind::kWords, sums);
  } else {
    add_to(sums);
  }
}

inline constexpr auto kEveryRow = [](std::size_t, std::uint32_t) { return ~std::uint64_t{0}; };

// What a node predicts as a leaf. If all its rows have the same number as `row`, it is that one to
// the last bit.
template <class Kind>
void write_values(const Kind& kind, const TargetRows& rows, std::uint32_t row, bool pure,
                  const std::uint64_t* sums, double* values) {
  if (pure && rows.raw) {
    const auto width = static_cast<std::size_t>(kind.n_values());
    std::copy_n(rows.raw + row * width, width, values);
    return;
  }
  const Tickets& tickets = kind.target.tickets;
  const double weight = tickets.weight(kind.tickets(sums)) * tickets.weight_unit;
  for (int v = 0; v < kind.n_values(); ++v) values[v] = kind.value(sums, v, weight);
}

// Whether both sides of a cut of n rows have as many of them as a leaf must.
template <class Kind>
bool leaves_enough(const Kind& kind, const CartRules& rules, const std::uint64_t* left,
                   std::size_t n) {
  const std::int64_t on_left = kind.target.tickets.count(kind.tickets(left));
  return std::min(on_left, static_cast<std::int64_t>(n) - on_left) >= rules.min_samples_leaf;
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
