// Bindings of what grows trees: histograms, exact splits, forests, and their losses.
#include "bind/exact.hpp"
#include "bind/forest.hpp"
#include "bind/growth_params.hpp"
#include "bind/monotone.hpp"
#include "bind/ranking.hpp"
#include "bind/sections.hpp"
#include "bind/survival.hpp"
#include "bind/training.hpp"

namespace hedgerow {

void bind_growth(nanobind::module_& m) {
  bind_growth_params::bind(m);
  bind_training::bind(m);
  bind_ranking::bind(m);
  bind_survival::bind(m);
  bind_exact::bind(m);
  bind_monotone::bind(m);
  bind_forest::bind(m);
}

}  // namespace hedgerow
