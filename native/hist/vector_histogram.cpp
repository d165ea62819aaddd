// Histograms of all outputs. The sums of a bin in a panel are one or two cache lines, so that a
// load, an addition and a store per row serve all outputs of the panel.
#include "hist/vector_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "hist/joint_histogram.hpp"

namespace hedgerow::hist {
namespace {

// Rows to fetch ahead: about the latency of main memory divided by the time a row takes.
constexpr std::size_t kAhead = 16;

template <int kWords>
struct Vector {
  static constexpr int kAlignment = 8 * std::min(kWords, kPanelWidth);
  typedef std::uint64_t Type
      __attribute__((vector_size(8 * kWords), aligned(kAlignment), may_alias));
};

// The inputs of the inner loops: a group and a panel.
struct Source {
  const std::uint8_t* bins;
  std::size_t stride;
  const std::uint64_t* words;
  RowSet rows;
};

// Calls body(row) for every row, fetching ahead where rows are gathered.
template <int kWords, bool kGather, class Body>
inline __attribute__((always_inline)) void for_each_row(const Source& source, Body body) {
  const std::size_t count = source.rows.count;
  std::size_t i = 0;
  if constexpr (kGather) {
    for (; i + kAhead < count; ++i) {
      const std::size_t next = source.rows.ids[i + kAhead];
      __builtin_prefetch(source.bins + next * source.stride);
      for (int w = 0; w < kWords; w += 8) __builtin_prefetch(source.words + next * kWords + w);
      body(source.rows.ids[i]);
    }
  }
  for (; i < count; ++i) body(kGather ? source.rows.ids[i] : source.rows.first + i);
}

template <int kWords, bool kGather>
void add_panel(const Source& source, const ColumnGroup& group, std::uint64_t* histograms,
               BinSet* occupied) {
  using Sums = typename Vector<kWords>::Type;
  const int n_columns = group.count;
  std::uint8_t offset[kGroupWidth];
  std::memcpy(offset, group.offset, sizeof offset);
  for_each_row<kWords, kGather>(source, [&](std::size_t row) {
    const Sums sums = *reinterpret_cast<const Sums*>(source.words + row * kWords);
    const std::uint8_t* bin = source.bins + row * source.stride;
    auto* column = reinterpret_cast<Sums*>(histograms);
#pragma GCC unroll 4
    for (int k = 0; k < n_columns; ++k, column += kBins) column[bin[offset[k]]] += sums;
    if (!occupied) return;
    for (int k = 0; k < n_columns; ++k) {
      const unsigned b = bin[offset[k]];
      occupied[k].bits[b / 64] |= std::uint64_t{1} << (b % 64);
    }
  });
}

template <int kWords, bool kGather>
void add_panel_up(const Source& source, std::uint64_t* sums) {
  using Sums = typename Vector<kWords>::Type;
  Sums total = {};
  for_each_row<kWords, kGather>(source, [&](std::size_t row) {
    total += *reinterpret_cast<const Sums*>(source.words + row * kWords);
  });
  for (int w = 0; w < kWords; ++w) sums[w] += total[w];
}

// Calls a function template for a number of words (4, 8 or 16) and for gathered rows or not.
template <class Call>
void dispatch(std::size_t words, bool gather, Call call) {
  const auto with = [&](auto width) {
    if (gather) return call.template operator()<decltype(width)::value, true>();
    call.template operator()<decltype(width)::value, false>();
  };
  if (words == 4) return with(std::integral_constant<int, 4>{});
  if (words == 8) return with(std::integral_constant<int, 8>{});
  with(std::integral_constant<int, 16>{});
}

}  // namespace

void VectorDigit::sum_up(int stride, int radix) {
  for (int panel = 0; panel < gradients_.lanes.n_panels(); ++panel) {
    const std::uint64_t* codes =
        is_first_ ? joint_.column(gradients_, panel, column_) : rest(panel);
    sum_digit(gradients_.width(panel), static_cast<std::size_t>(stride),
              static_cast<std::size_t>(radix), codes, rest(panel),
              histogram().column(gradients_, panel, 0));
  }
  is_first_ = false;
}

void VectorDigit::move_missing(int n_bins, int radix) {
  for (int panel = 0; panel < gradients_.lanes.n_panels(); ++panel) {
    const std::size_t width = gradients_.width(panel);
    std::uint64_t* bins = histogram().column(gradients_, panel, 0);
    std::uint64_t* missing = bins + kMissingBin * width;
    if (radix > n_bins) {
      std::copy_n(bins + static_cast<std::size_t>(n_bins) * width, width, missing);
    } else {
      std::fill_n(missing, width, 0);
    }
  }
}

BinSet VectorDigit::occupied(int n_bins) const {
  const std::uint64_t* bins = histogram().column(gradients_, 0, 0);
  BinSet occupied = {};
  const auto look_at = [&](std::size_t bin) {
    const bool has_rows = gradients_.count(bins + bin * gradients_.width(0)) > 0;
    occupied.bits[bin / 64] |= static_cast<std::uint64_t>(has_rows) << (bin % 64);
  };
  for (std::size_t bin = 0; bin < static_cast<std::size_t>(n_bins); ++bin) look_at(bin);
  look_at(kMissingBin);
  return occupied;
}

void add_rows(const BinnedView& bins, const ColumnGroup& group, const VectorGradients& gradients,
              const RowSet& rows, const VectorHistograms& histograms, BinSet* occupied) {
  for (int panel = 0; panel < gradients.lanes.n_panels(); ++panel) {
    const Source source{bins.block(group.block), static_cast<std::size_t>(bins.stride),
                        gradients.rows(panel), rows};
    std::uint64_t* first = histograms.column(gradients, panel, 0);
    BinSet* marked = panel == 0 ? occupied : nullptr;
    dispatch(gradients.width(panel), rows.ids != nullptr, [&]<int kWords, bool kGather>() {
      add_panel<kWords, kGather>(source, group, first, marked);
    });
  }
}

void clear_occupied(const VectorGradients& gradients, const VectorHistograms& histograms,
                    BinSet* occupied) {
  for (int k = 0; k < histograms.n_columns; ++k) {
    for (int panel = 0; panel < gradients.lanes.n_panels(); ++panel) {
      const std::size_t width = gradients.width(panel);
      std::uint64_t* column = histograms.column(gradients, panel, k);
      for (std::size_t i = 0; i < kBins / 64; ++i) {
        for (std::uint64_t bits = occupied[k].bits[i]; bits; bits &= bits - 1) {
          const std::size_t bin = 64 * i + static_cast<std::size_t>(std::countr_zero(bits));
          std::fill_n(column + bin * width, width, 0);
        }
      }
    }
    occupied[k] = {};
  }
}

void add_up(const VectorGradients& gradients, const RowSet& rows, std::uint64_t* sums) {
  for (int panel = 0; panel < gradients.lanes.n_panels(); ++panel) {
    const Source source{nullptr, 0, gradients.rows(panel), rows};
    std::uint64_t* of_panel = sums + gradients.before(panel);
    dispatch(gradients.width(panel), rows.ids != nullptr,
             [&]<int kWords, bool kGather>() { add_panel_up<kWords, kGather>(source, of_panel); });
  }
}

}  // namespace hedgerow::hist
