// Partition in two passes: the first reads the split's column and writes one bit per row, the
// second moves row ids. Counts between the passes tell each chunk where its rows belong, so that
// chunks run in parallel and the order of rows does not depend on threads.
#include "hist/partition.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/bytes.hpp"
#include "core/row_ids.hpp"

namespace hedgerow::hist {
namespace {

// Whether each of the 256 bins goes left.
struct GoesLeft {
  bool table[kBins];

  explicit GoesLeft(const Split& split) {
    for (int b = 0; b < kBins; ++b) table[b] = split.takes(b);
  }
  bool operator()(std::uint8_t bin) const { return table[bin]; }
};

// A numeric split is one comparison: bin + shift ≤ limit in unsigned bytes, where the shift of one
// wraps the missing bin round to 0, the left end, when missing values go left.
struct ByteTest {
  std::uint8_t shift, limit;
  ByteTest(std::uint8_t shift, std::uint8_t limit) : shift(shift), limit(limit) {}
  explicit ByteTest(const Split& split)
      : ByteTest(split.missing_left ? 1 : 0,
                 static_cast<std::uint8_t>(split.bin + (split.missing_left ? 1 : 0))) {}
  bool operator()(std::uint8_t bin) const {
    return static_cast<std::uint8_t>(bin + shift) <= limit;
  }
};

// Which of 64 bins go left.
std::uint64_t mark_64(const ByteTest& test, const std::uint8_t* bins) {
  return at_most_64(bins, test.shift, test.limit);
}

// Marks rows [begin, end), a chunk at most, of which `bin_of` gives a byte to test.
template <class BinOf>
std::size_t mark_each(const ByteTest& test, const BinOf& bin_of, std::size_t begin, std::size_t end,
                      std::uint64_t* marks) {
  std::uint8_t bins[kPartitionChunk];
  const std::size_t n = end - begin, padded = (n + 63) / 64 * 64;
  for (std::size_t i = 0; i < n; ++i) bins[i] = bin_of(begin + i);
  std::memset(bins + n, 0, padded - n);
  std::size_t count = 0;
  for (std::size_t i = 0; i < padded; i += 64) {
    std::uint64_t& word = marks[(begin + i) / 64];
    word = mark_64(test, bins + i);
    if (n - i < 64) word &= (std::uint64_t{1} << (n - i)) - 1;
    count += static_cast<std::size_t>(std::popcount(word));
  }
  return count;
}

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

// A gather reads four bytes to get one. They end with the bin in all columns but the first, and
// start with it in the first, so they never leave the array unless there is only one column.
struct ByteGather {
  const std::uint8_t* base;
  unsigned shift;
  ByteGather(const BinnedView& bins, int feature)
      : base(bins.column(feature) - (feature > 0 ? 3 : 0)), shift(feature > 0 ? 24 : 0) {}

  __m128i operator()(const std::uint32_t* ids) const {
    const __m512i words = _mm512_i32gather_epi32(_mm512_loadu_si512(ids), base, 1);
    return _mm512_cvtepi32_epi8(_mm512_srli_epi32(words, shift));
  }
};

// The same for rows by their ids.
std::uint64_t mark_64(const ByteTest& test, const ByteGather& gather, const std::uint32_t* ids) {
  const __m256i low =
      _mm256_inserti128_si256(_mm256_castsi128_si256(gather(ids)), gather(ids + 16), 1);
  const __m256i high =
      _mm256_inserti128_si256(_mm256_castsi128_si256(gather(ids + 32)), gather(ids + 48), 1);
  const __m512i bin = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(test.shift));
  const __m512i limit = _mm512_set1_epi8(static_cast<char>(test.limit));
  return _mm512_cmple_epu8_mask(_mm512_add_epi8(bin, shift), limit);
}

#endif

// Writes `count` of the marked ids. A whole vector is written where there is room.
void write_marked(const RowIds& ids, unsigned marks, std::size_t count, std::uint32_t*& to,
                  const std::uint32_t* end) {
  if (to + RowIds::kCount <= end) {
    ids.store_marked(marks, to);
  } else {
    std::uint32_t room[RowIds::kCount];
    ids.store_marked(marks, room);
    std::copy_n(room, count, to);
  }
  to += count;
}

}  // namespace

std::size_t mark_left(const BinnedView& bins, const Split& split, const RowSet& rows,
                      std::size_t begin, std::size_t end, std::uint64_t* marks) {
  const std::uint8_t* column = bins.column(split.feature);
  const auto row = [&](std::size_t i) { return rows.ids ? rows.ids[i] : rows.first + i; };
  if (split.categorical) {
    const GoesLeft goes_left(split);
    const auto goes_right = [&](std::size_t i) -> std::uint8_t {
      return goes_left(column[row(i)]) ? 0 : 1;
    };
    return mark_each({0, 0}, goes_right, begin, end, marks);
  }
  const ByteTest test(split);
  std::size_t count = 0, i = begin;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  if (rows.ids && bins.n_features > 1) {
    const ByteGather gather(bins, split.feature);
    for (; i + 64 <= end; i += 64) {
      marks[i / 64] = mark_64(test, gather, rows.ids + i);
      count += static_cast<std::size_t>(std::popcount(marks[i / 64]));
    }
  }
#endif
  if (!rows.ids) {
    for (; i + 64 <= end; i += 64) {
      marks[i / 64] = mark_64(test, column + rows.first + i);
      count += static_cast<std::size_t>(std::popcount(marks[i / 64]));
    }
  }
  return count + mark_each(test, [&](std::size_t k) { return column[row(k)]; }, i, end, marks);
}

void divide(const RowSet& rows, std::size_t begin, std::size_t end, const std::uint64_t* marks,
            std::size_t n_left, std::uint32_t* left, std::uint32_t* right) {
  constexpr std::size_t kIds = RowIds::kCount;
  constexpr unsigned kAll = (1u << kIds) - 1;
  const std::uint32_t* left_end = left + n_left;
  const std::uint32_t* right_end = right + (end - begin - n_left);
  std::size_t i = begin;
  for (; i + kIds <= end; i += kIds) {
    const auto mark = static_cast<unsigned>(marks[i / 64] >> i % 64) & kAll;
    const RowIds ids = rows.ids ? RowIds::load(rows.ids + i)
                                : RowIds::from(static_cast<std::uint32_t>(rows.first + i));
    const auto to_left = static_cast<std::size_t>(std::popcount(mark));
    write_marked(ids, mark, to_left, left, left_end);
    write_marked(ids, ~mark & kAll, kIds - to_left, right, right_end);
  }
  for (; i < end; ++i) {
    const auto row = static_cast<std::uint32_t>(rows.ids ? rows.ids[i] : rows.first + i);
    const bool to_left = marks[i / 64] >> (i % 64) & 1;
    *(to_left ? left : right) = row;
    left += to_left;
    right += !to_left;
  }
}

}  // namespace hedgerow::hist
