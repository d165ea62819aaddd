#include "gradient/row_sampling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/threads.hpp"
#include "shared/random.hpp"

namespace hedgerow {
namespace {

constexpr double kLargestPart = 2.0 / 3.0;  // of a one-sided sample

template <class Task>
void for_each_block(std::size_t n, int threads, Task task) {
  const std::size_t blocks = (n + kRowBlock - 1) / kRowBlock;
  parallel_for(threads_for(n, 2 * kRowBlock, threads), blocks, [&](std::size_t block) {
    task(block, block * kRowBlock, std::min(n, (block + 1) * kRowBlock));
  });
}

struct Pair {
  double g, h;
};

Pair read(const RawGradients& raw, std::size_t i) {
  if (raw.wide) return {raw.wide[i].g, raw.wide[i].h};
  return {raw.narrow_g[i], raw.narrow_h[i]};
}

// The largest of numbers ≥ 0, one of each worker. Their bits are ordered as the numbers are.
double largest_of_all(double own, const Reduction& reduction) {
  auto bits = std::bit_cast<std::uint64_t>(own);
  reduction.max({&bits, 1});
  return std::bit_cast<double>(bits);
}

// The largest gradient or weighted hessian.
double largest_entry(const GradientTotals* summary, std::size_t n_outputs, double lambda) {
  double largest = 0.0;
  for (std::size_t k = 0; k < n_outputs; ++k) {
    largest = std::max({largest, summary[k].max_g, std::sqrt(lambda) * summary[k].max_h});
  }
  return largest;
}

// The power of two that brings a number close to 1.
double scale_near_one(double number) {
  return number > 0.0 ? std::ldexp(1.0, -std::max(std::ilogb(number), -1022)) : 1.0;
}

// The magnitude of each row's gradients, scaled so that squares neither overflow nor vanish.
std::vector<double> magnitudes(const GradientSampling& sampling,
                               const std::vector<RawGradients>& outputs, std::size_t n,
                               const GradientTotals* summary, const Reduction& reduction,
                               int threads) {
  const bool counts_hessians = sampling.method == SamplingMethod::minimal_variance;
  const double lambda = counts_hessians ? sampling.reg_lambda : 0.0;
  const double scale =
      scale_near_one(largest_of_all(largest_entry(summary, outputs.size(), lambda), reduction));
  std::vector<double> magnitude(n);
  for_each_block(n, threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double square = 0.0;
      for (const RawGradients& raw : outputs) {
        const Pair pair = read(raw, i);
        const double g = scale * pair.g, h = scale * pair.h;
        square += g * g + lambda * h * h;
      }
      magnitude[i] = std::sqrt(square);
    }
  });
  return magnitude;
}

// The magnitudes as integers, in units of the largest / 2^63, so that sums of them do not depend on
// any order. 0 only for 0: a row with gradients must have a chance of being sampled.
std::vector<std::uint64_t> sizes(const GradientSampling& sampling,
                                 const std::vector<RawGradients>& outputs, std::size_t n,
                                 const GradientTotals* summary, const Reduction& reduction,
                                 int threads) {
  const std::vector<double> magnitude =
      magnitudes(sampling, outputs, n, summary, reduction, threads);
  const double own = n > 0 ? *std::max_element(magnitude.begin(), magnitude.end()) : 0.0;
  const double largest = largest_of_all(own, reduction);
  std::vector<std::uint64_t> size(n);
  if (!(largest > 0.0)) return size;
  for_each_block(n, threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto steps = static_cast<std::uint64_t>(magnitude[i] / largest * 0x1p63);
      size[i] = magnitude[i] > 0.0 ? std::max<std::uint64_t>(steps, 1) : 0;
    }
  });
  return size;
}

// How many sizes there are, and their sum. The halves of 2^32 sizes add up to less than 2^64.
struct SizeSums {
  std::uint64_t count = 0, high = 0, low = 0;

  double sum() const { return static_cast<double>(high) * 0x1p32 + static_cast<double>(low); }
  SizeSums& operator+=(const SizeSums& other) {
    count += other.count;
    high += other.high;
    low += other.low;
    return *this;
  }
};

// Digits of sizes, of 8 bits each, and the sizes that make another thread worthwhile.
constexpr int kDigitBits = 8;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kSizesPerThread = 16384;

std::size_t digit_of(std::uint64_t size, int shift) { return (size >> shift) & (kDigits - 1); }

