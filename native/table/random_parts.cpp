#include "table/random_parts.hpp"

#include <algorithm>
#include <vector>

#include "core/selection.hpp"

namespace hedgerow {

void random_parts(std::span<const std::uint64_t> hashes, const std::int64_t* stratum,
                  std::span<const std::int64_t> sizes, std::size_t n_parts, std::int64_t* part,
                  const Reduction& reduction, int threads) {
  const std::size_t n_strata = sizes.size() / n_parts;
  std::vector<std::vector<WeightedKey>> keys(n_strata);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    keys[static_cast<std::size_t>(stratum[i])].push_back({hashes[i], 1});
  }
  // The rank of the last row of each part but the last.
  std::vector<std::span<const WeightedKey>> lists;
  std::vector<std::uint64_t> ranks;
  for (std::size_t s = 0; s < n_strata; ++s) {
    std::uint64_t rank = 0;
    for (std::size_t p = 0; p + 1 < n_parts; ++p) {
      rank += static_cast<std::uint64_t>(sizes[s * n_parts + p]);
      ranks.push_back(rank);
      lists.emplace_back(keys[s]);
    }
  }
  const std::vector<SelectedKey> last = select_keys(lists, ranks, reduction, threads);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::size_t first = static_cast<std::size_t>(stratum[i]) * (n_parts - 1);
    part[i] = 0;
    for (std::size_t p = first; p < first + n_parts - 1; ++p) {
      part[i] += ranks[p] == 0 || hashes[i] > last[p].key;
    }
  }
}

}  // namespace hedgerow
