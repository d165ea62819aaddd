// Whether this compilation has the arithmetic of the CPU: run once when kernels are loaded. Numbers
// come from memory, so that nothing is computed by the compiler.
#include "gradients.hpp"

namespace hedgerow::cuda {

extern "C" __global__ void arithmetic(const double* x, const float* f, double* doubles,
                                      float* floats) {
  doubles[0] = x[0] * x[1] + x[2];  // rounded twice, or fused
  doubles[1] = x[3] / x[4];
  doubles[2] = sqrt(x[5]);
  doubles[3] = x[6] * x[7];  // subnormal
  floats[0] = f[0] * f[1] + f[2];
  floats[1] = f[3] / f[4];
  floats[2] = sqrtf(f[5]);
  floats[3] = f[6] * f[7];  // subnormal
  floats[4] = static_cast<float>(x[8]);
}

// The derivatives of rows as numbers, for tests of the loss formulas.
extern "C" __global__ void derivatives(const __grid_constant__ Fit fit, int32_t loss, double* g,
                                       double* h) {
  for (size_t row = thread_index(); row < fit.n_rows; row += n_threads()) {
#pragma unroll 1
    for (int k = 0; k < fit.n_outputs; ++k) {
      const Derivatives of_row = differentiate(fit, loss, row, k);
      g[k * fit.n_rows + row] = of_row.g;
      h[k * fit.n_rows + row] = of_row.h;
    }
  }
}

// The sizes of structs that the host reserves memory for.
extern "C" __global__ void sizes(uint64_t* of) {
  of[0] = sizeof(Fit);
  of[1] = sizeof(Leaf);
  of[2] = sizeof(Division);
  of[3] = sizeof(TreeState);
  of[4] = sizeof(Node);
  of[5] = sizeof(NodeTest);
  of[6] = sizeof(Split);
  of[7] = sizeof(GradientTotals);
  of[8] = sizeof(GradientSummary);
  of[9] = sizeof(FixedPoint);
  of[10] = kSplitSharedBytes;
  of[11] = sizeof(LevelTests);
}

}  // namespace hedgerow::cuda
