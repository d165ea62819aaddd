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

// Everything about one node that the scan of a feature needs, as doubles and integers in
// fixed-point units.
struct Node {
  const SplitRules& rules;
  const FixedPoint& fixed;
  Sum total;
  double parent_score;   // in real units
  std::uint64_t min_hc;  // hc ≥ min_hc says that there are at least min_samples_leaf rows
  double gain_to_beat;   // of the features before, or what rounding alone could make

  bool allowed(const Sum& left) const {
    const Sum right = total - left;
    return left.hc >= min_hc && right.hc >= min_hc && fixed.h(left) >= rules.min_child_weight &&
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
  std::uint64_t word[kBins / 64] = {};

  void insert(int first, std::uint64_t bits) { word[first / 64] |= bits << first % 64; }
  int nth(int n) const {
    int w = 0;
    for (; n >= std::popcount(word[w]); ++w) n -= std::popcount(word[w]);
    std::uint64_t bits = word[w];
    for (; n > 0; --n) bits &= bits - 1;
    return 64 * w + std::countr_zero(bits);
  }
};

// Sums in scan order: all bins of the histogram, or the occupied ones alone.
struct Scan {
  const Sum* sums;
  const Occupied* occupied;  // null: sums[i] is bin i
  int count;                 // candidates are cuts after sums[0] … sums[count − 1]

  int bin(int position) const { return occupied ? occupied->nth(position) : position; }
};

inline Long8 load8(const void* from) { return *static_cast<const Long8Unaligned*>(from); }

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

// Scans eight positions at a time with `start` already on the left side.
template <bool kL1>
Best8 scan8(const Node& node, const Scan& scan, const Sum& start) {
  const FixedPoint& fixed = node.fixed;
  const double reg_lambda = node.rules.reg_lambda / fixed.h_unit;
  const double alpha = node.rules.reg_alpha / fixed.g_unit;
  const double min_h = node.rules.min_child_weight / fixed.h_unit;
  const double to_units = fixed.h_unit / (fixed.g_unit * fixed.g_unit);
  const double to_beat = node.parent_score + 2.0 * (node.gain_to_beat + node.rules.min_split_gain);

  const Long8 zero = {};
  const Long8 h_mask = zero + static_cast<std::int64_t>(fixed.h_mask());
  const ULong8 min_hc = ULong8{} + node.min_hc;
  const Long8 total_g = zero + node.total.g;
  const Long8 total_hc = zero + static_cast<std::int64_t>(node.total.hc);
  Long8 carry_g = zero + start.g, carry_hc = zero + static_cast<std::int64_t>(start.hc);
  Long8 position = {0, 1, 2, 3, 4, 5, 6, 7};
  Best8 best = {Double8{} + to_beat * to_units, Double8{} + 1.0, zero - 1};

  for (int i = 0; i < scan.count; i += 8, position += 8) {
    const Long8 low = load8(scan.sums + i), high = load8(scan.sums + i + 4);
    const Long8 left_g =
        carry_g + running_sum(__builtin_shuffle(low, high, Long8{0, 2, 4, 6, 8, 10, 12, 14}));
    const Long8 left_hc =
        carry_hc + running_sum(__builtin_shuffle(low, high, Long8{1, 3, 5, 7, 9, 11, 13, 15}));
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
                         (H_left >= min_h) & (H_right >= min_h) & ((ULong8)left_hc >= min_hc) &
                         ((ULong8)right_hc >= min_hc) & (position < scan.count);
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
int scan_capped(const Node& node, const Scan& scan, const Sum& start) {
  int chosen = -1;
  double best = node.gain_to_beat;
  Sum left = start;
  for (int i = 0; i < scan.count; ++i) {
    left += scan.sums[i];
    if (!node.allowed(left)) continue;
    const double gain = node.gain(left);
    if (gain > best) {
      best = gain;
      chosen = i;
    }
  }
  return chosen;
}

int best_position(const Node& node, const Scan& scan, const Sum& start) {
  if (node.rules.max_delta_step > 0.0) return scan_capped(node, scan, start);
  return winner(node.rules.reg_alpha > 0.0 ? scan8<true>(node, scan, start)
                                           : scan8<false>(node, scan, start));
}

Sum left_of(const Scan& scan, int position, Sum left) {
  for (int i = 0; i <= position; ++i) left += scan.sums[i];
  return left;
}

// Tries the cuts of a scan; a better one than `best` and than what is to be beaten replaces it.
void consider(const Node& node, const Scan& scan, const Sum& start, bool missing_left,
              Split& best) {
  const int position = best_position(node, scan, start);
  if (position < 0) return;
  const Sum left = left_of(scan, position, start);
  const double gain = node.gain(left);
  const int bin = scan.bin(position);
  const bool wins_tie = gain == best.gain && bin < best.bin;
  if (!(gain > node.gain_to_beat) || !(gain > best.gain || wins_tie)) return;
  best.gain = gain;
  best.bin = static_cast<std::uint8_t>(bin);
  best.missing_left = missing_left;
  best.left = left;
}

// Copies the occupied ones of the first n_bins sums together, followed by eight empty ones; returns
// how many are occupied. `sums` has room for kBins + 8.
int squeeze(const Sum* histogram, int n_bins, Sum* sums, Occupied& occupied) {
  int count = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  for (int b = 0; b < n_bins; b += 4) {
    const __m512i four = _mm512_load_si512(histogram + b);
    unsigned hc = _mm512_test_epi64_mask(four, four) & 0xaau;  // g and hc take turns: ask the hc
    if (b + 4 > n_bins) hc &= (1u << 2 * (n_bins - b)) - 1;
    _mm512_storeu_si512(sums + count,
                        _mm512_maskz_compress_epi64(static_cast<__mmask8>(hc | hc >> 1), four));
    occupied.insert(b, _pext_u32(hc, 0xaa));
    count += std::popcount(hc);
  }
#else
  for (int b = 0; b < n_bins; ++b) {
    sums[count] = histogram[b];
    occupied.insert(b, histogram[b].hc != 0);
    count += histogram[b].hc != 0;
  }
#endif
  std::fill_n(sums + count, 8, Sum{0, 0});
  return count;
}

Split best_numeric(const Node& node, const FeatureHistogram& histogram) {
  Split best;
  const Sum missing = histogram.sums[kMissingBin];
  const bool has_missing = missing.hc != 0;
  Sum squeezed[kBins + 8];
  Occupied occupied;
  Scan scan{histogram.sums, nullptr, histogram.n_bins};
  if (node.fixed.count(node.total) < kSparseRows) {
    scan = {squeezed, &occupied, squeeze(histogram.sums, histogram.n_bins, squeezed, occupied)};
  }
  if (has_missing) {  // the cut after the last bin parts the missing values from the rest
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

void improve_split(const SplitRules& rules, const FixedPoint& fixed, const Sum& node,
                   const FeatureHistogram& histogram, Split& best) {
  const double parent_score = score(rules, fixed.g(node), fixed.h(node), rules.reg_lambda);
  const Node context{rules,
                     fixed,
                     node,
                     parent_score,
                     static_cast<std::uint64_t>(rules.min_samples_leaf) << fixed.count_shift,
                     std::max(best.gain, 0.5 * kRelativeNoise * parent_score)};
  Split split = histogram.categorical ? best_categorical(context, histogram)
                                      : best_numeric(context, histogram);
  if (!(split.gain > context.gain_to_beat)) return;
  split.feature = histogram.feature;
  best = split;
}

}  // namespace hedgerow
