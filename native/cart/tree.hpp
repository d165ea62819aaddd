// A CART tree during growth: the split of a node, and how nodes and splits are recorded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cart/cart.hpp"

namespace hedgerow::cart {

inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();

// Whether a score exceeds the best so far by more than rounding: among equally good splits the
// first wins, whatever the order or the unit in which rows were added up.
inline bool beats(double score, double best) {
  constexpr double kNoise = 0x1p-36;
  return score > best * (best < 0.0 ? 1.0 - kNoise : 1.0 + kNoise);
}
inline constexpr double kEveryNumber = std::numeric_limits<double>::max();

// The score of a split, and a second one that decides where the first is equal. Nothing is equal to
// no score.
struct Score {
  double value = kNoScore;
  double tie = std::numeric_limits<double>::infinity();
};

inline bool beats(const Score& score, const Score& best) {
  if (beats(score.value, best.value)) return true;
  return !beats(best.value, score.value) && beats(score.tie, best.tie);
}

// Which rows of a node go left.
struct CartSplit {
  double gain = 0.0;  // decrease of the weighted impurity
  int feature = -1;
  bool missing_left = false;
  bool categorical = false;
  std::uint32_t categories[8] = {};  // a bit for each category that goes left
  std::uint32_t last = 0;            // numeric: the last code, in the engine's numbering,
  double threshold = 0.0;            // and the largest number that go left
  std::uint8_t split_bin = 0;        // numeric, on bins: the last bin that goes left

  bool found() const { return feature >= 0; }
  // Whether a value that is not missing goes left.
  bool takes(std::uint32_t code) const {
    return categorical ? categories[code >> 5] >> (code & 31) & 1 : code <= last;
  }
};

// A number in [low, high) at fraction u of the way, whatever is rounded: no value changes sides.
inline double between(double low, double high, double u) {
  const double at = low * (1.0 - u) + high * u;  // this form does not overflow
  return low <= at && at < high ? at : low;
}

// Appends a node and returns its index; its values are written later.
int add_node(CartTree& tree, double weight, std::size_t count, int n_values);

void record_split(CartTree& tree, int index, const CartSplit& split);

// Replaces leaf places[i] of `top` by subtree grown[i]. `places` is increasing; all trees are in
// preorder, and so is the result.
CartTree splice(const CartTree& top, std::span<const int> places, std::span<const CartTree> grown);

}  // namespace hedgerow::cart
