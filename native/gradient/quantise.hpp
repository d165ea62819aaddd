// Quantisation of the gradients of a training set, by the units and formulas of
// shared/fixed_point.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "shared/fixed_point.hpp"

namespace hedgerow {

// Rows of a block, the unit of work of kernels that pass over all rows.
inline constexpr std::size_t kRowBlock = 1024;

// Gradients and hessians before quantisation, in the memory that the integers reuse: two arrays of
// floats, or one of pairs of doubles. What is not in use is null.
struct WidePair {
  double g, h;
};
static_assert(sizeof(WidePair) == sizeof(GradientSum));

struct RawGradients {
  float* narrow_g;  // becomes the packed rows
  float* narrow_h;
  WidePair* wide;  // becomes the wide rows
};

// The summary of up to kRowBlock gradients and hessians.
GradientTotals summarise(const double* g, const double* h, std::size_t n);

// Copies the gradients and hessians of a user-defined loss. Negative hessians become
// zero.
GradientTotals take_gradients(const double* g, const double* h, std::size_t n,
                              const RawGradients& raw, int threads);

// Writes a run of gradients from row `begin` on into whichever buffer is in use.
void store(const double* g, const double* h, std::size_t n, const RawGradients& raw,
           std::size_t begin);

// Turns the raw gradients of one output into integers, in place.
Gradients quantise(const RawGradients& raw, const FixedPoint& fixed, std::size_t n, int threads);

}  // namespace hedgerow
