// Bindings of learning to rank.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "gradient/ranking.hpp"

namespace hedgerow::bind_ranking {

inline void bind(nb::module_& m) {
  m.def(
      "rank_discounts", [](std::size_t count) { return to_numpy<double>(rank_discounts(count)); },
      "count"_a, "The discounts of the ranks, first to last.");
  m.def(
      "rank_gradients",
      [](const std::string& loss, double sigma, std::size_t truncation, bool normalise,
         In<std::uint32_t, 1> row, In<std::int64_t, 1> start, In<double, 1> gain,
         In<double, 1> scale, In<double, 1> weight, In<double, 1> score, Out<double, 1> g,
         Out<double, 1> h, int threads) {
        const std::size_t n = row.size();
        if (gain.size() != n || score.size() != n || g.size() != n || h.size() != n ||
            start.size() != scale.size() + 1 || weight.size() != scale.size()) {
          throw std::invalid_argument("arrays of rows, or of queries, differ in length");
        }
        const Queries queries{{row.data(), n},
                              {start.data(), start.size()},
                              gain.data(),
                              scale.data(),
                              weight.data()};
        const RankRule rule{value_named(kRankLosses, loss, "ranking loss"), sigma, truncation,
                            normalise};
        GilReleased release;
        rank_gradients(queries, rule, score.data(), g.data(), h.data(), threads);
      },
      "loss"_a, "sigma"_a, "truncation"_a, "normalise"_a, "row"_a, "start"_a, "gain"_a, "scale"_a,
      "weight"_a, "score"_a, "gradient"_a.noconvert(), "hessian"_a.noconvert(), "threads"_a,
      "Writes gradients and hessians of a ranking loss; rows are sorted by query.");
}

}  // namespace hedgerow::bind_ranking
