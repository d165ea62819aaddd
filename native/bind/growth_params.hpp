// Growth parameters, read from the fields of Python's GrowthParams by name.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <type_traits>

#include "bind/names.hpp"
#include "shared/growth_params.hpp"

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

inline void bind(nb::module_& m) {
  nb::class_<GrowthParams>(m, "GrowthParams", "How trees grow, as kernels take it.")
      .def(
          "__init__",
          [](GrowthParams* self, const nb::object& params) {
            new (self) GrowthParams(growth_params_of(params));
          },
          nb::arg("params"), "Takes the fields of these names from a GrowthParams of Python.");
  m.def(
      "growth_param_names",
      [] {
        nb::list names;
        const GrowthParams params;
        visit_fields(params, [&](const char* name, const auto&) { names.append(nb::str(name)); });
        return nb::typed<nb::list, nb::str>(names);
      },
      "The fields of GrowthParams that are numbers or names.");
}

}  // namespace hedgerow::bind_growth_params
