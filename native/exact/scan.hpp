// The best split of one node on one feature, from the feature's sorted list of the node's rows.
// Sums are integers in units of the node, so the right side is exactly the node minus the left, and
// equal splits have equal scores whatever the order of the rows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exact/grower.hpp"
#include "shared/objective.hpp"
#include "table/presort.hpp"
#include "tree/monotone.hpp"

namespace hedgerow::exact {

// A sum of gradients and hessians, in steps of their units.
struct StepSum {
  std::int64_t g = 0, h = 0;

  StepSum& operator+=(const StepSum& other) {
    g += other.g;
    h += other.h;
    return *this;
  }
};

// The sorted list of (row, rank) of one feature in one node.
struct ExactList {
  const std::uint32_t* rows;
  const std::uint32_t* ranks;
};

// The values behind a list of a numeric feature.
struct Values {
  const RawColumn& column;
  const std::uint32_t* row_of;  // row number in lists → row of the table

  // The midpoint of two rows' values, or the lower value if rounding leaves nothing in between.
  double middle(const std::uint32_t* rows) const {
    const double lower = column.number(row_of[rows[0]]), upper = column.number(row_of[rows[1]]);
    const double middle = lower / 2 + upper / 2;  // halved first: a sum may overflow
    return lower <= middle && middle < upper ? middle : lower;
  }
};

// A candidate split.
struct Candidate {
  double total = 0.0;  // score of the left child plus that of the right, in the node's units
  int feature = -1;
  std::size_t position = 0;  // numeric: the last position of the list that goes left
  bool missing_left = false;
  bool categorical = false;
  double extra_lambda = 0.0;
  std::uint32_t categories[8] = {};
  SideLimits limits;  // of the children's weights

  bool found() const { return feature >= 0; }
};

// The integer units of a node: g times g_scale and h times h_scale, powers of two such that no sum
// overflows. Penalties are converted to these units instead of every sum to reals.
struct Units {
  double g_scale = 1.0, h_scale = 1.0;
  StepSum total;
  Penalties penalties;
  double min_h = 0.0, cat_smooth = 0.0, cat_l2 = 0.0, min_category_h = 0.0;
  double node_score = 0.0;
  double floor = 0.0;  // that the total of a candidate must exceed

  double weight_scale() const { return g_scale / h_scale; }
  double score_scale() const { return h_scale / g_scale / g_scale; }
  Penalties with_lambda(double extra) const {
    return {penalties.lambda + extra, penalties.alpha, penalties.cap};
  }
};

// The score within limits, which are weights in units of the loss.
inline double limited_score(const Units& units, double G, double H, double extra_lambda,
                            const Limits& limits) {
  const Penalties penalties = units.with_lambda(extra_lambda);
  const double d = H + penalties.lambda, scale = units.weight_scale();
  const double w = limited_weight(G, d, penalties.alpha, limits.low * scale, limits.high * scale);
  return score_at(G, d, penalties.alpha, w);
}

// Collected candidates; see exact/scan.cpp.
struct Chunk;

// Scans the lists of one node; sums[row] are the integers of its rows.
class Scanner {
 public:
  Scanner(const GrowthParams& params, const Units& units, const StepSum* sums, std::size_t n_rows,
          const Values& values, int feature, const LimitedLeaf& limited)
      : params_(params),
        units_(units),
        sums_(sums),
        n_(static_cast<std::int64_t>(n_rows)),
        min_rows_(params.min_rows()),
        values_(values),
        feature_(feature),
        limited_(limited.matters(feature) ? limited : LimitedLeaf{}) {}

  Candidate numeric(const ExactList& list) const;
  Candidate categorical(const ExactList& list) const;

 private:
  struct Category {
    std::uint32_t bin = 0;
    std::int64_t count = 0;
    StepSum sum;
    double key = 0.0;
  };

  StepSum sum_of(const std::uint32_t* first, const std::uint32_t* last) const {
    StepSum sum;
    for (; first != last; ++first) sum += sums_[*first];
    return sum;
  }
  void collect(const ExactList& list, std::int64_t begin, std::int64_t end, StepSum& running,
               Chunk& chunk) const;
  std::vector<Category> categories(const ExactList& list) const;
  void limit_splits(const ExactList& list, const std::int64_t* positions, std::size_t count,
                    std::int64_t missing_left_from, SplitLimits& limits) const;
  void keep_better(const Category& left, double extra_lambda, Candidate& tried,
                   Candidate& best) const;
  void one_against_rest(const std::vector<Category>& present, Candidate& best) const;
  void sorted_prefixes(std::vector<Category>& present, Candidate& best) const;

  const GrowthParams& params_;
  const Units& units_;
  const StepSum* sums_;
  std::int64_t n_;
  std::int64_t min_rows_;
  Values values_;
  int feature_;
  LimitedLeaf limited_;  // empty if values along the feature have no limits
};

}  // namespace hedgerow::exact
