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

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, nb::ndim<1>>;

inline void bind(nb::module_& m) {
  m.def(
      "rank_discounts", [](std::size_t count) { return to_numpy<double>(rank_discounts(count)); },
      "count"_a, "The discounts of the ranks, first to last.");
  m.def(
      "rank_gradients",
      [](const std::string& loss, double sigma, std::size_t truncation, bool normalise,
         Vector<const std::uint32_t> row, Vector<const std::int64_t> start,
         Vector<const double> gain, Vector<const double> scale, Vector<const double> weight,
         Vector<const double> score, Vector<double> g, Vector<double> h, int threads) {
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
