// Bindings of random numbers and random parts.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "bind/reduction.hpp"
#include "shared/named.hpp"
#include "shared/random.hpp"
#include "table/random_parts.hpp"

namespace hedgerow::bind_random {

namespace nb = nanobind;
using namespace nb::literals;

// The purposes for which Python draws.
inline constexpr Named<Purpose> kPurposes[] = {{"bin_sample", Purpose::bin_sample},
                                               {"holdout", Purpose::holdout},
                                               {"fold", Purpose::fold},
                                               {"statistics_order", Purpose::statistics_order},
                                               {"member_seed", Purpose::member_seed}};

inline void bind(nb::module_& m) {
  m.def(
      "hashes",
      [](std::uint64_t seed, const std::string& purpose, std::uint64_t a, std::uint64_t first,
         std::size_t count) {
        const std::uint64_t key = hash_key(seed, value_named(kPurposes, purpose, "purpose"), a);
        std::vector<std::uint64_t> hashes(count);
        for (std::size_t i = 0; i < count; ++i) hashes[i] = hash_at(key, first + i);
        return to_numpy<std::uint64_t>(hashes);
      },
      "seed"_a, "purpose"_a, "a"_a, "first"_a, "count"_a,
      "The hashes of b = first, first + 1, …: random numbers of 64 bits.");
  m.def(
      "small_hashes",
      [](std::uint64_t seed, const std::string& purpose, std::uint64_t a, std::uint64_t first,
         std::size_t count, std::uint64_t largest) {
        const std::uint64_t key = hash_key(seed, value_named(kPurposes, purpose, "purpose"), a);
        std::vector<std::int64_t> places;
        std::vector<std::uint64_t> hashes;
        {
          GilReleased release;
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t hash = hash_at(key, first + i);
            if (hash > largest) continue;
            places.push_back(static_cast<std::int64_t>(i));
            hashes.push_back(hash);
          }
        }
        return nb::make_tuple(to_numpy<std::int64_t>(places), to_numpy<std::uint64_t>(hashes));
      },
      "seed"_a, "purpose"_a, "a"_a, "first"_a, "count"_a, "largest"_a,
      "The places, and the values, of those of these hashes that are at most `largest`.");
  m.def(
      "random_parts",
      [](In<std::uint64_t, 1> hashes, In<std::int64_t, 1> stratum, In<std::int64_t, 2> sizes,
         int threads, const nb::object& reduction) {
        require(stratum.size() == hashes.size(), "every row has a hash and a stratum");
        const std::span<const std::int64_t> all_sizes(sizes.data(), sizes.size());
        const bool is_size = std::ranges::all_of(all_sizes, [](auto size) { return size >= 0; });
        require(is_size && sizes.shape(1) > 0, "parts have sizes");
        const auto reduce = reduction_of(reduction);
        std::vector<std::int64_t> part(hashes.size());
        {
          GilReleased release;
          random_parts({hashes.data(), hashes.size()}, stratum.data(), all_sizes, sizes.shape(1),
                       part.data(), *reduce, threads);
        }
        return to_numpy<std::int64_t>(part);
      },
      "hashes"_a, "stratum"_a, "sizes"_a, "threads"_a = 1, "reduction"_a.none() = nb::none(),
      "The part of each row, if the strata are divided into parts of these sizes (n_strata, "
      "n_parts) by the order of hashes.");
}

}  // namespace hedgerow::bind_random
