// Bindings: with the sections in bind/, the one translation unit that knows Python. Arrays are
// taken as they are (no silent conversion); kernels behind this door trust what they are given.
#include <nanobind/nanobind.h>

#include "bind/binning.hpp"
#include "bind/dependence.hpp"
#include "bind/exact.hpp"
#include "bind/forest.hpp"
#include "bind/growth_params.hpp"
#include "bind/linear_leaves.hpp"
#include "bind/linear_svm.hpp"
#include "bind/monotone.hpp"
#include "bind/neighbors.hpp"
#include "bind/packed_forest.hpp"
#include "bind/predict.hpp"
#include "bind/ranking.hpp"
#include "bind/shap.hpp"
#include "bind/survival.hpp"
#include "bind/svm.hpp"
#include "bind/target_statistics.hpp"
#include "bind/threads.hpp"
#include "bind/training.hpp"

// The module is named after its instruction-set level, which the build defines.
#define HEDGEROW_NB_MODULE(name, variable) NB_MODULE(name, variable)
#define HEDGEROW_STRING(name) HEDGEROW_QUOTED(name)
#define HEDGEROW_QUOTED(name) #name

HEDGEROW_NB_MODULE(HEDGEROW_MODULE, m) {
  m.doc() = "Hedgerow's native kernels.";
  // What the interpreter still holds when it ends, such as a notebook's models, is no leak of ours.
  nanobind::set_leak_warnings(false);
  m.attr("level") = HEDGEROW_STRING(HEDGEROW_MODULE);
  hedgerow::bind_threads::bind(m);
  hedgerow::bind_binning::bind(m);
  hedgerow::bind_target_statistics::bind(m);
  hedgerow::bind_growth_params::bind(m);
  hedgerow::bind_training::bind(m);
  hedgerow::bind_ranking::bind(m);
  hedgerow::bind_survival::bind(m);
  hedgerow::bind_exact::bind(m);
  hedgerow::bind_monotone::bind(m);
  hedgerow::bind_forest::bind(m);
  hedgerow::bind_predict::bind(m);
  hedgerow::bind_dependence::bind(m);
  hedgerow::bind_linear_leaves::bind(m);
  hedgerow::bind_shap::bind(m);
  hedgerow::bind_packed_forest::bind(m);
  hedgerow::bind_neighbors::bind(m);
  hedgerow::bind_linear::bind(m);
  hedgerow::bind_svm::bind(m);
}
