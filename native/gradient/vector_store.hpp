// Gradients for trees with a value for each output: those of a row are side by side, so that one
// vector addition updates the sums of up to eight outputs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "gradient/quantise.hpp"
#include "shared/fixed_point.hpp"

namespace hedgerow {

inline constexpr int kPanelWidth = 8;  // lanes in a panel: of 8 bytes each, a cache line
// Fewer rows are stored in wide form: it is more precise, and hardly slower.
inline constexpr std::size_t kOneWordFromRows = 4096;

// Outputs are lanes. Lane 0 is not an output: it holds what a child needs a minimum of, the row's
// weight (its mean hessian over the outputs) in the place of the gradient, and a count of one in
// the place of the hessian. Lanes come in panels of eight, the last of four if that is enough;
// unused lanes are zero.
struct OutputLanes {
  int n_outputs;

  int count() const { return (n_outputs + 4) / 4 * 4; }
  int n_panels() const { return (count() + kPanelWidth - 1) / kPanelWidth; }
  int width(int panel) const { return std::min(kPanelWidth, count() - kPanelWidth * panel); }
};

// The quantised rows of all outputs, and how to read their sums, which have the same format.
//
// Wide format, for few rows or rows that dominate: a panel holds the g of its lanes, then the h, in
// 64-bit words. Otherwise g and h share a word, g above 32 bits of h. Units are such that no sum
// over all rows overflows either half.
struct VectorGradients {
  OutputLanes lanes = {1};
  bool wide = false;
  std::size_t n_rows = 0;
  const std::uint64_t* words = nullptr;  // panel after panel, row after row
  const double* g_unit = nullptr;        // of each lane
  const double* h_unit = nullptr;

  std::size_t words_per_lane() const { return wide ? 2 : 1; }
  std::size_t width(int panel) const {
    return words_per_lane() * static_cast<std::size_t>(lanes.width(panel));
  }
  // Words of all panels before one.
  std::size_t before(int panel) const {
    return words_per_lane() * static_cast<std::size_t>(kPanelWidth * panel);
  }
  std::size_t words_per_row() const {
    return words_per_lane() * static_cast<std::size_t>(lanes.count());
  }
  const std::uint64_t* rows(int panel) const { return words + n_rows * before(panel); }

  // A lane of words_per_row() words: g, and h in the place of hc.
  GradientSum lane(const std::uint64_t* sums, int k) const {
    const int panel = k / kPanelWidth, place = k % kPanelWidth;
    const std::uint64_t* word = sums + before(panel) + place;
    if (wide) return {static_cast<std::int64_t>(word[0]), word[lanes.width(panel)]};
    return {static_cast<std::int64_t>(word[0]) >> 32, word[0] & 0xffff'ffffu};
  }
  double g(const std::uint64_t* sums, int k) const {
    return static_cast<double>(lane(sums, k).g) * g_unit[k];
  }
  double h(const std::uint64_t* sums, int k) const {
    return static_cast<double>(lane(sums, k).hc) * h_unit[k];
  }
  std::size_t count(const std::uint64_t* sums) const { return lane(sums, 0).hc; }
  double weight(const std::uint64_t* sums) const { return g(sums, 0); }
  // The gradient and hessian of output k in a row.
  std::pair<double, double> to_float(int k, std::size_t row) const {
    const int panel = (k + 1) / kPanelWidth;
    const std::uint64_t* words_of_row = rows(panel) + row * width(panel) - before(panel);
    return {g(words_of_row, k + 1), h(words_of_row, k + 1)};
  }
};

// Whether the gradients of n rows are precise enough with g and h in one word.
bool fits_one_word(const GradientSummary& summary, std::size_t n);
// The unit of the gradients, hessians or weights of n rows whose magnitudes add up to `sum`.
double vector_unit(double sum, std::size_t n, bool wide);

// The number of rows on this worker, and on all workers, which determines the units.
struct RowCounts {
  std::size_t here, total;
};

// Memory for the rows of all outputs.
class VectorRows {
 public:
  // Quantises the raw gradients of all outputs, stored one output after another. `wide` says
  // whether raw gradients and result are in wide form.
  VectorGradients quantise(const RawGradients& raw, std::span<const GradientSummary> summary,
                           RowCounts n, bool wide, int threads);

 private:
  void choose_units(std::span<const GradientSummary> summary, std::size_t n, bool wide);

  Buffer<std::uint64_t> words_;
  std::size_t capacity_ = 0;
  std::vector<double> g_unit_, h_unit_;
};

}  // namespace hedgerow
