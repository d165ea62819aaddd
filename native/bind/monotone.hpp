// Bindings of monotonic constraints on grown trees.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bind/conversions.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::bind_monotone {

using Pairs =
    nb::ndarray<const std::int32_t, nb::numpy, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Sets =
    nb::ndarray<const std::uint32_t, nb::numpy, nb::shape<-1, 8>, nb::c_contig, nb::device::cpu>;

inline void bind(nb::module_& m) {
  m.def(
      "monotone_links",
      [](In<std::int32_t, 1> feature, In<double, 1> threshold, In<std::int32_t, 1> left,
         In<std::int32_t, 1> right, In<bool, 1> missing_left, In<std::int32_t, 1> category_set,
         Sets category_bits, In<std::int8_t, 1> directions) {
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
      [](Pairs pairs, In<double, 1> target, In<double, 1> weight) {
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
