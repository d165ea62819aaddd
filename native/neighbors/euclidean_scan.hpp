// Euclidean neighbours among all rows, by products of matrices that are never written to memory.
//
// With rows x and queries q taken from the same centre, |x − q|² = |q|² + 2 (|x|²/2 − q·x). The
// bracket is computed in float32 for tiles of queries and rows and compared with an upper limit for
// neighbours of the query that includes all rounding errors; for the few rows that pass, the
// distance is computed in float64 from the original numbers. The neighbours are therefore those of
// a brute-force search in float64. If panels have boxes, those whose box is farther from every
// query of a tile than its neighbours are skipped. Cosine distances are those of rows of norm 1,
// where |x − q|²/2 = 1 − q·x.
#pragma once
#include <cstddef>

#include "neighbors/kd_tree.hpp"

namespace hedgerow::neighbors {

// Rows of a panel; it is stored by feature.
inline constexpr std::size_t kPanelRows = 64;

// Rows in float32, centred and scaled.
struct PanelView {
  const float* values;      // (n_panels, d, kPanelRows), the last panel filled up with zeros
  const float* half_norms;  // (n_panels, kPanelRows): |x|²/2 less the error; infinite beyond n
  const double* centre;     // (d,)
  double scale;             // a power of two: the mean of |x|² is about 1
  double largest_norm;      // of the rows in panels, at least
  // If rows are in the order of a k-d tree, whose leaves the panels are:
  const std::uint32_t* index;  // (n,): the row at each place
  const double* boxes;         // (n_panels, 2, d): lows and highs of each panel

  static std::size_t count(std::size_t n) { return (n + kPanelRows - 1) / kPanelRows; }
};

// Fills panels with rows in their order, and boxes if there are any; returns the largest norm.
double pack_panels(const Matrix& rows, const double* centre, double scale, float* values,
                   float* half_norms, double* boxes, int threads);

// The k nearest rows of every query, or all within a radius: NearestOutput or RadiusOutput.
template <class Output>
void search_panels(const Matrix& rows, const PanelView& panels, ProductMetric metric,
                   const Matrix& queries, const Output& output, int threads);

}  // namespace hedgerow::neighbors
