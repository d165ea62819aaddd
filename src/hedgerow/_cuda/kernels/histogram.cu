// Histograms of the smaller children of a step. Mirrors native/hist/histogram.cpp.
//
// A block adds up a stretch of a leaf's rows in shared memory, and then adds the result to the
// leaf's histogram. The words of a bin lie side by side, one for each column, so a column is a bank
// of shared memory. A warp takes several rows at a time, and its lanes different columns of them:
// no two lanes meet at a bank, whatever the distribution of the bins.
#include "plan.hpp"

// Columns that a block adds up: 32 if shared memory has room for their words, else 16.
#ifndef HEDGEROW_COLUMNS
#define HEDGEROW_COLUMNS 32
#endif

namespace hedgerow::cuda {

constexpr int kBlockColumns = HEDGEROW_COLUMNS;
constexpr int kParts = kGroupColumns / kBlockColumns;  // of a group, each a block's
constexpr uint32_t kFewRows = 256;                     // not worth a pass over all bins

// How the integers of a row are added up in words of 32 bits, and what they add up to. A bin has
// kCount words of each of kColumns columns. No word overflows within kMostRows rows.

// Packed rows: g has 14 bits and a sign, h has 13.
struct PackedWords {
  static constexpr int kCount = 3;
  static constexpr int kColumns = kBlockColumns;
  static constexpr int kWords = kBins * kColumns;
  static constexpr uint32_t kMostRows = 1u << 17;
  using Row = int32_t;

  static Row load(const RowSource& source, const GradientSum*, uint32_t at, uint32_t id) {
    return source.word(at, id);
  }
  static Row from_lane(Row row, int lane) { return __shfl_sync(kAllLanes, row, lane); }
  struct Format {
    int h_bits;
    explicit Format(const FixedPoint& fixed) : h_bits(fixed.row_h_bits) {}
    int32_t g(Row row) const { return row >> h_bits; }
    uint32_t h(Row row) const { return static_cast<uint32_t>(row) & ((1u << h_bits) - 1); }
  };
  static void add(const Format& format, uint32_t* word, Row row) {
    atomicAdd(word, static_cast<uint32_t>(format.g(row)));
    atomicAdd(word + kWords, format.h(row));
    atomicAdd(word + 2 * kWords, 1u);
  }
  static GradientSum sum(const FixedPoint& fixed, const uint32_t* words, int at) {
    const auto g = static_cast<int32_t>(words[at]);
    const uint64_t h = words[kWords + at], count = words[2 * kWords + at];
    return {g, h + (count << fixed.count_shift)};
  }
  static GradientSum widen(const FixedPoint& fixed, Row row) { return fixed.widen(row); }
};

// Packed rows whose h are equal, so that Σh follows from the count. g has 23 bits and a sign: its
// low 12 bits and the rest are added up apart.
struct EqualWords : PackedWords {
  static void add(const Format& format, uint32_t* word, Row row) {
    const int32_t g = format.g(row);
    atomicAdd(word, static_cast<uint32_t>(g) & 0xfffu);
    atomicAdd(word + kWords, static_cast<uint32_t>(g >> 12));
    atomicAdd(word + 2 * kWords, 1u);
  }
  static GradientSum sum(const FixedPoint& fixed, const uint32_t* words, int at) {
    const int64_t high = static_cast<int32_t>(words[kWords + at]);
    const uint64_t count = words[2 * kWords + at];
    const uint64_t h = fixed.has_zero_h ? 0 : count;  // all rows have h = 1, or all have h = 0
    return {high * 4096 + words[at], h + (count << fixed.count_shift)};
  }
};

// Wide rows: halves of 64-bit integers, with a carry. Half of a block's columns at a time, so that
// shared memory has room for them.
struct WideWords {
  static constexpr int kCount = 4;
  static constexpr int kColumns = kBlockColumns / 2;
  static constexpr int kWords = kBins * kColumns;
  static constexpr uint32_t kMostRows = 1u << 31;
  using Row = GradientSum;

