// Gradients to integers. Mirrors native/gradient/quantise.cpp.
//
// Packed rows pass through single precision. Wide rows need the gradients as they are, which are
// computed again: they are rare where there are many rows, and storing them would take as long.
#include "gradients.hpp"

namespace hedgerow::cuda {

inline void quantise_packed(const Fit& fit, int k) {
  const PackedQuantiser quantiser(fit.fixed[k]);
  const RawGradient* raw = fit.raw + k * fit.n_rows;
  int32_t* packed = fit.packed + k * fit.n_rows;
  for (size_t row = thread_index(); row < fit.n_rows; row += n_threads()) {
    packed[row] = quantiser(raw[row].g, raw[row].h);
  }
}

inline void quantise_wide(const Fit& fit, int32_t loss, int k) {
  const WideQuantiser quantiser(fit.fixed[k]);
  GradientSum* wide = fit.wide + k * fit.n_rows;
#pragma unroll 1
  for (size_t row = thread_index(); row < fit.n_rows; row += n_threads()) {
    const Derivatives of_row = differentiate(fit, loss, row, k);
    wide[row] = quantiser(of_row.g, of_row.h);
  }
}

// Quantises the gradients of all outputs, and clears the histograms of the roots.
extern "C" __global__ void quantise(const __grid_constant__ Fit fit, int32_t loss) {
  clear_histograms(fit, StepView(fit, 0));
  for (int k = 0; k < fit.n_outputs; ++k) {
    if (fit.trees[k].error) continue;  // no units
    if (fit.fixed[k].packed) {
      quantise_packed(fit, k);
    } else {
      quantise_wide(fit, loss, k);
    }
  }
}

}  // namespace hedgerow::cuda
