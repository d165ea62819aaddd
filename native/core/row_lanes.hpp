// Sixteen rows side by side: a double, or a mask of all bits or none, for each of them. They are
// stored as vectors of the width of the instruction set, and every operation is elementwise, so
// that all levels compute the same bits.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/compiler.hpp"

namespace hedgerow::inline HEDGEROW_LEVEL {

inline constexpr std::size_t kRowLanes = 16;

namespace detail {
#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif
inline constexpr std::size_t kParts = kRowLanes * sizeof(double) / kVectorBytes;
using Doubles = double __attribute__((vector_size(kVectorBytes)));
using Bits = std::int64_t __attribute__((vector_size(kVectorBytes)));
inline constexpr std::size_t kRowsPerPart = kRowLanes / kParts;
}  // namespace detail

struct RowMasks {
  detail::Bits part[detail::kParts];

  static RowMasks all() {
    RowMasks masks;
    for (detail::Bits& part : masks.part) part = ~detail::Bits{};
    return masks;
  }
  void set(std::size_t row, bool is_set) {
    part[row / detail::kRowsPerPart][row % detail::kRowsPerPart] = -std::int64_t{is_set};
  }
  RowMasks operator&(const RowMasks& other) const {
    RowMasks masks;
    for (std::size_t p = 0; p < detail::kParts; ++p) masks.part[p] = part[p] & other.part[p];
    return masks;
  }
  RowMasks operator~() const {
    RowMasks masks;
    for (std::size_t p = 0; p < detail::kParts; ++p) masks.part[p] = ~part[p];
    return masks;
  }
};

struct RowDoubles {
  detail::Doubles part[detail::kParts];

  static RowDoubles all(double x) {
    RowDoubles rows;
    for (detail::Doubles& part : rows.part)
      for (std::size_t i = 0; i < detail::kRowsPerPart; ++i) part[i] = x;
    return rows;
  }
  static RowDoubles load(const double* from) {
    RowDoubles rows;
    for (std::size_t p = 0; p < detail::kParts; ++p)
      rows.part[p] = load_unaligned<detail::Doubles>(from + p * detail::kRowsPerPart);
    return rows;
  }
  // One of two numbers for each row.
  static RowDoubles select(const RowMasks& masks, double in, double out) {
    return select(masks, all(in), all(out));
  }
  static RowDoubles select(const RowMasks& masks, const RowDoubles& in, const RowDoubles& out) {
    RowDoubles rows;
    for (std::size_t p = 0; p < detail::kParts; ++p)
      rows.part[p] = masks.part[p] ? in.part[p] : out.part[p];
    return rows;
  }

  void store(double* to) const {
    for (std::size_t p = 0; p < detail::kParts; ++p)
      store_unaligned(to + p * detail::kRowsPerPart, part[p]);
  }
  double operator[](std::size_t row) const {
    return part[row / detail::kRowsPerPart][row % detail::kRowsPerPart];
  }

  RowDoubles operator+(const RowDoubles& other) const {
    RowDoubles rows;
    for (std::size_t p = 0; p < detail::kParts; ++p) rows.part[p] = part[p] + other.part[p];
    return rows;
  }
  RowDoubles operator*(const RowDoubles& other) const {
    RowDoubles rows;
    for (std::size_t p = 0; p < detail::kParts; ++p) rows.part[p] = part[p] * other.part[p];
    return rows;
  }
  RowMasks operator<=(double limit) const {
    const RowDoubles limits = all(limit);
    RowMasks masks;
    for (std::size_t p = 0; p < detail::kParts; ++p) masks.part[p] = part[p] <= limits.part[p];
    return masks;
  }
  RowMasks operator>(double limit) const {
    const RowDoubles limits = all(limit);
    RowMasks masks;
    for (std::size_t p = 0; p < detail::kParts; ++p) masks.part[p] = part[p] > limits.part[p];
    return masks;
  }
};

}  // namespace hedgerow::inline HEDGEROW_LEVEL
