// Bindings of what is done with fitted trees: predictions and explanations.
#include "bind/dependence.hpp"
#include "bind/linear_leaves.hpp"
#include "bind/packed_forest.hpp"
#include "bind/predict.hpp"
#include "bind/sections.hpp"
#include "bind/shap.hpp"

namespace hedgerow {

void bind_fitted_trees(nanobind::module_& m) {
  bind_predict::bind(m);
  bind_dependence::bind(m);
  bind_linear_leaves::bind(m);
  bind_shap::bind(m);
  bind_packed_forest::bind(m);
}

}  // namespace hedgerow
