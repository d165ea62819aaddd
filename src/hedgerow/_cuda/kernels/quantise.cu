// Gradients to integers. Mirrors native/gradient/quantise.cpp.
#include "gradients.hpp"

namespace hedgerow::cuda {

extern "C" __global__ void quantise(const Fit* fit, int32_t loss) {
  for (int k = 0; k < fit->n_outputs; ++k) {
    if (fit->trees[k].error) continue;  // no units
    const FixedPoint fixed = fit->fixed[k];
    const PackedQuantiser packed(fixed);
    const WideQuantiser wide(fixed);
    for (size_t row = thread_index(); row < fit->n_rows; row += n_threads()) {
      const Derivatives of_row = differentiate(*fit, loss, row, k);
      const size_t at = k * fit->n_rows + row;
      if (fixed.packed) {
        fit->packed[at] = packed(static_cast<float>(of_row.g), static_cast<float>(of_row.h));
      } else {
        fit->wide[at] = wide(of_row.g, of_row.h);
      }
    }
  }
}

}  // namespace hedgerow::cuda
