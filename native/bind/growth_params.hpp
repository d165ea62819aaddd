// Growth parameters and constraints, read from the fields of Python's GrowthParams by name.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <type_traits>
#include <vector>

#include "bind/conversions.hpp"
#include "shared/growth_params.hpp"
#include "tree/constraints.hpp"

namespace hedgerow::bind_growth_params {

namespace nb = nanobind;

inline GrowthParams growth_params_of(const nb::object& object) {
  GrowthParams params;
  visit_fields(params, [&]<class Field>(const char* name, Field& field) {
    const nb::object value = object.attr(name);
    if constexpr (std::is_same_v<Field, GrowPolicy>) {
      field = value_named(kGrowPolicies, nb::cast<std::string>(value), "grow_policy");
    } else {
      field = nb::cast<Field>(value);
    }
  });
  return params;
}

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
  nb::class_<GrowthParams>(m, "GrowthParams", "How trees grow, as kernels take it.")
      .def(
          "__init__",
          [](GrowthParams* self, const nb::object& params) {
            new (self) GrowthParams(growth_params_of(params));
          },
          nb::arg("params"), "Takes the fields of these names from a GrowthParams of Python.")
      .def(
          "to_bytes", [](const GrowthParams& params) { return nb::bytes(&params, sizeof params); },
          "The bytes of the struct, for kernels of another compiler.");
  m.def(
      "growth_param_names",
      [] {
        nb::list names;
        const GrowthParams params;
        visit_fields(params, [&](const char* name, const auto&) { names.append(nb::str(name)); });
        return nb::typed<nb::list, nb::str>(names);
      },
      "The fields of GrowthParams that are numbers or names.");
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

}  // namespace hedgerow::bind_growth_params