  static Row load(const RowSource&, const GradientSum* wide, uint32_t, uint32_t id) {
    return wide[id];
  }
  static Row from_lane(const Row& row, int lane) {
    return {__shfl_sync(kAllLanes, row.g, lane), __shfl_sync(kAllLanes, row.hc, lane)};
  }
  static void add_halves(uint32_t* low, uint32_t* high, uint64_t value) {
    const auto low_value = static_cast<uint32_t>(value);
    const uint32_t before = atomicAdd(low, low_value);
    const uint32_t carry = before + low_value < before ? 1u : 0u;
    const uint32_t high_value = static_cast<uint32_t>(value >> 32) + carry;
    if (high_value) atomicAdd(high, high_value);
  }
  struct Format {
    explicit Format(const FixedPoint&) {}
  };
  static void add(const Format&, uint32_t* word, const Row& row) {
    add_halves(word, word + kWords, static_cast<uint64_t>(row.g));
    add_halves(word + 2 * kWords, word + 3 * kWords, row.hc);
  }
  static GradientSum sum(const FixedPoint&, const uint32_t* words, int at) {
    const uint64_t g = words[at] | static_cast<uint64_t>(words[kWords + at]) << 32;
    const uint64_t hc = words[2 * kWords + at] | static_cast<uint64_t>(words[3 * kWords + at])
                                                     << 32;
    return {static_cast<int64_t>(g), hc};
  }
  static GradientSum widen(const FixedPoint&, const Row& row) { return row; }
};

// Columns of a group.
struct Columns {
  int group, first, count;
};

inline void add_to_histogram(uint64_t* histogram, int bin, int column, const GradientSum& sum) {
  const int at = bin * kGroupColumns + column;
  atomic_add(histogram + at, static_cast<uint64_t>(sum.g));
  atomic_add(histogram + kGroupWords + at, sum.hc);
}

// Rows straight to the histogram: a warp takes a row, a lane a column.
template <class Words>
inline void add_few(const TreeView& tree, const Leaf& leaf, const RowRange& rows,
                    const Columns& columns, uint64_t* histogram) {
  const RowSource source(tree, leaf);
  const int lane = threadIdx.x % kWarp, n_warps = blockDim.x / kWarp;
  for (uint32_t i = threadIdx.x / kWarp; i < rows.count; i += n_warps) {
    const uint32_t at = rows.begin + i, id = source.id(at);
    const auto row = Words::load(source, tree.wide(), at, id);
    if (lane >= columns.count) continue;
    const int column = columns.first + lane;
    add_to_histogram(histogram, row_of(tree.fit, columns.group, id)[column], column,
                     Words::widen(tree.fixed(), row));
  }
}

// How the lanes of a warp share the bins of its rows: kRowsAtOnce rows at a time, and of each row a
// lane has the bins of four columns, which it takes in turn. Lanes of different rows start with
// different columns.
template <class Words>
struct LaneColumns {
  static constexpr int kLanesPerRow = Words::kColumns / 4;
  static constexpr int kRowsAtOnce = kWarp / kLanesPerRow;
  static constexpr int kLoads = kWarp / kRowsAtOnce;  // to read the rows of a warp
  static constexpr int kColumnBits = Words::kColumns == 32 ? 5 : Words::kColumns == 16 ? 4 : 3;
  static_assert(1 << kColumnBits == Words::kColumns);

  int row, quad;
  int column[4], turn[4];

  explicit LaneColumns(int lane) : row(lane / kLanesPerRow), quad(lane % kLanesPerRow) {
    for (int j = 0; j < 4; ++j) {
      const int part = (j + row) % 4;
      column[j] = 4 * quad + part;
      turn[j] = (kColumnBits - 8 * part) & 31;
    }
  }
  // The place of the word of a column and bin: bin · kColumns + column, with the bin moved out of
  // those of the lane by one rotation.
  int place(uint32_t bins, int j) const {
    return static_cast<int>(__funnelshift_l(bins, bins, turn[j]) & (255u << kColumnBits)) |
           column[j];
  }
};

// The rows of a warp, at most 32 from `first` on, to words in shared memory. Columns behind the
// last have bins, too; nobody reads their words.
template <class Words, bool kIsFull>
inline void add_warp_rows(const RowSource& source, const GradientSum* wide, const RowRange& rows,
                          uint32_t first, const uint8_t* table, const LaneColumns<Words>& lanes,
                          const typename Words::Format& format, uint32_t* words) {
  using Lanes = LaneColumns<Words>;
  const uint32_t own = first + threadIdx.x % kWarp;
  const uint32_t at = rows.begin + (kIsFull || own < rows.count ? own : 0);
  const uint32_t id = source.id(at);
  const auto row = Words::load(source, wide, at, id);
  uint32_t bins[Lanes::kLoads];
#pragma unroll
  for (int k = 0; k < Lanes::kLoads; ++k) {
    const size_t from = __shfl_sync(kAllLanes, id, k * Lanes::kRowsAtOnce + lanes.row);
    bins[k] = *reinterpret_cast<const uint32_t*>(table + from * kGroupColumns);
  }
  __syncwarp();  // else compilers read bins one by one, to save registers: a third more time
#pragma unroll
  for (int k = 0; k < Lanes::kLoads; ++k) {
    const int from = k * Lanes::kRowsAtOnce + lanes.row;
    const auto other = Words::from_lane(row, from);
    if (!kIsFull && first + from >= rows.count) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) Words::add(format, words + lanes.place(bins[k], j), other);
  }
}

