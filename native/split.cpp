// Split finding. The common case (no cap on leaf weights) runs eight bins at a time and divides
// nothing: with a = H_L + λ and b = H_R + λ the score of a cut is (G_L² b + G_R² a) / (a b), and
// two such fractions are compared by cross-multiplication. All of it happens in the histogram's own
// integer units, so λ and the other limits are converted once instead of every sum.
#include "split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace hedgerow {
namespace {

typedef std::int64_t Long8 __attribute__((vector_size(64)));
typedef std::uint64_t ULong8 __attribute__((vector_size(64)));
typedef double Double8 __attribute__((vector_size(64)));
typedef Long8 Long8Unaligned __attribute__((aligned(8), may_alias));

// A gain below this share of the parent's score is rounding, not improvement.
constexpr double kRelativeNoise = 0x1p-48;
// Nodes with fewer rows than this have mostly empty bins, which are squeezed out before the scan.
constexpr std::uint64_t kSparseRows = 160;

double soft_threshold(double G, double alpha) {
  return G > alpha ? G - alpha : G < -alpha ? G + alpha : 0.0;
}

// −2 × the objective at the best weight: T(G)²/(H + λ) when the weight is not capped.
double score(const SplitRules& rules, double G, double H, double reg_lambda) {
  const double denominator = H + reg_lambda;
  if (!(denominator > 0.0)) return 0.0;
  const double T = soft_threshold(G, rules.reg_alpha);
  const double cap = rules.max_delta_step;
  const double weight = -T / denominator;
  if (cap <= 0.0 || std::fabs(weight) <= cap) return T * T / denominator;
  const double capped = weight < 0 ? -cap : cap;
  return -(2.0 * T * capped + denominator * capped * capped);
}

// What the scan of one feature needs to know of the node and of the features before.
struct Node {
  const SplitRules& rules;
  const FixedPoint& fixed;
  const Sum& total;
  double parent_score;
  double gain_to_beat;  // of the features before, or what rounding alone could make

  // hc ≥ min_hc says that there are at least min_samples_leaf rows.
  std::uint64_t min_hc() const {
    return static_cast<std::uint64_t>(rules.min_samples_leaf) << fixed.count_shift;
  }
  bool allowed(const Sum& left) const {
    const Sum right = total - left;
    return left.hc >= min_hc() && right.hc >= min_hc() && fixed.h(left) >= rules.min_child_weight &&
           fixed.h(right) >= rules.min_child_weight;
  }
  double gain(const Sum& left, double extra_lambda = 0.0) const {
    const Sum right = total - left;
    const double reg_lambda = rules.reg_lambda + extra_lambda;
    return 0.5 * (score(rules, fixed.g(left), fixed.h(left), reg_lambda) +
                  score(rules, fixed.g(right), fixed.h(right), reg_lambda) - parent_score) -
           rules.min_split_gain;
  }
};

// The bins of a feature that hold rows, as a set of bits.
struct Occupied {
  std::uint8_t byte[kBins / 8] = {};

  int nth(int n) const {
    int b = 0;
    for (; n >= std::popcount(byte[b]); ++b) n -= std::popcount(byte[b]);
    unsigned bits = byte[b];
    for (; n > 0; --n) bits &= bits - 1;
    return 8 * b + std::countr_zero(bits);
  }
};

inline Long8 load8(const void* from) { return *static_cast<const Long8Unaligned*>(from); }

// Sums in scan order, eight at a time: a histogram as it is …
struct AllBins {
  const Sum* sums;
  int count;  // candidates are the cuts after the first, the second, … the count-th sum

  Sum at(int i) const { return sums[i]; }
  int bin(int i) const { return i; }
  void load(int i, Long8& g, Long8& hc) const {
    const Long8 low = load8(sums + i), high = load8(sums + i + 4);
    g = __builtin_shuffle(low, high, Long8{0, 2, 4, 6, 8, 10, 12, 14});
    hc = __builtin_shuffle(low, high, Long8{1, 3, 5, 7, 9, 11, 13, 15});
  }
};

// … or its occupied bins alone, followed by zeros.
struct OccupiedBins {
  std::int64_t g[kBins + 8];
  std::uint64_t hc[kBins + 8];
  Occupied occupied;
  int count;

