// A tree of CART while it grows: the cut of a node, and how nodes and cuts are written down.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cart/cart.hpp"

namespace hedgerow::cart {

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

// Whether a score is better than the best so far, and not by rounding alone: of cuts that are as
// good as each other the first is made, whatever the order or the unit in which rows were added up.
inline bool beats(double score, double best) {
  constexpr double noise = 0x1p-36;
  return score > best * (best < 0.0 ? 1.0 - noise : 1.0 + noise);
}
inline constexpr double kEveryNumber = std::numeric_limits<double>::max();

// Which rows of a node go left.
struct Cut {
  double gain = 0.0;  // fall of the weighted impurity
  int feature = -1;
  bool missing_left = false;
  bool categorical = false;
  std::uint32_t categories[8] = {};  // a bit for each that goes left
  std::uint32_t last = 0;            // numeric: the largest code, as an engine numbers them, …
  double threshold = 0.0;            // … and number that goes left
  std::uint8_t split_bin = 0;        // numeric and of bins: the last bin that goes left

  bool found() const { return feature >= 0; }
  // Where a value goes that is not missing.
  bool takes(std::uint32_t code) const {
    return categorical ? categories[code >> 5] >> (code & 31) & 1 : code <= last;
  }
};

// A number from low up to, but not including, high: u of the way between them unless rounding says
// otherwise, so that no value changes sides.
inline double between(double low, double high, double u) {
  const double at = low * (1.0 - u) + high * u;  // so written, it does not overflow
  return low <= at && at < high ? at : low;
}

// Appends a node and gives its number; its values are left to be written.
int add_node(CartTree& tree, double weight, std::size_t count, int n_values);

void record_cut(CartTree& tree, int index, const Cut& cut);

// Puts grown[i] in the place of leaf places[i] of `top`. Places ascend; all trees are in preorder,
// and so is what comes out.
CartTree splice(const CartTree& top, std::span<const int> places, std::span<const CartTree> grown);

}  // namespace hedgerow::cart
