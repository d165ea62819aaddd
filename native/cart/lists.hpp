// Sorted lists of a node's rows, one per column, and the requests and results of scanning them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cart/tree.hpp"
#include "table/presort.hpp"

namespace hedgerow::cart {

// How a list encodes rows and ranks. In large nodes a word is the row, and ranks are looked up; in
// small nodes it holds both.
struct TableWords {
  struct Ranks {
    const std::uint32_t* rank;
    std::uint32_t operator()(std::uint32_t word) const { return rank[word]; }
  };
  static constexpr std::uint32_t kMissing = kMissingRank;
  static std::uint32_t row(std::uint32_t word) { return word; }
};

struct PackedWords {
  struct Ranks {
    std::uint32_t operator()(std::uint32_t word) const { return word >> 16; }
  };
  static constexpr std::uint32_t kMissing = 0xffff;
  static std::uint32_t row(std::uint32_t word) { return word & 0xffff; }
  static std::uint32_t pack(std::uint32_t rank, std::uint32_t row) { return rank << 16 | row; }
};

// A node's rows sorted by a column, missing values last.
template <class Words>
struct SortedList {
  const std::uint32_t* words;
  std::size_t size;
  typename Words::Ranks ranks;

  std::uint32_t row(std::size_t i) const { return Words::row(words[i]); }
  std::uint32_t rank(std::size_t i) const { return ranks(words[i]); }
  bool is_missing(std::size_t i) const { return rank(i) == Words::kMissing; }
  bool is_constant() const { return rank(0) == rank(size - 1); }
  std::size_t n_values() const {
    if (!is_missing(size - 1)) return size;
    const auto has_value = [&](std::uint32_t word) { return ranks(word) != Words::kMissing; };
    return static_cast<std::size_t>(std::partition_point(words, words + size, has_value) - words);
  }
};

// Which candidate splits of a list to evaluate.
struct ScanRequest {
  int feature;
  bool categorical;
  std::uint64_t key;                // of the node
  std::optional<std::size_t> only;  // the only position, if thresholds are random
  bool gains_only = false;          // numeric: skip what is certain not to gain
};

// The best candidate.
struct ScanResult {
  bool found = false;
  Score score;
  double left_weight = 0.0;  // in fixed-point units
  bool missing_left = false;
  std::size_t position = 0;  // numeric: the last position in the list that goes left
  std::uint32_t categories[8] = {};
};

}  // namespace hedgerow::cart