// Sums of sizes by one of their digits: counts, then high halves, then low ones.
class SizeHistogram {
 public:
  void add(std::span<const std::uint64_t> sizes, int shift) {
    for (const std::uint64_t size : sizes) {
      const std::size_t digit = digit_of(size, shift);
      words_[digit] += 1;
      words_[kDigits + digit] += size >> 32;
      words_[2 * kDigits + digit] += size & 0xffffffffu;
    }
  }
  void add(const SizeHistogram& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] += other.words_[i];
  }
  void add_other_workers(const Reduction& reduction) { reduction.sum(words_); }
  SizeSums at(std::size_t digit) const {
    return {words_[digit], words_[kDigits + digit], words_[2 * kDigits + digit]};
  }

 private:
  std::array<std::uint64_t, 3 * kDigits> words_ = {};
};

// Sizes in parts, one for each thread; after each digit only those that begin with the digits found
// so far are kept.
class SizeParts {
 public:
  SizeParts(std::span<const std::uint64_t> sizes, int threads)
      : team_(threads_for(sizes.size(), kSizesPerThread, threads)),
        parts_(static_cast<std::size_t>(team_)),
        kept_(parts_.size()),
        histograms_(parts_.size()) {
    const std::size_t n = sizes.size(), count = parts_.size();
    for (std::size_t i = 0; i < count; ++i) {
      parts_[i] = sizes.subspan(n * i / count, n * (i + 1) / count - n * i / count);
    }
  }

  SizeHistogram by_digit(int shift) {
    parallel_for(team_, parts_.size(), [&](std::size_t i) {
      histograms_[i] = {};
      histograms_[i].add(parts_[i], shift);
    });
    SizeHistogram all;
    for (const SizeHistogram& one : histograms_) all.add(one);
    return all;
  }

  void keep(std::size_t digit, int shift) {
    parallel_for(team_, parts_.size(), [&](std::size_t i) {
      std::vector<std::uint64_t> of_digit;
      std::copy_if(parts_[i].begin(), parts_[i].end(), std::back_inserter(of_digit),
                   [&](std::uint64_t size) { return digit_of(size, shift) == digit; });
      kept_[i] = std::move(of_digit);
      parts_[i] = kept_[i];
    });
  }

 private:
  int team_;
  std::vector<std::span<const std::uint64_t>> parts_;
  std::vector<std::vector<std::uint64_t>> kept_;
  std::vector<SizeHistogram> histograms_;
};

// Rows above a size are certainly sampled, the others by chance.
struct Boundary {
  std::uint64_t above = 0;
  SizeSums certain, others;
};

// The boundary such that is_certain(size, sums of the sizes from it on, sums of those below it)
// holds for all larger sizes and no other; it never holds for 0. The digits of the boundary are
// found one after another, from a histogram of the sizes that begin with the digits found so far.
template <class IsCertain>
Boundary find_boundary(std::span<const std::uint64_t> sizes, IsCertain is_certain,
                       const Reduction& reduction, int threads) {
  SizeParts parts(sizes, threads);
  Boundary boundary;  // of what has the same digits: `certain` is above all of it, `others` below
  for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    SizeHistogram histogram = parts.by_digit(shift);
    histogram.add_other_workers(reduction);
    std::array<SizeSums, kDigits> below;
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      below[digit] = boundary.others;
      boundary.others += histogram.at(digit);
    }
    std::size_t digit = kDigits - 1;
    for (; digit > 0; --digit) {
      SizeSums from_here = boundary.certain;
      from_here += histogram.at(digit);
      const std::uint64_t size = boundary.above + (std::uint64_t{digit} << shift);
      if (!is_certain(size, from_here, below[digit])) break;
      boundary.certain = from_here;
    }
    boundary.above += std::uint64_t{digit} << shift;
    boundary.others = below[digit];
    if (shift == 0) boundary.others += histogram.at(digit);
    if (shift > 0) parts.keep(digit, shift);
  }
  return boundary;
}

// p = 1 above a size, else size × slope + level.
struct Probability {
  std::uint64_t above;
  double slope, level;

  double operator()(std::uint64_t size) const {
    return size > above ? 1.0 : std::min(1.0, static_cast<double>(size) * slope + level);
  }
};

Probability one_sided(std::span<const std::uint64_t> size, double sample_size, double n_total,
                      const Reduction& reduction, int threads) {
  const auto largest = static_cast<std::uint64_t>(kLargestPart * sample_size);
  const Boundary boundary = find_boundary(
      size,
      [&](std::uint64_t, const SizeSums& from, const SizeSums&) { return from.count <= largest; },
      reduction, threads);
  const auto certain = static_cast<double>(boundary.certain.count);
  return {boundary.above, 0.0, (sample_size - certain) / (n_total - certain)};
}

