// Quantisation of all outputs at once: a tile of rows is quantised lane by lane, which compilers
// vectorise, and then transposed.
#include "gradient/vector_store.hpp"

#include <cmath>
#include <type_traits>

#include "core/threads.hpp"

namespace hedgerow {
namespace {

// Rows that are transposed at a time: with eight lanes, 16 KiB of wide words.
constexpr std::size_t kTile = 128;
constexpr double kHalfWord = 0x1p31;
// Minimum number of steps of the mean gradient in half a word, per ratio of the largest to the
// mean. Packed rows of one output have 2^14 for the largest, which is at most 64 times the mean.
constexpr double kStepsPerRatio = 4.0;
// Above this ratio of the largest gradient to the mean, few rows would determine the steps of all
// others. A class of one row in a thousand is just within it.
constexpr double kLargestRatio = 1024.0;

// The maximum of sums over all rows, in steps: rounding adds up to one step per row, and some parts
// in 2^24 of the total. Counts have 32 bits of their own, which kMostRows fit into. In half a word
// no room is left from 2^30 rows on, and fits_one_word is false long before; wide words always have
// enough.
static_assert(kMostRows < (std::size_t{1} << 32));
double room(std::size_t n, bool wide) {
  return (wide ? 0x1p62 : kHalfWord) * (1.0 - 0x1p-20) - 2.0 * static_cast<double>(n);
}

template <bool kWide>
using Steps = std::conditional_t<kWide, std::int64_t, std::int32_t>;

template <bool kWide>
struct QuantisedTile {
  std::uint64_t word[kPanelWidth * (kWide ? 2 : 1)][kTile];
  std::size_t width, count;  // lanes and rows in use

  // Sets the words of a lane from steps of g and h.
  template <class G, class H>
  void put(std::size_t lane, G g, H h) {
    std::uint64_t* __restrict first = word[lane];
    std::uint64_t* __restrict second = word[kWide ? width + lane : lane];
    const std::size_t n = count;
    for (std::size_t i = 0; i < n; ++i) {
      const Steps<kWide> g_steps = g(i), h_steps = h(i);
      if constexpr (kWide) {
        first[i] = static_cast<std::uint64_t>(g_steps);
        second[i] = static_cast<std::uint64_t>(h_steps);
      } else {
        first[i] = static_cast<std::uint64_t>(g_steps) << 32 | static_cast<std::uint32_t>(h_steps);
      }
    }
  }

  // Writes the rows, of 4, 8 or 16 words.
  void store(std::uint64_t* rows) const {
    const std::size_t words = width * (kWide ? 2 : 1);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t w = 0; w < words; ++w) rows[i * words + w] = word[w][i];
    }
  }
};

template <bool kWide>
Steps<kWide> to_steps(double x) {
  return static_cast<Steps<kWide>>(std::floor(x + 0.5));
}

// A positive h becomes at least one step: H is positive wherever there are rows with weight.
template <bool kWide>
Steps<kWide> to_positive_steps(double x) {
  const Steps<kWide> steps = to_steps<kWide>(x);
  return x > 0.0 ? (steps < 1 ? 1 : steps) : 0;
}

// The raw gradients of one output.
template <bool kWide>
struct Raw {
  Raw(const RawGradients& first, std::size_t start)
      : g_(kWide ? nullptr : first.narrow_g + start),
        h_(kWide ? nullptr : first.narrow_h + start),
        pairs_(kWide ? first.wide + start : nullptr) {}

  double g(std::size_t i) const {
    if constexpr (kWide) return pairs_[i].g;
    return g_[i];
  }
  double h(std::size_t i) const {
    if constexpr (kWide) return pairs_[i].h;
    return h_[i];
  }

 private:
  const float *g_, *h_;
  const WidePair* pairs_;
};

template <bool kWide>
struct Quantiser {
  const RawGradients& raw;
  const VectorGradients& to;

  Raw<kWide> output(int k, std::size_t begin) const {
    return {raw, static_cast<std::size_t>(k) * to.n_rows + begin};
  }

