#include "predict/elementwise.hpp"

#include "shared/math.hpp"

namespace hedgerow::predict {

void exp_inplace(std::span<double> numbers) {
  for (double& x : numbers) x = hedgerow::exp(x);
}

void log_inplace(std::span<double> numbers) {
  for (double& x : numbers) x = hedgerow::log(x);
}

void log1p_inplace(std::span<double> numbers) {
  for (double& x : numbers) x = hedgerow::log1p(x);
}

}  // namespace hedgerow::predict