  Sum at(int i) const { return {g[i], hc[i]}; }
  int bin(int i) const { return occupied.nth(i); }
  void load(int i, Long8& g8, Long8& hc8) const {
    g8 = load8(g + i);
    hc8 = load8(hc + i);
  }
};

inline Long8 running_sum(Long8 v) {
  const Long8 zero = {};
  v += __builtin_shuffle(v, zero, Long8{8, 0, 1, 2, 3, 4, 5, 6});
  v += __builtin_shuffle(v, zero, Long8{8, 8, 0, 1, 2, 3, 4, 5});
  v += __builtin_shuffle(v, zero, Long8{8, 8, 8, 8, 0, 1, 2, 3});
  return v;
}

inline Double8 to_double(Long8 v) { return __builtin_convertvector(v, Double8); }

inline Double8 soft_threshold(Double8 G, double alpha) {
  const Double8 zero = {};
  const Double8 shrunk_up = G + alpha, shrunk_down = G - alpha;
  return G > alpha ? shrunk_down : (G < -alpha ? shrunk_up : zero);
}

// Best cut per lane, as a fraction; position −1 while nothing beats not splitting.
struct Best8 {
  Double8 numerator, denominator;
  Long8 position;
};

// Scans eight positions at a time with `start` already on the left side. Positions past the last
// need no test: nothing would be left on the right, or less than nothing.
template <bool kL1, class Scan>
Best8 scan8(const Node& node, const Scan& scan, const Sum& start) {
  const FixedPoint& fixed = node.fixed;
  const double per_h = 1.0 / fixed.h_unit, per_g = 1.0 / fixed.g_unit;
  const double reg_lambda = node.rules.reg_lambda * per_h;
  const double alpha = node.rules.reg_alpha * per_g;
  const double min_h = node.rules.min_child_weight * per_h;
  const double to_beat = node.parent_score + 2.0 * (node.gain_to_beat + node.rules.min_split_gain);

  const Long8 zero = {};
  const Long8 h_mask = zero + static_cast<std::int64_t>(fixed.h_mask());
  // min_hc ≤ left ≤ total − min_hc in one comparison of unsigned numbers.
  const ULong8 min_hc = ULong8{} + node.min_hc();
  const ULong8 range_hc = ULong8{} + (node.total.hc - 2 * node.min_hc());
  const Long8 total_g = zero + node.total.g;
  const Long8 total_hc = zero + static_cast<std::int64_t>(node.total.hc);
  Long8 carry_g = zero + start.g, carry_hc = zero + static_cast<std::int64_t>(start.hc);
  Long8 position = {0, 1, 2, 3, 4, 5, 6, 7};
  Best8 best = {Double8{} + to_beat * fixed.h_unit * per_g * per_g, Double8{} + 1.0, zero - 1};

  for (int i = 0; i < scan.count; i += 8, position += 8) {
    Long8 g, hc;
    scan.load(i, g, hc);
    const Long8 left_g = carry_g + running_sum(g), left_hc = carry_hc + running_sum(hc);
    carry_g = __builtin_shuffle(left_g, Long8{7, 7, 7, 7, 7, 7, 7, 7});
    carry_hc = __builtin_shuffle(left_hc, Long8{7, 7, 7, 7, 7, 7, 7, 7});
    const Long8 right_g = total_g - left_g, right_hc = total_hc - left_hc;

    Double8 G_left = to_double(left_g), G_right = to_double(right_g);
    if constexpr (kL1) {
      G_left = soft_threshold(G_left, alpha);
      G_right = soft_threshold(G_right, alpha);
    }
    const Double8 H_left = to_double(left_hc & h_mask), H_right = to_double(right_hc & h_mask);
    const Double8 a = H_left + reg_lambda, b = H_right + reg_lambda;
    const Double8 numerator = G_left * G_left * b + G_right * G_right * a;
    const Double8 denominator = a * b;

    const Long8 better = (numerator * best.denominator > best.numerator * denominator) &
                         ((H_left >= min_h) & (H_right >= min_h)) &
                         ((ULong8)left_hc - min_hc <= range_hc);
    best.numerator = better ? numerator : best.numerator;
    best.denominator = better ? denominator : best.denominator;
    best.position = better ? position : best.position;
  }
  return best;
}

// The winning position over the lanes, −1 for none: the largest fraction, the lowest position of
// equals.
int winner(const Best8& best) {
  int chosen = -1;
  double chosen_value = 0.0;
  for (int lane = 0; lane < 8; ++lane) {
    const int position = static_cast<int>(best.position[lane]);
    if (position < 0) continue;
    const double value = best.numerator[lane] / best.denominator[lane];
    if (chosen < 0 || value > chosen_value || (value == chosen_value && position < chosen)) {
      chosen = position;
      chosen_value = value;
    }
  }
  return chosen;
}

// The same search one position at a time, for capped weights.
template <class Scan>
int scan_capped(const Node& node, const Scan& scan, const Sum& start) {
  int chosen = -1;
  double best = node.gain_to_beat;
  Sum left = start;
  for (int i = 0; i < scan.count; ++i) {
    left += scan.at(i);
    if (!node.allowed(left)) continue;
    const double gain = node.gain(left);
    if (gain > best) {
      best = gain;
      chosen = i;
    }
  }
  return chosen;
}

template <class Scan>
int best_position(const Node& node, const Scan& scan, const Sum& start) {
  if (node.rules.max_delta_step > 0.0) return scan_capped(node, scan, start);
  return winner(node.rules.reg_alpha > 0.0 ? scan8<true>(node, scan, start)
                                           : scan8<false>(node, scan, start));
}

// Tries the cuts of a scan; one better than `best` and than what is to be beaten replaces it.
template <class Scan>
void consider(const Node& node, const Scan& scan, Sum left, bool missing_left, Split& best) {
  const int position = best_position(node, scan, left);
  if (position < 0) return;
  for (int i = 0; i <= position; ++i) left += scan.at(i);
  const double gain = node.gain(left);
  const int bin = scan.bin(position);
  const bool wins_tie = gain == best.gain && bin < best.bin;
  if (!(gain > node.gain_to_beat) || !(gain > best.gain || wins_tie)) return;
  best.gain = gain;
  best.bin = static_cast<std::uint8_t>(bin);
  best.missing_left = missing_left;
  best.left = left;
}

// Takes the occupied ones of the first n_bins sums.
void squeeze(const Sum* histogram, int n_bins, OccupiedBins& into) {
  int count = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
  for (int b = 0; b < n_bins; b += 8) {
    const __m512i low = _mm512_load_si512(histogram + b);
    const __m512i high = _mm512_load_si512(histogram + b + 4);
    const __m512i hc = _mm512_permutex2var_epi64(low, odd, high);
    unsigned holds_rows = _mm512_test_epi64_mask(hc, hc);
    if (b + 8 > n_bins) holds_rows &= (1u << (n_bins - b)) - 1;
    const auto mask = static_cast<__mmask8>(holds_rows);
    const __m512i g = _mm512_permutex2var_epi64(low, even, high);
    _mm512_storeu_si512(into.g + count, _mm512_maskz_compress_epi64(mask, g));
    _mm512_storeu_si512(into.hc + count, _mm512_maskz_compress_epi64(mask, hc));
    into.occupied.byte[b / 8] = static_cast<std::uint8_t>(holds_rows);
    count += std::popcount(holds_rows);
  }
#else
  for (int b = 0; b < n_bins; ++b) {
    const bool holds_rows = histogram[b].hc != 0;
    into.g[count] = histogram[b].g;
    into.hc[count] = histogram[b].hc;
    into.occupied.byte[b / 8] |= static_cast<std::uint8_t>(holds_rows << b % 8);
    count += holds_rows;
  }
#endif
  std::fill_n(into.g + count, 8, 0);
  std::fill_n(into.hc + count, 8, 0);
  into.count = count;
}

template <class Scan>
Split best_cut(const Node& node, const Sum& missing, Scan& scan) {
  Split best;
  if (missing.hc != 0) {  // the cut after the last bin parts the missing values from the rest
    consider(node, scan, {0, 0}, false, best);
    --scan.count;
    consider(node, scan, missing, true, best);
  } else {  // nothing to learn a direction from: missing values follow the larger child
    --scan.count;
    consider(node, scan, {0, 0}, false, best);
    best.missing_left = 2 * node.fixed.count(best.left) >= node.fixed.count(node.total);
  }
  return best;
}

Split best_numeric(const Node& node, const FeatureHistogram& histogram) {
  const Sum missing = histogram.sums[kMissingBin];
  if (node.fixed.count(node.total) < kSparseRows) {
    OccupiedBins scan;
    squeeze(histogram.sums, histogram.n_bins, scan);
    return best_cut(node, missing, scan);
  }
  AllBins scan{histogram.sums, histogram.n_bins};
  return best_cut(node, missing, scan);
}

void set_category(Split& split, int bin) { split.categories[bin >> 5] |= 1u << (bin & 31); }

// One category against the rest: for features with few of them in the node.
void consider_one_against_rest(const Node& node, const std::uint8_t* occupied, int count,
                               const Sum* histogram, Split& best) {
  for (int i = 0; i < count; ++i) {
    const Sum left = histogram[occupied[i]];
    if (!node.allowed(left)) continue;
    const double gain = node.gain(left);
    if (!(gain > best.gain)) continue;
    best = Split{};
    best.gain = gain;
    best.left = left;
    set_category(best, occupied[i]);
  }
}

// Categories in the order of G/(H + smoothing): the best cut of this order is the best of all
// subsets for a convex loss (Fisher), and the smoothing and the extra λ keep rare ones in check.
void consider_sorted(const Node& node, std::uint8_t* occupied, int count, const Sum* histogram,
                     Split& best) {
  double ratio[kBins];
  for (int i = 0; i < count; ++i) {
    const Sum& sum = histogram[occupied[i]];
    ratio[occupied[i]] = node.fixed.g(sum) / (node.fixed.h(sum) + node.rules.cat_smooth);
  }
  std::stable_sort(occupied, occupied + count,
                   [&](std::uint8_t a, std::uint8_t b) { return ratio[a] < ratio[b]; });
  const int longest = std::min(node.rules.max_cat_threshold, count - 1);
  for (const bool from_high : {false, true}) {
    Sum left = {0, 0};
    for (int taken = 1; taken <= longest; ++taken) {
      left += histogram[occupied[from_high ? count - taken : taken - 1]];
      if (!node.allowed(left)) continue;
      const double gain = node.gain(left, node.rules.cat_l2);
      if (!(gain > best.gain)) continue;
      best = Split{};
      best.gain = gain;
      best.left = left;
      for (int i = 0; i < taken; ++i) set_category(best, occupied[from_high ? count - 1 - i : i]);
    }
  }
}

// Missing values and categories not seen in the node go right.
Split best_categorical(const Node& node, const FeatureHistogram& histogram) {
  Split best;
  std::uint8_t occupied[kBins];
  int count = 0;
  for (int b = 0; b < histogram.n_bins; ++b) {
    occupied[count] = static_cast<std::uint8_t>(b);
    count += histogram.sums[b].hc != 0;
  }
  if (count <= node.rules.max_cat_to_onehot) {
    consider_one_against_rest(node, occupied, count, histogram.sums, best);
  } else {
    consider_sorted(node, occupied, count, histogram.sums, best);
  }
  best.categorical = true;
  return best;
}

}  // namespace

double leaf_weight(const SplitRules& rules, double G, double H) {
  const double denominator = H + rules.reg_lambda;
  if (!(denominator > 0.0)) return 0.0;
  const double weight = -soft_threshold(G, rules.reg_alpha) / denominator;
  const double cap = rules.max_delta_step;
  return cap > 0.0 ? std::clamp(weight, -cap, cap) : weight;
}

SplitSearch::SplitSearch(const SplitRules& rules, const FixedPoint& fixed, const Sum& node)
    : rules_(rules),
      fixed_(fixed),
      total_(node),
      parent_score_(score(rules, fixed.g(node), fixed.h(node), rules.reg_lambda)),
      least_gain_(0.5 * kRelativeNoise * parent_score_) {}

void SplitSearch::offer(const FeatureHistogram& histogram, Split& best) const {
  const Node node{rules_, fixed_, total_, parent_score_, std::max(best.gain, least_gain_)};
  Split split =
      histogram.categorical ? best_categorical(node, histogram) : best_numeric(node, histogram);
  if (!(split.gain > node.gain_to_beat)) return;
  split.feature = histogram.feature;
  best = split;
}

}  // namespace hedgerow
