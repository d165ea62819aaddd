// The engine of small nodes whose cuts are drawn at random, if there are two classes and rows that
// weigh the same: apart from the others, because it gains from wider vectors and they do not.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "cart/codes.hpp"
#include "cart/growth.hpp"
#include "cart/kinds.hpp"

namespace hedgerow::cart {

class ByRowEngine {
 public:
  // Whether this engine can take over nodes of a tree with these sums.
  static bool serves(const PackedClasses& kind, const CartTable& table, const Sums& sums) {
    return table.by_row && kind.weight(sums.data()) == static_cast<double>(kind.count(sums.data()));
  }

  ByRowEngine(const PackedClasses& kind, const CartRules& rules, const Bins& columns);
  ~ByRowEngine();

  CartTree grow(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> loads,
                double root_weight, const Node& node, const Sums& sums);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace hedgerow::cart
