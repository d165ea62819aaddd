// Sorting a column once, for growth on sorted columns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hedgerow {

inline constexpr std::uint32_t kMissingRank = 0xffffffffu;

// One column of any stride. Categories are bin numbers, 255 is missing; in floats NaN is.
struct RawColumn {
  enum class Type { float32, float64, category };
  const void* data;
  std::ptrdiff_t stride;  // in bytes
  Type type;

  // The value of a row, if the column holds floats.
  double number(std::size_t row) const {
    const auto* at =
        static_cast<const std::byte*>(data) + static_cast<std::ptrdiff_t>(row) * stride;
    if (type == Type::float32) return load<float>(at);
    return load<double>(at);
  }

 private:
  template <class T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
};

// Writes the rows sorted by value (equal values by row, missing values last), and for each the rank
// of its value among the distinct values, or kMissingRank. The rank of a category is its bin. There
// are fewer than 2^32 − 1 rows.
void presort(const RawColumn& column, std::size_t n_rows, std::uint32_t* rows,
             std::uint32_t* ranks);

}  // namespace hedgerow
