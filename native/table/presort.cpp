// A radix sort of (key, row) pairs: keys are the bits of values, mapped so that they compare as
// integers.
#include "table/presort.hpp"

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "core/interrupt.hpp"

namespace hedgerow {
namespace {

constexpr int kDigitBits = 11;  // three passes over a float32, and the counts fit the L1 cache
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

template <class Key>
struct Entry {
  Key key;
  std::uint32_t row;
};

template <class Value>
Value value_at(const RawColumn& column, std::size_t row) {
  Value value;
  const auto* bytes = static_cast<const unsigned char*>(column.data);
  std::memcpy(&value, bytes + static_cast<std::ptrdiff_t>(row) * column.stride, sizeof(Value));
  return value;
}

// Bits in the order of the values: all are flipped for negative numbers, else only the sign.
template <class Key, class Float>
Key ordered_bits(Float value) {
  const Key bits = std::bit_cast<Key>(value + Float{0});  // adding zero makes -0 and 0 one value
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  return bits & sign ? ~bits : bits | sign;
}

template <class Key>
bool sort_by_digit(const std::vector<Entry<Key>>& from, std::vector<Entry<Key>>& to, int shift) {
  std::size_t start[kDigits + 1] = {};
  const auto digit = [shift](const Entry<Key>& e) { return (e.key >> shift) & (kDigits - 1); };
  for (const Entry<Key>& entry : from) ++start[digit(entry) + 1];
  if (start[digit(from.front()) + 1] == from.size()) return false;  // all equal: nothing to move
  for (std::size_t d = 0; d < kDigits; ++d) start[d + 1] += start[d];
  for (const Entry<Key>& entry : from) to[start[digit(entry)]++] = entry;
  return true;
}

template <class Key>
void sort_entries(std::vector<Entry<Key>>& entries) {
  if (entries.empty()) return;
  std::vector<Entry<Key>> other(entries.size());
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += kDigitBits) {
    check_interrupt();
    if (sort_by_digit(entries, other, shift)) std::swap(entries, other);
  }
}

template <class Float, class Key>
void presort_floats(const RawColumn& column, std::size_t n_rows, std::uint32_t* rows,
                    std::uint32_t* ranks) {
  std::vector<Entry<Key>> entries;
  entries.reserve(n_rows);
  std::size_t missing = n_rows;  // written from the back
  for (std::size_t row = n_rows; row-- > 0;) {
    const Float value = value_at<Float>(column, row);
    if (value == value) continue;
    rows[--missing] = static_cast<std::uint32_t>(row);
    ranks[missing] = kMissingRank;
  }
  for (std::size_t row = 0; row < n_rows; ++row) {
    const Float value = value_at<Float>(column, row);
    if (value == value) {
      entries.push_back({ordered_bits<Key>(value), static_cast<std::uint32_t>(row)});
    }
  }
  sort_entries(entries);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    rank += i > 0 && entries[i].key != entries[i - 1].key;
    rows[i] = entries[i].row;
    ranks[i] = rank;
  }
}

void presort_categories(const RawColumn& column, std::size_t n_rows, std::uint32_t* rows,
                        std::uint32_t* ranks) {
  std::size_t start[257] = {};
  for (std::size_t row = 0; row < n_rows; ++row) ++start[value_at<std::uint8_t>(column, row) + 1];
  for (int bin = 0; bin < 256; ++bin) start[bin + 1] += start[bin];
  for (std::size_t row = 0; row < n_rows; ++row) {
    const std::uint8_t bin = value_at<std::uint8_t>(column, row);
    const std::size_t to = start[bin]++;
    rows[to] = static_cast<std::uint32_t>(row);
    ranks[to] = bin == 255 ? kMissingRank : bin;
  }
}

}  // namespace

void presort(const RawColumn& column, std::size_t n_rows, std::uint32_t* rows,
             std::uint32_t* ranks) {
  switch (column.type) {
    case RawColumn::Type::float32:
      return presort_floats<float, std::uint32_t>(column, n_rows, rows, ranks);
    case RawColumn::Type::float64:
      return presort_floats<double, std::uint64_t>(column, n_rows, rows, ranks);
    case RawColumn::Type::category:
      return presort_categories(column, n_rows, rows, ranks);
  }
}

}  // namespace hedgerow
