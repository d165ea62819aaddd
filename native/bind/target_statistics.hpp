// Bindings of target statistics.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <span>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "table/target_statistics.hpp"

namespace hedgerow::bind_target_statistics {

inline void bind(nb::module_& m) {
  m.def(
      "order_by_place",
      [](In<std::uint64_t, 1> places, int threads) {
        std::vector<std::int64_t> order(places.size());
        {
          GilReleased release;
          order_by_place({places.data(), places.size()}, order, threads);
        }
        return to_numpy<std::int64_t>(order);
      },
      "places"_a, "threads"_a, "The rows in increasing order of their places, random numbers.");
  m.def(
      "sums_before",
      [](In<std::int32_t, 1> codes, std::optional<In<std::int64_t, 1>> amount,
         In<std::uint64_t, 1> places, std::uint64_t window, Out<double, 1> sums,
         Out<std::int64_t, 1> totals) {
        std::span<const std::int64_t> amounts;
        if (amount) amounts = {amount->data(), amount->size()};
        GilReleased release;
        sums_before({codes.data(), codes.size()}, amounts, {places.data(), places.size()}, window,
                    {sums.data(), sums.size()}, {totals.data(), totals.size()});
      },
      "codes"_a, "amount"_a.none(), "places"_a, "window"_a, "sums"_a.noconvert(),
      "totals"_a.noconvert(),
      "Fills sums, for each row of a circle, with those of its category in the window before it.");
}

}  // namespace hedgerow::bind_target_statistics
