// The scan. Numeric features: running sums are collected where the value changes, a chunk at a
// time, and scored eight at a time. Categorical features: the few candidates are scored one by one.
#include "exact_scan.hpp"

#include <algorithm>

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

typedef std::int64_t Long8 __attribute__((vector_size(64)));
typedef double Double8 __attribute__((vector_size(64)));

template <class Real>
struct Sides {
  Real G_left, H_left, G_right, H_right;
};

// The plain form T(G)²/(H + λ) of both sides over their common denominator: one division, not two.
// Both denominators are positive.
Double8 plain_total(const Units& units, const Sides<Double8>& s) {
  const Double8 a = s.H_left + units.lambda, b = s.H_right + units.lambda;
  return (s.G_left * s.G_left * b + s.G_right * s.G_right * a) / (a * b);
}

template <class Real>
Real general_total(const Units& units, const Sides<Real>& s, double extra_lambda = 0.0) {
  return score(units, s.G_left, s.H_left, extra_lambda) +
         score(units, s.G_right, s.H_right, extra_lambda);
}

Sides<double> sides(const Units& units, const Sum& left) {
  return {static_cast<double>(left.g), static_cast<double>(left.h),
          static_cast<double>(units.total.g - left.g), static_cast<double>(units.total.h - left.h)};
}

// The best of the candidates seen so far in each of eight lanes.
struct Best8 {
  Double8 total;
  Long8 position;
};

// Candidates at positions first … last, with `start` on the left besides the list's own rows.
struct Direction {
  Sum start;
  std::int64_t first, last;
  Best8 best;
};

Long8 load8(const std::int64_t* from) { return *reinterpret_cast<const Long8*>(from); }

template <bool kPlain>
void evaluate(const Units& units, const Chunk& chunk, Direction& direction) {
  for (std::size_t i = 0; i < chunk.count; i += 8) {
    const Long8 position = load8(chunk.position + i);
    const Long8 g = load8(chunk.g + i) + direction.start.g;
    const Long8 h = load8(chunk.h + i) + direction.start.h;
    const Sides<Double8> s = {__builtin_convertvector(g, Double8),
                              __builtin_convertvector(h, Double8),
                              __builtin_convertvector(units.total.g - g, Double8),
                              __builtin_convertvector(units.total.h - h, Double8)};
    const Double8 total = kPlain ? plain_total(units, s) : general_total(units, s);
    const Long8 better = (total > direction.best.total) & (s.H_left >= units.min_h) &
                         (s.H_right >= units.min_h) & (position >= direction.first) &
                         (position <= direction.last);
    direction.best.total = better ? total : direction.best.total;
    direction.best.position = better ? position : direction.best.position;
  }
}

// Takes the better of two candidates of one feature; of equals the one at the lower position.
void prefer(Candidate& best, const Best8& lanes, bool missing_left) {
  for (int lane = 0; lane < 8; ++lane) {
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

void Scanner::collect(const List& list, std::int64_t begin, std::int64_t end, Sum& running,
                      Chunk& chunk) const {
  std::size_t count = 0;
  Sum sum = running;
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

Candidate Scanner::numeric(const List& list) const {
  const std::int64_t present =
      std::lower_bound(list.ranks, list.ranks + n_, kMissingRank) - list.ranks;
  const std::int64_t missing = n_ - present;
  const Best8 none = {Double8{} + units_.floor, Long8{} - 1};
  Direction right = {{}, least_ - 1, n_ - least_ - 1, none};
  Direction left = {sum_of(list.rows + present, list.rows + n_),
                    std::max<std::int64_t>(0, least_ - 1 - missing), present - least_ - 1, none};
  // T(G)²/(H + λ) needs no care where no weight is shrunk or capped and no denominator is zero.
  const bool plain = units_.alpha == 0.0 && units_.cap == 0.0 && units_.lambda + units_.min_h > 0.0;
  const auto evaluate_chunk = plain ? evaluate<true> : evaluate<false>;
  const std::int64_t end = std::min(present, n_ - 1);
  Sum running;
  Chunk chunk;
  for (std::int64_t begin = 0; begin < end; begin += kChunk) {
    collect(list, begin, std::min<std::int64_t>(begin + kChunk, end), running, chunk);
    evaluate_chunk(units_, chunk, right);
    if (missing > 0) evaluate_chunk(units_, chunk, left);
  }
  Candidate best;
  best.total = units_.floor;
  prefer(best, right.best, false);
  prefer(best, left.best, true);
  return best;
}

std::vector<Scanner::Category> Scanner::categories(const List& list) const {
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

bool Scanner::improves(const Candidate& best, const Category& left, double extra_lambda,
                       double& total) const {
  const Sides<double> s = sides(units_, left.sum);
  if (left.count < least_ || n_ - left.count < least_) return false;
  if (s.H_left < units_.min_h || s.H_right < units_.min_h) return false;
  total = general_total(units_, s, extra_lambda);
  return total > best.total;
}

void add_category(Candidate& candidate, std::uint32_t bin) {
  candidate.categories[bin >> 5] |= 1u << (bin & 31);
}

void Scanner::one_against_rest(const std::vector<Category>& present, Candidate& best) const {
  for (const Category& category : present) {
    double total;
    if (!improves(best, category, 0.0, total)) continue;
    best = {.total = total};
    add_category(best, category.bin);
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
    for (std::size_t taken = 1; taken <= longest; ++taken) {
      left.sum += present[taken - 1].sum;
      left.count += present[taken - 1].count;
      double total;
      if (!improves(best, left, units_.cat_l2, total)) continue;
      best = {.total = total, .extra_lambda = params_.cat_l2};
      for (std::size_t i = 0; i < taken; ++i) add_category(best, present[i].bin);
    }
  }
}

Candidate Scanner::categorical(const List& list) const {
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
