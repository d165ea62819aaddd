// The scan. Numeric features: running sums are collected where the value changes, a chunk at a
// time, and evaluated eight at a time. Categorical features: the few candidates are evaluated one
// by one.
#include "exact/scan.hpp"

#include <algorithm>
#include <limits>

#include "core/lanes.hpp"

namespace hedgerow::exact {

// Positions scanned at a time: the running sums of a chunk stay in the L1 cache.
constexpr std::size_t kChunk = 512;

// Candidates of a numeric feature, collected from a chunk of its list: running sums where the value
// changes. Padded to whole groups of eight with empty sums at position −1, which is never chosen.
struct Chunk {
  alignas(64) std::int64_t g[kChunk + 8];
  alignas(64) std::int64_t h[kChunk + 8];
  alignas(64) std::int64_t position[kChunk + 8];
  std::size_t count;
};

namespace {

template <class Real>
struct Sides {
  Real G_left, H_left, G_right, H_right;
};

// The sum of the scores of both sides, as a function of a candidate's index in its chunk, its
// position and its sums.
//
// The plain form T(G)²/(H + λ) of both sides over their common denominator: one division, not two.
// Both denominators are positive.
struct PlainTotal {
  const Units& units;

  Double8 operator()(std::size_t, const Long8&, const Sides<Double8>& s) const {
    const double lambda = units.penalties.lambda;
    const Fraction<Double8> total =
        two_sided_fraction<Double8>(s.G_left, s.G_right, s.H_left + lambda, s.H_right + lambda);
    return total.numerator / total.denominator;
  }
};

template <class Real>
Real general_total(const Units& units, const Sides<Real>& s, double extra_lambda = 0.0) {
  const Penalties penalties = units.with_lambda(extra_lambda);
  return score_by_weight(penalties, s.G_left, s.H_left) +
         score_by_weight(penalties, s.G_right, s.H_right);
}

struct GeneralTotal {
  const Units& units;

  Double8 operator()(std::size_t, const Long8&, const Sides<Double8>& s) const {
    return general_total(units, s);
  }
};

// Within limits, and ordered as the monotonic constraint demands if there are numbers on both
// sides.
struct LimitedTotal {
  const Units& units;
  const SplitLimits& limits;
  int order;  // 1 if the left weight may not exceed the right one, −1 if the right the left
  std::int64_t all_numbers;  // the position of the split after all numbers

  Double8 operator()(std::size_t i, const Long8& position, const Sides<Double8>& s) const {
    Double8 w_left, w_right;
    const Double8 total = score_side(s.G_left, s.H_left, limits.left, i, w_left) +
                          score_side(s.G_right, s.H_right, limits.right, i, w_right);
    const Double8 never = -std::numeric_limits<double>::infinity();
    const Long8 is_free = position >= all_numbers;
    if (order > 0) return select((w_left <= w_right) | is_free, total, never);
    if (order < 0) return select((w_left >= w_right) | is_free, total, never);
    return total;
  }

