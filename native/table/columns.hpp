// Tables: columns of any numeric type and stride, read in place.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

namespace hedgerow {

enum class ValueType : std::uint8_t {
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,  // and bool, which NumPy keeps as 0 or 1 in a byte
  uint16,
  uint32,
  uint64,
  category,  // int32 codes, -1 is missing
};

struct ColumnView {
  const std::byte* values;
  std::ptrdiff_t stride;     // bytes from a row to the next; any sign, zero too
  const std::byte* missing;  // a byte a row, nonzero where the value is missing; may be null
  std::ptrdiff_t missing_stride;
  ValueType type;
};

// A sparse table column by column (CSC): rows[starts[f] .. starts[f + 1]) hold feature f's stored
// values, each row at most once.
struct SparseView {
  const std::byte* values;
  ValueType type;
  const std::byte* rows;
  bool wide_rows;  // rows are int64 rather than int32
  std::span<const std::int64_t> starts;
  std::size_t n_rows;

  std::size_t row(std::int64_t entry) const {
    if (wide_rows)
      return static_cast<std::size_t>(reinterpret_cast<const std::int64_t*>(rows)[entry]);
    return static_cast<std::size_t>(reinterpret_cast<const std::int32_t*>(rows)[entry]);
  }
};

// A float16, which C++20 has no type for.
struct Half {
  std::uint16_t bits;

  explicit operator float() const {
    const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    // The exponent is too small by 127 - 15 for finite values, subnormal ones among them; infinity
    // and NaN have all its bits set.
    const std::uint32_t scaled =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    return std::bit_cast<float>(sign |
                                (magnitude >= 0x7c00u << 13 ? magnitude | 0x7f800000u : scaled));
  }
};

// The type in which values of T are compared: float if that represents every T exactly, else double
// (to which 64-bit integers are rounded, as in prediction).
template <class T>
using Real = std::conditional_t<std::is_same_v<T, float> || sizeof(T) <= 2, float, double>;

template <class T>
Real<T> load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<Real<T>>(value);
}

// Calls visitor(T{}) with the C++ type of a numeric column.
template <class Visitor>
decltype(auto) visit_type(ValueType type, Visitor&& visitor) {
  switch (type) {
    case ValueType::float16:
      return visitor(Half{});
    case ValueType::float64:
      return visitor(double{});
    case ValueType::int8:
      return visitor(std::int8_t{});
    case ValueType::int16:
      return visitor(std::int16_t{});
    case ValueType::int32:
      return visitor(std::int32_t{});
    case ValueType::int64:
      return visitor(std::int64_t{});
    case ValueType::uint8:
      return visitor(std::uint8_t{});
    case ValueType::uint16:
      return visitor(std::uint16_t{});
    case ValueType::uint32:
      return visitor(std::uint32_t{});
    case ValueType::uint64:
      return visitor(std::uint64_t{});
    default:
      return visitor(float{});
  }
}

inline std::size_t size_of(ValueType type) {
  if (type == ValueType::category) return sizeof(std::int32_t);
  return visit_type(type, [](auto zero) { return sizeof zero; });
}

// Whether a column is compared as float. (A column of categories is not compared at all.)
inline bool is_single(ValueType type) {
  return visit_type(type, [](auto zero) { return std::is_same_v<Real<decltype(zero)>, float>; });
}

// Whether the columns are adjacent within rows, as in a C-ordered array: then they are read row by
// row, so that a cache line is fetched once and not once per column.
inline bool interleaved(std::span<const ColumnView> columns) {
  const ColumnView& first = columns.front();
  if (columns.size() < 2 || first.stride == static_cast<std::ptrdiff_t>(size_of(first.type)))
    return false;
  for (const ColumnView& column : columns)
    if (column.type != first.type || column.stride != first.stride || column.missing ||
        column.type == ValueType::category)
      return false;
  return true;
}

// Copies the numeric columns' values at rows row_at(0 .. count) into out[column * pitch + i].
template <class T, class RowAt>
void load_interleaved(std::span<const ColumnView> columns, RowAt row_at, std::size_t count,
                      Real<T>* out, std::size_t pitch) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(row_at(i)) * columns.front().stride;
    for (std::size_t j = 0; j < columns.size(); ++j)
      out[j * pitch + i] = load<T>(columns[j].values + offset);
  }
}

// Copies one numeric column's values at rows row_at(0 .. count); a masked one becomes NaN.
template <class T, class RowAt>
void load_column(const ColumnView& column, RowAt row_at, std::size_t count, Real<T>* out) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = load<T>(column.values + static_cast<std::ptrdiff_t>(row_at(i)) * column.stride);
  if (!column.missing) return;
  for (std::size_t i = 0; i < count; ++i)
    if (column.missing[static_cast<std::ptrdiff_t>(row_at(i)) * column.missing_stride] !=
        std::byte{0})
      out[i] = std::numeric_limits<Real<T>>::quiet_NaN();
}

// Memory for the values of some columns, float or double, `pitch` bytes apart.
struct Slots {
  std::byte* start;
  std::size_t pitch;

  template <class R>
  R* column(std::size_t j) const {
    return reinterpret_cast<R*>(start + j * pitch);
  }
};

// Copies the columns' values at rows row_at(first .. end) into slots, from index `first` on;
// categories are skipped.
template <class RowAt>
void load_block(std::span<const ColumnView> columns, RowAt row_at, std::size_t first,
                std::size_t end, Slots out) {
  const auto row_after_first = [&](std::size_t i) { return row_at(first + i); };
  if (interleaved(columns)) {
    visit_type(columns.front().type, [&](auto zero) {
      using T = decltype(zero);
      load_interleaved<T>(columns, row_after_first, end - first, out.column<Real<T>>(0) + first,
                          out.pitch / sizeof(Real<T>));
    });
    return;
  }
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (columns[j].type != ValueType::category)
      visit_type(columns[j].type, [&](auto zero) {
        using T = decltype(zero);
        load_column<T>(columns[j], row_after_first, end - first, out.column<Real<T>>(j) + first);
      });
}

}  // namespace hedgerow
