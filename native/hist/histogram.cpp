// Histograms, in three ways that give the same integers: packed rows as 64-bit words, accumulated
// in the cache and spilled into wide sums (many rows); packed rows widened one by one (few rows,
// where clearing and spilling would dominate); and wide rows.
#include "hist/histogram.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hist/scan_vectors.hpp"

namespace hedgerow::hist {
namespace {

// Below this many rows a spill of 256 accumulators costs more than the wider additions it saves.
constexpr std::size_t kFewRows = 1024;
// Rows to prefetch: about the latency of main memory divided by the time per row.
constexpr std::size_t kAhead = 20;

// Rows whose bins stay in the second-level cache while all groups of a block are processed.
constexpr std::size_t kChunk = 4096;

// Sums are added as unsigned numbers: hc uses all 64 bits, and a signed sum must not overflow.
typedef std::uint64_t Pair __attribute__((vector_size(16), may_alias));

template <bool kGather>
struct Cursor {
  const std::uint8_t* bins;
  std::size_t stride;
  RowSet rows;

  std::size_t row(std::size_t i) const { return kGather ? rows.ids[i] : rows.first + i; }
  const std::uint8_t* at(std::size_t row) const { return bins + row * stride; }
};

template <int K, bool kContiguous>
struct Offsets {
  std::uint8_t offset[kGroupWidth];
  explicit Offsets(const ColumnGroup& group) { std::memcpy(offset, group.offset, sizeof offset); }
  int operator[](int k) const { return kContiguous ? k : offset[k]; }
};

// Where each column of a group has its sums, of so many bytes. On x86-64, instructions add to
// memory at a constant distance from a register. Elsewhere each column has a register of its own:
// the assembly is empty, but keeps compilers from adding the distance at every access.
template <int K, std::size_t kBytes>
struct ColumnStarts {
  static constexpr std::size_t kDistance = kColumnStride * kBytes;
#if defined(__x86_64__)
  char* first;
  explicit ColumnStarts(void* sums) : first(static_cast<char*>(sums)) {}
  char* operator[](int k) const { return first + static_cast<std::size_t>(k) * kDistance; }
#else
  char* start[K];
  explicit ColumnStarts(void* sums) {
    for (int k = 0; k < K; ++k) {
      start[k] = static_cast<char*>(sums) + static_cast<std::size_t>(k) * kDistance;
      asm("" : "+r"(start[k]));
    }
  }
  char* operator[](int k) const { return start[k]; }
#endif
};

// Calls body(row, bins of the row) for i in [begin, end), prefetching if rows are gathered.
template <bool kGather, class Value, class Body>
inline __attribute__((always_inline)) void for_each_row(const Cursor<kGather>& cursor,
                                                        const Value* values, std::size_t begin,
                                                        std::size_t end, std::size_t total,
                                                        Body body) {
  std::size_t i = begin;
  if constexpr (kGather) {
    for (const std::size_t stop = std::min(end, total - std::min(total, kAhead)); i < stop; ++i) {
      const std::size_t next = cursor.row(i + kAhead);
      __builtin_prefetch(cursor.at(next));
      __builtin_prefetch(values + next);
      const std::size_t row = cursor.row(i);
      body(row, cursor.at(row));
    }
  }
  for (; i < end; ++i) {
    const std::size_t row = cursor.row(i);
    body(row, cursor.at(row));
  }
}

// Calls body(b) for every run of kRun sums of a column that may hold rows.
template <class Body>
inline __attribute__((always_inline)) void for_each_run(int n_codes, Body body) {
  const int last = kBins - kRun;
  for (int b = 0; b < std::min(n_codes, last); b += kRun) body(b);
  body(last);
}

// Adds words to the wide sums (or sets these, the first time) and clears the words.
template <bool kFirst>
void spill(const FixedPoint& fixed, int n_codes, std::uint64_t* __restrict words,
           GradientSum* __restrict histogram) {
  const int g_shift = fixed.h_bits + fixed.count_bits;
  const ULong8 count_mask = fixed.words_to_spill();
  const ULong8 h_mask = (std::uint64_t{1} << fixed.h_bits) - 1;
  for_each_run(n_codes, [&](int b) {
    const ULong8 word = ULong8::load(words + b);
    const ULong8 h = (word >> fixed.count_bits) & h_mask, count = word & count_mask;
    Pairs8 pairs = zip({as<std::int64_t>(word) >> g_shift, h | count << fixed.count_shift});
    if constexpr (!kFirst) pairs += Pairs8::load(histogram + b);
    pairs.store(histogram + b);
    ULong8().store(words + b);
  });
}

void clear(int n_codes, GradientSum* histogram) {
  for_each_run(n_codes, [&](int b) { Pairs8().store(histogram + b); });
}

// A part of a row set: rows [begin, end). The first part sets histograms, others add to them.
struct RowPart {
  std::size_t begin, end;
  bool is_first;
};

template <int K, bool kGather, bool kContiguous>
void add_packed(const Cursor<kGather>& cursor, const ColumnGroup& group, const Gradients& gradients,
                RowPart part, std::uint64_t* __restrict words, GradientSum* histogram) {
  const Offsets<K, kContiguous> offset(group);
  const ColumnStarts<K, sizeof(std::uint64_t)> column(words);
  for_each_row(cursor, gradients.packed, part.begin, part.end, cursor.rows.count,
               [&](std::size_t row, const std::uint8_t* __restrict bin) {
                 const std::uint64_t word = gradients.fixed.word(gradients.packed[row]);
#pragma GCC unroll 16
                 for (int k = 0; k < K; ++k)
                   reinterpret_cast<std::uint64_t*>(column[k])[bin[offset[k]]] += word;
               });
  for (int k = 0; k < K; ++k, words += kColumnStride, histogram += kColumnStride) {
    if (part.is_first) {
      spill<true>(gradients.fixed, group.n_codes[k], words, histogram);
    } else {
      spill<false>(gradients.fixed, group.n_codes[k], words, histogram);
    }
  }
}

template <int K, bool kGather, bool kContiguous, bool kPackedRows>
void add_wide(const Cursor<kGather>& cursor, const ColumnGroup& group, const Gradients& gradients,
              RowPart part, GradientSum* histogram) {
  const Offsets<K, kContiguous> offset(group);
  if (part.is_first) {
    for (int k = 0; k < K; ++k) clear(group.n_codes[k], histogram + k * kColumnStride);
  }
  const ColumnStarts<K, sizeof(Pair)> column(histogram);
  const auto add = [&](const GradientSum& sum, const std::uint8_t* bin) {
    const Pair pair = {static_cast<std::uint64_t>(sum.g), sum.hc};
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) reinterpret_cast<Pair*>(column[k])[bin[offset[k]]] += pair;
  };
  if constexpr (kPackedRows) {
    for_each_row(cursor, gradients.packed, part.begin, part.end, cursor.rows.count,
                 [&](std::size_t row, const std::uint8_t* bin) {
                   add(gradients.fixed.widen(gradients.packed[row]), bin);
                 });
  } else {
    for_each_row(cursor, gradients.wide, part.begin, part.end, cursor.rows.count,
                 [&](std::size_t row, const std::uint8_t* bin) { add(gradients.wide[row], bin); });
  }
}

template <int K, bool kGather, bool kContiguous>
void add_rows(const BinnedView& bins, const ColumnGroup& group, const Gradients& gradients,
              const RowSet& rows, RowPart part, Accumulators& words, GradientSum* histogram) {
  const Cursor<kGather> cursor{bins.block(group.block) + (kContiguous ? group.offset[0] : 0),
                               static_cast<std::size_t>(bins.stride), rows};
  if (!gradients.fixed.packed) {
    add_wide<K, kGather, kContiguous, false>(cursor, group, gradients, part, histogram);
  } else if (rows.count < kFewRows) {
    add_wide<K, kGather, kContiguous, true>(cursor, group, gradients, part, histogram);
  } else {
    add_packed<K, kGather, kContiguous>(cursor, group, gradients, part, words.word, histogram);
  }
}

using AddRows = void (*)(const BinnedView&, const ColumnGroup&, const Gradients&, const RowSet&,
                         RowPart, Accumulators&, GradientSum*);

template <bool kGather, bool kContiguous, int... K>
constexpr AddRows add_rows_for(int count, std::integer_sequence<int, K...>) {
  constexpr AddRows table[] = {&add_rows<K + 1, kGather, kContiguous>...};
  return table[count - 1];
}

AddRows add_rows_for(const ColumnGroup& group, bool gather) {
  constexpr std::make_integer_sequence<int, kGroupWidth> widths;
  if (group.contiguous) {
    return gather ? add_rows_for<true, true>(group.count, widths)
                  : add_rows_for<false, true>(group.count, widths);
  }
  return gather ? add_rows_for<true, false>(group.count, widths)
                : add_rows_for<false, false>(group.count, widths);
}

}  // namespace