  void put_weights(std::size_t begin, QuantisedTile<kWide>& tile) const {
    double sum[kTile] = {};
    for (int k = 0; k < to.lanes.n_outputs; ++k) {
      const Raw<kWide> rows = output(k, begin);
      for (std::size_t i = 0; i < tile.count; ++i) sum[i] += rows.h(i);
    }
    const double per_weight = 1.0 / (to.g_unit[0] * to.lanes.n_outputs);
    tile.put(
        0, [&](std::size_t i) { return to_positive_steps<kWide>(sum[i] * per_weight); },
        [](std::size_t) { return 1; });
  }

  void put_output(int k, std::size_t begin, std::size_t place, QuantisedTile<kWide>& tile) const {
    const Raw<kWide> rows = output(k, begin);
    const double per_g = 1.0 / to.g_unit[k + 1], per_h = 1.0 / to.h_unit[k + 1];
    tile.put(
        place, [=](std::size_t i) { return to_steps<kWide>(rows.g(i) * per_g); },
        [=](std::size_t i) { return to_positive_steps<kWide>(rows.h(i) * per_h); });
  }

  void operator()(std::size_t begin, std::size_t count, std::uint64_t* words) const {
    for (int panel = 0; panel < to.lanes.n_panels(); ++panel) {
      QuantisedTile<kWide> tile = {};
      tile.width = static_cast<std::size_t>(to.lanes.width(panel));
      tile.count = count;
      for (std::size_t place = 0; place < tile.width; ++place) {
        const int lane = panel * kPanelWidth + static_cast<int>(place);
        if (lane == 0) {
          put_weights(begin, tile);
        } else if (lane <= to.lanes.n_outputs) {
          put_output(lane - 1, begin, place, tile);
        }
      }
      tile.store(words + to.n_rows * to.before(panel) + begin * to.width(panel));
    }
  }
};

template <bool kWide>
void quantise_rows(const RawGradients& raw, const VectorGradients& to, std::uint64_t* words,
                   int threads) {
  const std::size_t work = to.n_rows * static_cast<std::size_t>(to.lanes.count());
  const Quantiser<kWide> quantise{raw, to};
  parallel_for(
      threads_for(work, 2 * kRowBlock, threads), (to.n_rows + kTile - 1) / kTile,
      [&](std::size_t i) { quantise(i * kTile, std::min(kTile, to.n_rows - i * kTile), words); });
}

}  // namespace

bool fits_one_word(const GradientSummary& summary, std::size_t n) {
  const auto rows = static_cast<double>(n);
  const double largest_to_mean = std::min(room(n, false) / rows / kStepsPerRatio, kLargestRatio);
  return n >= kOneWordFromRows && is_moderate(summary.max_g) && is_moderate(summary.max_h) &&
         summary.max_g * rows <= largest_to_mean * summary.sum_g &&
         summary.max_h * rows <= largest_to_mean * summary.sum_h;
}

double vector_unit(double sum, std::size_t n, bool wide) { return unit_for(sum, room(n, wide)); }

void VectorRows::choose_units(std::span<const GradientSummary> summary, std::size_t n, bool wide) {
  const auto lanes =
      static_cast<std::size_t>(OutputLanes{static_cast<int>(summary.size())}.count());
  g_unit_.assign(lanes, 1.0);
  h_unit_.assign(lanes, 1.0);
  double sum_h = 0.0;
  for (std::size_t k = 0; k < summary.size(); ++k) {
    g_unit_[k + 1] = vector_unit(summary[k].sum_g, n, wide);
    h_unit_[k + 1] = vector_unit(summary[k].sum_h, n, wide);
    sum_h += summary[k].sum_h / static_cast<double>(summary.size());
  }
  g_unit_[0] = vector_unit(sum_h, n, wide);
}

VectorGradients VectorRows::quantise(const RawGradients& raw,
                                     std::span<const GradientSummary> summary, RowCounts n,
                                     bool wide, int threads) {
  choose_units(summary, n.total, wide);
  VectorGradients to{
      {static_cast<int>(summary.size())}, wide, n.here, nullptr, g_unit_.data(), h_unit_.data()};
  if (const std::size_t needed = n.here * to.words_per_row(); needed > capacity_) {
    words_ = Buffer<std::uint64_t>(needed);
    capacity_ = needed;
  }
  to.words = words_.get();
  if (wide) {
    quantise_rows<true>(raw, to, words_.get(), threads);
  } else {
    quantise_rows<false>(raw, to, words_.get(), threads);
  }
  return to;
}

}  // namespace hedgerow
