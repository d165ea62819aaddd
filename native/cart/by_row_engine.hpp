// The engine for small nodes with random thresholds, for two classes and rows of equal weight. It
// is apart from the other engines because it gains from wider vectors, and they do not.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "cart/codes.hpp"
#include "cart/grower.hpp"
#include "cart/kinds.hpp"

namespace hedgerow::cart {

class ByRowEngine {
 public:
  // Whether this engine can grow subtrees of a tree with these sums.
  static bool serves(const PackedClasses& kind, const CartTable& table, const Sums& sums) {
    return table.by_row && kind.weight(sums.data()) == static_cast<double>(kind.count(sums.data()));
  }

  ByRowEngine(const PackedClasses& kind, const CartRules& rules, const BinColumns& columns);
  ~ByRowEngine();

  CartTree grow(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> contributions,
                double root_weight, const CartNode& node, const Sums& sums);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace hedgerow::cart
