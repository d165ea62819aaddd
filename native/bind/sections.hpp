// The sections of the module, each a translation unit of its own.
#pragma once
#include <nanobind/nanobind.h>

namespace hedgerow {

void bind_data(nanobind::module_& m);
void bind_growth(nanobind::module_& m);
void bind_fitted_trees(nanobind::module_& m);
void bind_neighbors_and_svm(nanobind::module_& m);

}  // namespace hedgerow