void build_histograms(const BinnedView& bins, std::span<const ColumnGroup> groups,
                      const Gradients& gradients, const RowSet& rows, Accumulators& words,
                      GradientSum* histograms, bool adds) {
  const std::size_t chunk = gradients.fixed.packed ? gradients.fixed.words_to_spill() : kChunk;
  for (std::size_t begin = 0; begin < rows.count; begin += chunk) {
    const RowPart part{begin, std::min(rows.count, begin + chunk), begin == 0 && !adds};
    for (const ColumnGroup& group : groups) {
      GradientSum* histogram = histograms + (group.first - groups.front().first) * kColumnStride;
      add_rows_for(group, rows.ids != nullptr)(bins, group, gradients, rows, part, words,
                                               histogram);
    }
  }
}

void subtract_histogram(int n_codes, const GradientSum* __restrict child,
                        GradientSum* __restrict parent) {
  for_each_run(n_codes, [&](int b) {
    for (int i = b; i < b + kRun; ++i) {
      parent[i].g -= child[i].g;
      parent[i].hc -= child[i].hc;
    }
  });
}

void add_histogram(int n_codes, const GradientSum* __restrict part, GradientSum* __restrict total) {
  for_each_run(n_codes, [&](int b) {
    for (int i = b; i < b + kRun; ++i) {
      total[i].g += part[i].g;
      total[i].hc += part[i].hc;
    }
  });
}

}  // namespace hedgerow::hist
