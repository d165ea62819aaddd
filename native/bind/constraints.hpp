// Constraints as Python's GrowParams holds them.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "tree/constraints.hpp"

namespace hedgerow::bind_constraints {

namespace nb = nanobind;

inline Constraints constraints_of(const nb::object& params) {
  Constraints constraints;
  constraints.interactions.groups =
      nb::cast<std::vector<std::vector<int>>>(params.attr("interaction_groups"));
  constraints.interactions.most_features = nb::cast<int>(params.attr("most_features_on_path"));
  constraints.feature_weights = nb::cast<std::vector<double>>(params.attr("feature_weights"));
  for (const int direction : nb::cast<std::vector<int>>(params.attr("directions"))) {
    constraints.directions.push_back(static_cast<std::int8_t>(direction));
  }
  return constraints;
}

inline void bind(nb::module_& m) {
  nb::class_<Constraints>(m, "Constraints")
      .def(
          "__init__",
          [](Constraints* self, const nb::object& params) {
            new (self) Constraints(constraints_of(params));
          },
          nb::arg("params"), "Takes the constraints among the fields of a GrowParams.");
}

}  // namespace hedgerow::bind_constraints