  Double8 score_side(const Double8& G, const Double8& H, const LimitSeries& side, std::size_t i,
                     Double8& w) const {
    const Double8 d = H + units.penalties.lambda;
    const double alpha = units.penalties.alpha, scale = units.weight_scale();
    w = limited_weight<Double8>(G, d, alpha, Double8::load(side.low + i) * scale,
                                Double8::load(side.high + i) * scale);
    return score_at(G, d, alpha, w);
  }
};

Sides<double> sides(const Units& units, const StepSum& left) {
  return {static_cast<double>(left.g), static_cast<double>(left.h),
          static_cast<double>(units.total.g - left.g), static_cast<double>(units.total.h - left.h)};
}

// The best of the candidates seen so far in each of eight lanes.
struct BestTotals {
  Double8 total;
  Long8 position;
};

// Candidates at positions first … last, with `start` on the left besides the list's own rows.
struct Direction {
  StepSum start;
  std::int64_t first, last;
  BestTotals best;
};

template <class Total>
void evaluate(const Units& units, const Chunk& chunk, const Total& total_of, Direction& direction) {
  for (std::size_t i = 0; i < chunk.count; i += 8) {
    const Long8 position = Long8::load(chunk.position + i);
    const Long8 g = Long8::load(chunk.g + i) + direction.start.g;
    const Long8 h = Long8::load(chunk.h + i) + direction.start.h;
    const Sides<Double8> s = {to_double(g), to_double(h), to_double(units.total.g - g),
                              to_double(units.total.h - h)};
    const Double8 total = total_of(i, position, s);
    const Long8 better = (total > direction.best.total) & (s.H_left >= units.min_h) &
                         (s.H_right >= units.min_h) & (position >= direction.first) &
                         (position <= direction.last);
    direction.best.total = select(better, total, direction.best.total);
    direction.best.position = select(better, position, direction.best.position);
  }
}

// Takes the better of two candidates of one feature; of equals the one at the lower position.
void prefer(Candidate& best, const BestTotals& lanes, bool missing_left) {
  for (std::size_t lane = 0; lane < Double8::kCount; ++lane) {
    if (lanes.position[lane] < 0) continue;
    const auto position = static_cast<std::size_t>(lanes.position[lane]);
    const double total = lanes.total[lane];
    if (total > best.total || (total == best.total && position < best.position)) {
      best.total = total;
      best.position = position;
      best.missing_left = missing_left;
    }
  }
}

}  // namespace

void Scanner::collect(const ExactList& list, std::int64_t begin, std::int64_t end, StepSum& running,
                      Chunk& chunk) const {
  std::size_t count = 0;
  StepSum sum = running;
  for (std::int64_t i = begin; i < end; ++i) {
    sum += sums_[list.rows[i]];
    chunk.g[count] = sum.g;
    chunk.h[count] = sum.h;
    chunk.position[count] = i;
    count += list.ranks[i] != list.ranks[i + 1];
  }
  running = sum;
  chunk.count = count;
  for (std::size_t i = count; i < count + 8; ++i) {
    chunk.g[i] = chunk.h[i] = 0;
    chunk.position[i] = -1;
  }
}

// The limits of the children of splits after these positions; from position missing_left_from on
// missing values go left.
void Scanner::limit_splits(const ExactList& list, const std::int64_t* positions, std::size_t count,
                           std::int64_t missing_left_from, SplitLimits& limits) const {
  const std::int64_t* from = std::lower_bound(positions, positions + count, missing_left_from);
  const bool takes_all = count > 0 && list.ranks[positions[count - 1] + 1] == kMissingRank;
  const ThresholdSeries cuts = {
      count, [&](std::size_t i) { return values_.middle(list.rows + positions[i]); }, takes_all,
      static_cast<std::size_t>(from - positions)};
  limited_.leaves->limit_splits(limited_.node, feature_, cuts, limits);
}

Candidate Scanner::numeric(const ExactList& list) const {
  const std::int64_t present =
      std::lower_bound(list.ranks, list.ranks + n_, kMissingRank) - list.ranks;
  const std::int64_t missing = n_ - present;
  const BestTotals none = {units_.floor, -1};
  Direction right = {{}, min_rows_ - 1, n_ - min_rows_ - 1, none};
  Direction left = {sum_of(list.rows + present, list.rows + n_),
                    std::max<std::int64_t>(0, min_rows_ - 1 - missing), present - min_rows_ - 1,
                    none};
  // The plain form suffices if no weight is shrunk or capped and no denominator is zero.
  const Penalties& penalties = units_.penalties;
  const bool plain =
      penalties.alpha == 0.0 && penalties.cap == 0.0 && penalties.lambda + units_.min_h > 0.0;
  // If the node has no missing values, they go to the larger child.
  const std::int64_t half = (n_ + 1) / 2 - 1, from_none = missing > 0 ? n_ : half;
  const auto evaluate_chunk = [&](const Chunk& chunk, std::int64_t missing_left_from,
                                  Direction& direction) {
    if (limited_.leaves) {
      SplitLimits limits;
      limit_splits(list, chunk.position, chunk.count, missing_left_from, limits);
      const int order = limited_.leaves->direction(feature_);
      evaluate(units_, chunk, LimitedTotal{units_, limits, order, present - 1}, direction);
    } else if (plain) {
      evaluate(units_, chunk, PlainTotal{units_}, direction);
    } else {
      evaluate(units_, chunk, GeneralTotal{units_}, direction);
    }
  };
  const std::int64_t end = std::min(present, n_ - 1);
  StepSum running;
  Chunk chunk;
  for (std::int64_t begin = 0; begin < end; begin += kChunk) {
    collect(list, begin, std::min<std::int64_t>(begin + kChunk, end), running, chunk);
    evaluate_chunk(chunk, from_none, right);
    if (missing > 0) evaluate_chunk(chunk, 0, left);
  }
  Candidate best;
  best.total = units_.floor;
  prefer(best, right.best, false);
  prefer(best, left.best, true);
  if (limited_.leaves && best.total > units_.floor) {
    const auto position = static_cast<std::int64_t>(best.position);
    SplitLimits limits;
    limit_splits(list, &position, 1, best.missing_left ? 0 : from_none, limits);
    best.limits = limits[0];
  }
  return best;
}

std::vector<Scanner::Category> Scanner::categories(const ExactList& list) const {
  std::vector<Category> present;
  for (std::int64_t i = 0; i < n_ && list.ranks[i] != kMissingRank; ++i) {
    if (i == 0 || list.ranks[i] != list.ranks[i - 1]) {
      present.emplace_back();
      present.back().bin = list.ranks[i];
    }
    present.back().sum += sums_[list.rows[i]];
    ++present.back().count;
  }
  return present;
}

void add_category(Candidate& candidate, std::uint32_t bin) {
  candidate.categories[bin >> 5] |= 1u << (bin & 31);
}

// Replaces `best` by a split on categories, of which `left` go left, if it is allowed and better.
void Scanner::keep_better(const Category& left, double extra_lambda, Candidate& tried,
                          Candidate& best) const {
  const Sides<double> s = sides(units_, left.sum);
  if (left.count < min_rows_ || n_ - left.count < min_rows_) return;
  if (s.H_left < units_.min_h || s.H_right < units_.min_h) return;
  if (limited_.leaves) {
    tried.limits = limited_.leaves->limit_sets(limited_.node, feature_, tried.categories);
    tried.total = limited_score(units_, s.G_left, s.H_left, extra_lambda, tried.limits.left) +
                  limited_score(units_, s.G_right, s.H_right, extra_lambda, tried.limits.right);
  } else {
    tried.total = general_total(units_, s, extra_lambda);
  }
  if (tried.total > best.total) best = tried;
}

void Scanner::one_against_rest(const std::vector<Category>& present, Candidate& best) const {
  for (const Category& category : present) {
    Candidate tried;
    add_category(tried, category.bin);
    keep_better(category, 0.0, tried, best);
  }
}

void Scanner::sorted_prefixes(std::vector<Category>& present, Candidate& best) const {
  std::erase_if(present, [&](const Category& c) {
    return static_cast<double>(c.sum.h) < units_.min_category_h;
  });
  for (Category& c : present) {
    c.key = static_cast<double>(c.sum.g) / (static_cast<double>(c.sum.h) + units_.cat_smooth);
  }
  std::stable_sort(present.begin(), present.end(),
                   [](const Category& a, const Category& b) { return a.key < b.key; });
  const std::size_t longest = std::min<std::size_t>(params_.max_cat_threshold, present.size());
  for (const bool from_high : {false, true}) {
    if (from_high) std::reverse(present.begin(), present.end());
    Category left = {};
    Candidate tried;
    tried.extra_lambda = params_.cat_l2;
    for (std::size_t size = 1; size <= longest; ++size) {
      left.sum += present[size - 1].sum;
      left.count += present[size - 1].count;
      add_category(tried, present[size - 1].bin);
      keep_better(left, units_.cat_l2, tried, best);
    }
  }
}

Candidate Scanner::categorical(const ExactList& list) const {
  Candidate best;
  best.total = units_.floor;
  std::vector<Category> present = categories(list);
  if (present.size() <= static_cast<std::size_t>(params_.max_cat_to_onehot)) {
    one_against_rest(present, best);
  } else {
    sorted_prefixes(present, best);
  }
  best.categorical = true;
  return best;
}

}  // namespace hedgerow::exact
