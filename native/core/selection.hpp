// Selection: in each of several lists, the first key at which the weight of all keys up to it
// reaches a target, such as the k-th smallest if weights are 1.
//
// The bytes of a key are found one after another: each is chosen from the total weights by that
// byte, over the keys that start with the bytes already found. These are sums of integers, so that
// the keys of a list may be spread over several workers.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/reduction.hpp"

namespace hedgerow {

struct WeightedKey {
  std::uint64_t key, weight;
};

struct SelectedKey {
  std::uint64_t key = 0;
  std::uint64_t up_to = 0;  // the weight of all keys up to and with it
};

// target[i] is positive and at most the weight of list i on all workers, or 0 for no selection.
// The weights of a list add up to less than 2^64.
std::vector<SelectedKey> select_keys(const std::vector<std::span<const WeightedKey>>& lists,
                                     std::span<const std::uint64_t> target,
                                     const Reduction& reduction, int threads);

}  // namespace hedgerow
