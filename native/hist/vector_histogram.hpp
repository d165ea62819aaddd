// Histograms of all outputs: the sums of a node's rows for each column and bin, panel by panel.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gradient/vector_store.hpp"
#include "hist/histogram.hpp"

namespace hedgerow::hist {

// The occupied bins of a column, as a bit set.
struct BinSet {
  std::uint64_t bits[kBins / 64];
};

// The histograms of the columns of a group, one panel after another; each column has kBins sums of
// width(panel) words.
struct VectorHistograms {
  std::uint64_t* words;
  int n_columns;

  static std::size_t size(const VectorGradients& gradients, std::size_t n_columns) {
    return gradients.words_per_row() * kBins * n_columns;
  }
  std::uint64_t* column(const VectorGradients& gradients, int panel, int column) const {
    return words + kBins * (static_cast<std::size_t>(n_columns) * gradients.before(panel) +
                            static_cast<std::size_t>(column) * gradients.width(panel));
  }
};

// The digits of a joint column, from the highest to the lowest: a histogram of one column whose
// bins are the values of a digit.
class VectorDigit {
 public:
  // The words of memory that it needs.
  static std::size_t room(const VectorGradients& gradients) {
    return VectorHistograms::size(gradients, 1) + kBins / 2 * gradients.words_per_row();
  }
  // Of a column of some histograms.
  VectorDigit(const VectorGradients& gradients, std::uint64_t* memory,
              const VectorHistograms& histograms, int column)
      : gradients_(gradients), memory_(memory), joint_(histograms), column_(column) {}

  // Sums up the codes to the next digit.
  void sum_up(int stride, int radix);
  // Moves the missing values of a feature with n_bins bins, if it has any, to the missing bin.
  void move_missing(int n_bins, int radix);
  VectorHistograms histogram() const { return {memory_, 1}; }
  // The bins that have rows.
  BinSet occupied(int n_bins) const;

 private:
  std::uint64_t* rest(int panel) const {
    return memory_ + VectorHistograms::size(gradients_, 1) + kBins / 2 * gradients_.before(panel);
  }

  const VectorGradients& gradients_;
  std::uint64_t* memory_;  // the digit's histogram, then the codes without the digits so far
  VectorHistograms joint_;
  int column_;
  bool is_first_ = true;
};

// Adds the rows to the histograms of a group's columns. `occupied`, if not null, has a set for each
// column, to which the bins of the rows are added.
void add_rows(const BinnedView& bins, const ColumnGroup& group, const VectorGradients& gradients,
              const RowSet& rows, const VectorHistograms& histograms, BinSet* occupied);

// Clears the bins of these sets, and the sets.
void clear_occupied(const VectorGradients& gradients, const VectorHistograms& histograms,
                    BinSet* occupied);

// Adds the rows' words to words_per_row() sums.
void add_up(const VectorGradients& gradients, const RowSet& rows, std::uint64_t* sums);

}  // namespace hedgerow::hist