// Rows to words in shared memory.
template <class Words>
inline void add_rows(const TreeView& tree, const Leaf& leaf, const RowRange& rows,
                     const Columns& columns, uint32_t* words) {
  const RowSource source(tree, leaf);
  const GradientSum* wide = tree.wide();
  const LaneColumns<Words> lanes(threadIdx.x % kWarp);
  const uint8_t* table = row_of(tree.fit, columns.group, 0) + columns.first + 4 * lanes.quad;
  const typename Words::Format format(tree.fixed());
  uint32_t first = threadIdx.x / kWarp * kWarp;
  for (; first + kWarp <= rows.count; first += blockDim.x) {
    add_warp_rows<Words, true>(source, wide, rows, first, table, lanes, format, words);
  }
  if (first < rows.count) {
    add_warp_rows<Words, false>(source, wide, rows, first, table, lanes, format, words);
  }
}

template <class Words>
inline void add_many(const TreeView& tree, const Leaf& leaf, const RowRange& rows,
                     const Columns& columns, uint32_t* words, uint64_t* histogram) {
  const FixedPoint fixed = tree.fixed();
  for (uint32_t begin = 0; begin < rows.count; begin += Words::kMostRows) {
    for (int i = threadIdx.x; i < Words::kCount * Words::kWords; i += blockDim.x) words[i] = 0;
    __syncthreads();
    const uint32_t count = min(Words::kMostRows, rows.count - begin);
    add_rows<Words>(tree, leaf, {rows.begin + begin, count}, columns, words);
    __syncthreads();
    for (int i = threadIdx.x; i < Words::kWords; i += blockDim.x) {
      const GradientSum sum = Words::sum(fixed, words, i);
      const int column = i % Words::kColumns;
      if (sum.hc != 0 && column < columns.count) {
        add_to_histogram(histogram, i / Words::kColumns, columns.first + column, sum);
      }
    }
    __syncthreads();
  }
}

// Adds rows of a leaf to its histogram: the columns of this block, part blockIdx.y % kParts of
// group blockIdx.y / kParts.
template <class Words>
inline void add_range(const TreeView& tree, const Leaf& leaf, const RowRange& rows,
                      uint32_t* words) {
  const int group = blockIdx.y / kParts, begin = blockIdx.y % kParts * kBlockColumns;
  const int end = min(begin + kBlockColumns, tree.fit.n_features - group * kGroupColumns);
  uint64_t* histogram = tree.histogram(leaf.slot, group);
  for (int first = begin; first < end; first += Words::kColumns) {
    const Columns columns = {group, first, min(Words::kColumns, end - first)};
    if (rows.count < kFewRows) {
      add_few<Words>(tree, leaf, rows, columns, histogram);
    } else {
      add_many<Words>(tree, leaf, rows, columns, words, histogram);
    }
  }
}

// Adds the rows of the step's chunks to the histograms of their leaves, which are 0 at first. A
// block takes some chunks in a row, those of a leaf at once.
extern "C" __global__ void __launch_bounds__(512, 2)
    histogram(const __grid_constant__ Fit fit, int32_t step) {
  extern __shared__ uint32_t words[];
  const StepView view(fit, step);
  const uint64_t n_chunks = view.work.n_chunks();
  const uint64_t n_blocks = min(uint64_t{gridDim.x}, parts_of(n_chunks, kChunksOfBlock));
  if (blockIdx.x >= n_blocks) return;
  auto chunk = static_cast<uint32_t>(n_chunks * blockIdx.x / n_blocks);
  const auto end = static_cast<uint32_t>(n_chunks * (blockIdx.x + 1) / n_blocks);
  while (chunk < end) {
    const Division& division = view.at(chunk, &Division::first_chunk);
    const TreeView tree{fit, division.tree};
    const Leaf& leaf = tree.leaf(division.small);
    const uint32_t size = division.chunk_rows, begin = (chunk - division.first_chunk) * size;
    const uint64_t n_of_leaf = parts_of(leaf.count, size);
    const uint32_t next = min(end, division.first_chunk + static_cast<uint32_t>(n_of_leaf));
    const RowRange rows = {begin, min(leaf.count - begin, (next - chunk) * size)};
    const FixedPoint& fixed = tree.fixed();
    if (!fixed.packed) {
      add_range<WideWords>(tree, leaf, rows, words);
    } else if (fixed.has_equal_h()) {
      add_range<EqualWords>(tree, leaf, rows, words);
    } else {
      add_range<PackedWords>(tree, leaf, rows, words);
    }
    chunk = next;
  }
}

}  // namespace hedgerow::cuda
