#include "core/selection.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/threads.hpp"

namespace hedgerow {
namespace {

constexpr int kByteBits = 8;
constexpr std::size_t kByteValues = 256;
constexpr std::size_t kKeysPerThread = 16384;

std::size_t byte_of(std::uint64_t key, int shift) { return (key >> shift) % kByteValues; }

}  // namespace

std::vector<SelectedKey> select_keys(const std::vector<std::span<const WeightedKey>>& lists,
                                     std::span<const std::uint64_t> target,
                                     const Reduction& reduction, int threads) {
  std::size_t n_keys = 0;
  for (const std::span<const WeightedKey> list : lists) n_keys += list.size();
  const int team = threads_for(n_keys, kKeysPerThread, threads);
  std::vector<std::span<const WeightedKey>> candidates(lists);
  std::vector<std::vector<WeightedKey>> kept(lists.size());
  std::vector<SelectedKey> selected(lists.size());
  std::vector<std::uint64_t> weights(kByteValues * lists.size());
  for (int shift = 64 - kByteBits; shift >= 0; shift -= kByteBits) {
    std::fill(weights.begin(), weights.end(), 0);
    parallel_for(team, lists.size(), [&](std::size_t i) {
      std::uint64_t* by_byte = weights.data() + kByteValues * i;
      for (const WeightedKey& one : candidates[i]) by_byte[byte_of(one.key, shift)] += one.weight;
    });
    reduction.sum(weights);
    parallel_for(team, lists.size(), [&](std::size_t i) {
      if (target[i] == 0) return;
      const std::uint64_t* by_byte = weights.data() + kByteValues * i;
      std::size_t byte = 0;
      while (byte + 1 < kByteValues && selected[i].up_to + by_byte[byte] < target[i]) {
        selected[i].up_to += by_byte[byte++];
      }
      selected[i].key |= std::uint64_t{byte} << shift;
      if (shift == 0) {
        selected[i].up_to += by_byte[byte];
        return;
      }
      std::vector<WeightedKey> same;
      std::copy_if(candidates[i].begin(), candidates[i].end(), std::back_inserter(same),
                   [&](const WeightedKey& one) { return byte_of(one.key, shift) == byte; });
      kept[i] = std::move(same);
      candidates[i] = kept[i];
    });
  }
  return selected;
}

}  // namespace hedgerow
