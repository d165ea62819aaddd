// Bindings of survival: failure times and concordance.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "gradient/concordance.hpp"
#include "gradient/failure_time.hpp"

namespace hedgerow::bind_survival {

using Numbers = In<double, 1>;
using Weights = std::optional<Numbers>;
using Indices = In<std::int64_t, 1>;

inline TimeDistribution distribution_of(const std::string& name) {
  return value_named(kTimeDistributions, name, "distribution of times");
}

template <class... Arrays>
void require_length(std::size_t n, const Arrays&... arrays) {
  if (((arrays.size() != n) || ...)) throw std::invalid_argument("arrays differ in length");
}

inline void bind(nb::module_& m) {
  m.def(
      "failure_gradients",
      [](const std::string& distribution, double scale, Numbers lower, Numbers upper, Numbers score,
         Weights weight, Out<double, 1> g, Out<double, 1> h, int threads) {
        require_length(lower.size(), upper, score, g, h);
        if (weight) require_length(lower.size(), *weight);
        const LogTimes times{lower.data(), upper.data(), lower.size()};
        const TimeDistribution kind = distribution_of(distribution);
        GilReleased release;
        failure_gradients(kind, scale, times, score.data(), weight ? weight->data() : nullptr,
                          g.data(), h.data(), threads);
      },
      "distribution"_a, "scale"_a, "lower"_a, "upper"_a, "score"_a, "weight"_a.none(),
      "gradient"_a.noconvert(), "hessian"_a.noconvert(), "threads"_a,
      "Writes gradients and hessians of failure times from the logarithms of their bounds.");
  m.def(
      "failure_losses",
      [](const std::string& distribution, double scale, Numbers lower, Numbers upper, Numbers score,
         Out<double, 1> loss, Out<double, 1> drift, int threads) {
        require_length(lower.size(), upper, score, loss, drift);
        const LogTimes times{lower.data(), upper.data(), lower.size()};
        const TimeDistribution kind = distribution_of(distribution);
        GilReleased release;
        failure_losses(kind, scale, times, score.data(), loss.data(), drift.data(), threads);
      },
      "distribution"_a, "scale"_a, "lower"_a, "upper"_a, "score"_a, "loss"_a.noconvert(),
      "drift"_a.noconvert(), "threads"_a,
      "Writes the negative log likelihood of each row and its derivative by log(scale).");
  m.def(
      "log_survival_inplace",
      [](const std::string& distribution, Out<double, 1> z) {
        const TimeDistribution kind = distribution_of(distribution);
        for (std::size_t i = 0; i < z.size(); ++i) z.data()[i] = log_survival(kind, z.data()[i]);
      },
      "distribution"_a, "z"_a.noconvert(), "z becomes log P(Z > z).");
  m.def(
      "count_pairs",
      [](Indices rank, Weights weight, Indices first, Indices beyond, Indices last) {
        require_length(first.size(), beyond);
        if (weight) require_length(rank.size(), *weight);
        PairCounts counts;
        {
          GilReleased release;
          counts = count_pairs(span_of(rank), weight ? weight->data() : nullptr, span_of(first),
                               span_of(beyond), span_of(last));
        }
        return nb::make_tuple(counts.larger, counts.equal, counts.smaller);
      },
      "rank"_a, "weight"_a.none(), "first"_a, "beyond"_a, "last"_a,
      "Pairs of rows of `first` and those after them with larger, equal and smaller rank.");
}

}  // namespace hedgerow::bind_survival
