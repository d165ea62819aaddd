// Bindings of nearest neighbours and support vector machines.
#include "bind/linear_svm.hpp"
#include "bind/neighbors.hpp"
#include "bind/sections.hpp"
#include "bind/svm.hpp"

namespace hedgerow {

void bind_neighbors_and_svm(nanobind::module_& m) {
  bind_neighbors::bind(m);
  bind_linear::bind(m);
  bind_svm::bind(m);
}

}  // namespace hedgerow
