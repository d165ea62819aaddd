// A tree grown on bins, as flat arrays: docs/architecture.md describes them.
#pragma once
#include <cstdint>
#include <vector>

namespace hedgerow::hist {

inline constexpr int kMaxLeaves = 65535;  // leaf numbers of rows are 16 bits wide

struct GrownTree {
  std::vector<std::int32_t> feature, left, right, category_set;
  std::vector<std::uint8_t> split_bin, missing_left;
  std::vector<double> value, gain, cover;  // a node may have several values, side by side
  std::vector<std::int64_t> count;
  std::vector<std::uint32_t> category_bits;  // eight words a set
  std::vector<std::int32_t> leaf_node;       // by leaf number, as `leaf_of_row` counts leaves

  int n_nodes() const { return static_cast<int>(feature.size()); }
};

}  // namespace hedgerow::hist
