// Partition in two passes: the first reads the split's column and writes one bit per row, the
// second moves row ids. Counts between the passes tell each chunk where its rows belong, so that
// chunks run in parallel and the order of rows does not depend on threads.
#include "hist/partition.hpp"

#include <bit>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

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
  explicit ByteTest(const Split& split)
      : shift(split.missing_left ? 1 : 0),
        limit(static_cast<std::uint8_t>(split.bin + (split.missing_left ? 1 : 0))) {}
  bool operator()(std::uint8_t bin) const {
    return static_cast<std::uint8_t>(bin + shift) <= limit;
  }
};

template <class Test>
std::uint64_t mark_up_to_64(const Test& goes_left, const std::uint8_t* column, const RowSet& rows,
                            std::size_t begin, std::size_t end) {
  std::uint64_t mark = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t row = rows.ids ? rows.ids[i] : rows.first + i;
    mark |= static_cast<std::uint64_t>(goes_left(column[row])) << (i - begin);
  }
  return mark;
}

// Marks rows [begin, end), 64 at a time.
template <class Test>
std::size_t mark_all(const Test& goes_left, const std::uint8_t* column, const RowSet& rows,
                     std::size_t begin, std::size_t end, std::uint64_t* marks) {
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; i += 64) {
    marks[i / 64] = mark_up_to_64(goes_left, column, rows, i, i + 64 < end ? i + 64 : end);
    count += static_cast<std::size_t>(std::popcount(marks[i / 64]));
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

std::uint64_t mark_64(const BinnedView& bins, const Split& split, const RowSet& rows,
                      std::size_t begin) {
  const ByteTest test(split);
  const __m512i limit = _mm512_set1_epi8(static_cast<char>(test.limit));
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(test.shift));
  if (!rows.ids) {
    const __m512i bin = _mm512_loadu_si512(bins.column(split.feature) + rows.first + begin);
    return _mm512_cmple_epu8_mask(_mm512_add_epi8(bin, shift), limit);
  }
  const ByteGather gather(bins, split.feature);
  const std::uint32_t* ids = rows.ids + begin;
  const __m256i low =
      _mm256_inserti128_si256(_mm256_castsi128_si256(gather(ids)), gather(ids + 16), 1);
  const __m256i high =
      _mm256_inserti128_si256(_mm256_castsi128_si256(gather(ids + 32)), gather(ids + 48), 1);
  const __m512i bin = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  return _mm512_cmple_epu8_mask(_mm512_add_epi8(bin, shift), limit);
}

#endif

}  // namespace

std::size_t mark_left(const BinnedView& bins, const Split& split, const RowSet& rows,
                      std::size_t begin, std::size_t end, std::uint64_t* marks) {
  const std::uint8_t* column = bins.column(split.feature);
  if (split.categorical) return mark_all(GoesLeft(split), column, rows, begin, end, marks);
  std::size_t count = 0, i = begin;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  if (bins.n_features > 1) {
    for (; i + 64 <= end; i += 64) {
      marks[i / 64] = mark_64(bins, split, rows, i);
      count += static_cast<std::size_t>(std::popcount(marks[i / 64]));
    }
  }
#endif
  return count + mark_all(ByteTest(split), column, rows, i, end, marks);
}

void divide(const RowSet& rows, std::size_t begin, std::size_t end, const std::uint64_t* marks,
            std::uint32_t* left, std::uint32_t* right) {
  std::size_t i = begin;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  __m512i ids =
      _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(rows.first + begin)),
                       _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  for (; i + 16 <= end; i += 16) {
    const auto mark = static_cast<__mmask16>(marks[i / 64] >> (i % 64));
    if (rows.ids) ids = _mm512_loadu_si512(rows.ids + i);
    const int to_left = std::popcount(static_cast<unsigned>(mark));
    _mm512_mask_storeu_epi32(left, static_cast<__mmask16>((1u << to_left) - 1),
                             _mm512_maskz_compress_epi32(mark, ids));
    _mm512_mask_storeu_epi32(right, static_cast<__mmask16>((1u << (16 - to_left)) - 1),
                             _mm512_maskz_compress_epi32(static_cast<__mmask16>(~mark), ids));
    left += to_left;
    right += 16 - to_left;
    if (!rows.ids) ids = _mm512_add_epi32(ids, _mm512_set1_epi32(16));
  }
#endif
  for (; i < end; ++i) {
    const auto row = static_cast<std::uint32_t>(rows.ids ? rows.ids[i] : rows.first + i);
    const bool to_left = marks[i / 64] >> (i % 64) & 1;
    *(to_left ? left : right) = row;
    left += to_left;
    right += !to_left;
  }
}

}  // namespace hedgerow::hist