// The slope at which Σ min(1, size × slope) equals the sample size. Rows from
// some size on are certain: p would exceed 1 there with the slope that samples the rest of the
// sample from smaller sizes.
Probability minimal_variance(std::span<const std::uint64_t> size, double sample_size,
                             double n_total, const Reduction& reduction, int threads) {
  const Boundary boundary = find_boundary(
      size,
      [&](std::uint64_t at, const SizeSums& from, const SizeSums& below) {
        const double by_chance = sample_size - static_cast<double>(from.count);
        return static_cast<double>(at) * by_chance > below.sum();
      },
      reduction, threads);
  const double others = boundary.others.sum();
  if (boundary.certain.count == 0 && !(others > 0.0)) {
    return {boundary.above, 0.0, sample_size / n_total};
  }
  const double by_chance = sample_size - static_cast<double>(boundary.certain.count);
  return {boundary.above, others > 0.0 ? by_chance / others : 0.0, 0.0};
}

Probability choose_probability(SamplingMethod method, std::span<const std::uint64_t> size,
                               double sample_size, double n_total, const Reduction& reduction,
                               int threads) {
  switch (method) {
    case SamplingMethod::one_sided:
      return one_sided(size, sample_size, n_total, reduction, threads);
    case SamplingMethod::minimal_variance:
      return minimal_variance(size, sample_size, n_total, reduction, threads);
  }
  return {0, 0.0, 1.0};
}

}  // namespace

SampledRows sample_by_gradient(const GradientSampling& sampling, std::uint64_t round,
                               const std::vector<RawGradients>& outputs, std::size_t n,
                               GradientTotals* summary, int threads) {
  const NoReduction alone;
  const Reduction& reduction = sampling.reduction ? *sampling.reduction : alone;
  const auto n_total = static_cast<double>(std::max<std::uint64_t>(sampling.n_total, n));
  const std::vector<std::uint64_t> size = sizes(sampling, outputs, n, summary, reduction, threads);
  const Probability probability = choose_probability(
      sampling.method, size, sampling.fraction * n_total, n_total, reduction, threads);
  const std::uint64_t key = hash_key(sampling.seed, Purpose::row_sample, round);
  const std::size_t blocks = (n + kRowBlock - 1) / kRowBlock, K = outputs.size();
  std::vector<SampledRows> samples(blocks);
  std::vector<GradientTotals> parts(blocks * K);
  for_each_block(n, threads, [&](std::size_t block, std::size_t begin, std::size_t end) {
    double factor[kRowBlock], g[kRowBlock], h[kRowBlock];
    for (std::size_t i = begin; i < end; ++i) {
      const double p = probability(size[i]);
      const bool is_drawn = p >= 1.0 || unit_interval(hash_at(key, sampling.first_row + i)) < p;
      factor[i - begin] = is_drawn ? 1.0 / p : 0.0;
      if (!is_drawn) continue;
      samples[block].rows.push_back(static_cast<std::uint32_t>(i));
      samples[block].factor.push_back(1.0 / p);
    }
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t i = begin; i < end; ++i) {
        const Pair pair = read(outputs[k], i);
        g[i - begin] = factor[i - begin] * pair.g;
        h[i - begin] = factor[i - begin] * pair.h;
      }
      store(g, h, end - begin, outputs[k], begin);
      parts[block * K + k] = summarise(g, h, end - begin);
    }
  });
  for (std::size_t k = 0; k < K; ++k) {
    summary[k] = {};
    for (std::size_t block = 0; block < blocks; ++block) summary[k].add(parts[block * K + k]);
  }
  SampledRows all;
  for (const SampledRows& some : samples) {
    all.rows.insert(all.rows.end(), some.rows.begin(), some.rows.end());
    all.factor.insert(all.factor.end(), some.factor.begin(), some.factor.end());
  }
  return all;
}

std::vector<std::uint32_t> sample_rows(std::uint64_t seed, std::uint64_t round,
                                       std::uint64_t first_row, std::size_t n,
                                       std::span<const double> fraction, const std::int32_t* kind,
                                       const std::int32_t* unit) {
  const std::uint64_t key = hash_key(seed, Purpose::row_sample, round);
  // Every row is written, and the next one over it unless it is chosen: a branch that goes either
  // way at random would take longer than the hash.
  std::vector<std::uint32_t> chosen(n);
  std::size_t count = 0;
  for (std::size_t row = 0; row < n; ++row) {
    const double p = fraction[kind ? static_cast<std::size_t>(kind[row]) : 0];
    const std::uint64_t unit_id = unit ? static_cast<std::uint64_t>(unit[row]) : first_row + row;
    chosen[count] = static_cast<std::uint32_t>(row);
    count += unit_interval(hash_at(key, unit_id)) < p ? 1 : 0;
  }
  chosen.resize(count);
  return chosen;
}

}  // namespace hedgerow
