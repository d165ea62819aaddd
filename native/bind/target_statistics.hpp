// Bindings of target statistics.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <span>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "table/target_statistics.hpp"

namespace hedgerow::bind_target_statistics {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void bind(nb::module_& m) {
  m.def(
      "sums_before",
      [](Array<const std::int32_t> codes, std::optional<Array<const std::int64_t>> amount,
         std::size_t window, Array<double> sums, Array<std::int64_t> totals) {
        std::span<const std::int64_t> amounts;
        if (amount) amounts = {amount->data(), amount->size()};
        GilReleased release;
        sums_before({codes.data(), codes.size()}, amounts, window, {sums.data(), sums.size()},
                    {totals.data(), totals.size()});
      },
      "codes"_a, "amount"_a.none(), "window"_a, "sums"_a.noconvert(), "totals"_a.noconvert(),
      "Fills sums, for each row of a circle, with those of its category in the window before it.");
}

}  // namespace hedgerow::bind_target_statistics
