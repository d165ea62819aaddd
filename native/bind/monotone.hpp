// Bindings of monotonic constraints on grown trees.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "tree/monotone.hpp"

namespace hedgerow::bind_monotone {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs =
    nb::ndarray<const std::int32_t, nb::numpy, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Sets =
    nb::ndarray<const std::uint32_t, nb::numpy, nb::shape<-1, 8>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Vector<T>& array) {
  return {array.data(), array.size()};
}

inline void bind(nb::module_& m) {
  m.def(
      "monotone_links",
      [](Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> left,
         Vector<std::int32_t> right, Vector<bool> missing_left, Vector<std::int32_t> category_set,
         Sets category_bits, Vector<std::int8_t> directions) {
        const TreeSplits tree = {span_of(feature),
                                 span_of(left),
                                 span_of(right),
                                 span_of(category_set),
                                 span_of(threshold),
                                 span_of(missing_left),
                                 {category_bits.data(), category_bits.size()}};
        std::vector<std::int32_t> pairs;
        for (const Link& link : monotone_links(tree, span_of(directions))) {
          pairs.insert(pairs.end(), {link.lower, link.upper});
        }
        return to_numpy<std::int32_t>(pairs, {pairs.size() / 2, 2});
      },
      "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "category_set"_a,
      "category_bits"_a, "directions"_a,
      "The (lower, upper) leaves of a tree whose values must be in this order.");
  m.def(
      "isotonic",
      [](Pairs pairs, Vector<double> target, Vector<double> weight) {
        if (target.size() != weight.size()) {
          throw std::invalid_argument("there must be one weight for each target");
        }
        std::vector<Link> links;
        for (std::size_t i = 0; i < pairs.shape(0); ++i) {
          links.push_back({pairs(i, 0), pairs(i, 1)});
          const auto [first, last] = std::minmax(links.back().lower, links.back().upper);
          if (first < 0 || static_cast<std::size_t>(last) >= target.size()) {
            throw std::out_of_range("a link leads to no target");
          }
        }
        return to_numpy<double>(isotonic(links, span_of(target), span_of(weight)));
      },
      "links"_a, "target"_a, "weight"_a,
      "The values nearest to the targets that do not fall from the first to the second of a link.");
}

}  // namespace hedgerow::bind_monotone
