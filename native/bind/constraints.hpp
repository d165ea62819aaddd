// Constraints, read from the fields of Python's GrowthParams.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "tree/constraints.hpp"

namespace hedgerow::bind_constraints {

namespace nb = nanobind;

// The fields of GrowthParams that are constraints.
inline constexpr const char* kConstraintNames[] = {"interaction_groups", "most_features_on_path",
                                                   "directions", "feature_weights"};

inline Constraints constraints_of(const nb::object& params) {
  const auto field = [&](const char* name) { return nb::object(params.attr(name)); };
  Constraints constraints;
  constraints.interactions.groups =
      nb::cast<std::vector<std::vector<int>>>(field(kConstraintNames[0]));
  constraints.interactions.most_features = nb::cast<int>(field(kConstraintNames[1]));
  for (const int direction : nb::cast<std::vector<int>>(field(kConstraintNames[2]))) {
    constraints.directions.push_back(static_cast<std::int8_t>(direction));
  }
  constraints.feature_weights = nb::cast<std::vector<double>>(field(kConstraintNames[3]));
  return constraints;
}

inline void bind(nb::module_& m) {
  nb::class_<Constraints>(m, "Constraints")
      .def(
          "__init__",
          [](Constraints* self, const nb::object& params) {
            new (self) Constraints(constraints_of(params));
          },
          nb::arg("params"), "Takes the constraints among the fields of a GrowthParams.");
  m.def(
      "constraint_names",
      [] {
        nb::list names;
        for (const char* name : kConstraintNames) names.append(nb::str(name));
        return nb::typed<nb::list, nb::str>(names);
      },
      "The fields of GrowthParams that are constraints.");
}

}  // namespace hedgerow::bind_constraints
