// Quantisation: gradients as reals become gradients as integers, with a unit chosen for each tree.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shared/fixed_point.hpp"

namespace hedgerow {

// Rows in a block: sums of reals are taken over blocks and added up block by block, so that they do
// not depend on the number of threads.
inline constexpr std::size_t kRowBlock = 1024;
// Fewer rows than this are trained on in wide form: the time is elsewhere, and precision is free.
inline constexpr std::size_t kPackedFromRows = 32768;

// Gradients and hessians before quantisation, in the memory that the integers will take over: two
// arrays of floats, or one of pairs of doubles. What is not in use is null.
struct WidePair {
  double g, h;
};
static_assert(sizeof(WidePair) == sizeof(Sum));

struct RawGradients {
  float* narrow_g;  // becomes the packed rows
  float* narrow_h;
  WidePair* wide;  // becomes the wide rows
};

// What the choice of units depends on.
struct GradientSummary {
  double max_g = 0.0, sum_g = 0.0;  // of |g|
  double max_h = 0.0, sum_h = 0.0;
  double min_h = std::numeric_limits<double>::infinity();

  void add(const GradientSummary& other);
};

// The summary of up to kRowBlock gradients and hessians.
GradientSummary summarise(const double* g, const double* h, std::size_t n);

// Takes over the gradients and hessians that a user's loss computed. A negative hessian counts as
// zero.
GradientSummary take_gradients(const double* g, const double* h, std::size_t n,
                               const RawGradients& raw, int threads);

// Writes a run of gradients from row `begin` on into whichever buffer is in use.
void store(const double* g, const double* h, std::size_t n, const RawGradients& raw,
           std::size_t begin);

// Whether numbers of this size have reciprocals in single precision, through which packed rows
// pass.
bool is_moderate(double largest);

// One of `steps` steps to the largest number; at least the smallest that has a reciprocal.
double unit_for(double largest, double steps);

// Whether packed rows are precise enough: many rows, none of which towers over the rest.
bool fits_packed(const GradientSummary& summary, std::size_t n);

// Units for `n` rows with this summary; `packed` says which form the raw gradients are in.
FixedPoint choose_units(const GradientSummary& summary, std::size_t n, bool packed);

// Turns the raw gradients of one output into integers, in place.
Gradients quantise(const RawGradients& raw, const FixedPoint& fixed, std::size_t n, int threads);

}  // namespace hedgerow
