#include "table/row_digest.hpp"

#include <algorithm>
#include <vector>

#include "core/threads.hpp"
#include "shared/random.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kBlockRows = 2048;  // hashes of a block stay in the first-level cache
constexpr std::uint64_t kFactor = 0xd1342543de82ef95u;  // odd, with bits all over

// Takes a column into the hashes of some rows. The order of columns matters: each multiplies what
// the earlier ones have added.
template <class Value>
void take_in(const Value* values, std::size_t n_rows, std::uint64_t* hashes) {
  for (std::size_t i = 0; i < n_rows; ++i) hashes[i] = (hashes[i] + values[i] + 1) * kFactor;
}

}  // namespace

RowDigest digest_rows(const ByteColumns& bytes, std::span<const std::uint64_t* const> words,
                      std::uint64_t first_row, int threads) {
  const std::size_t n_blocks = (bytes.n_rows + kBlockRows - 1) / kBlockRows;
  std::vector<RowDigest> digests(n_blocks);
  parallel_for(threads, n_blocks, [&](std::size_t block) {
    const std::size_t begin = block * kBlockRows;
    const std::size_t count = std::min(kBlockRows, bytes.n_rows - begin);
    std::uint64_t hashes[kBlockRows];
    for (std::size_t i = 0; i < count; ++i) hashes[i] = mix_u64(first_row + begin + i + kGolden);
    for (std::size_t column = 0; column < bytes.n_columns; ++column) {
      take_in(bytes.values + column * bytes.n_rows + begin, count, hashes);
    }
    for (const std::uint64_t* column : words) {
      for (std::size_t i = 0; i < count; ++i) hashes[i] ^= hashes[i] >> 32;
      take_in(column + begin, count, hashes);
    }
    RowDigest digest = {0, 0};
    for (std::size_t i = 0; i < count; ++i) {
      digest[0] += mix_u64(hashes[i]);
      digest[1] += mix_u64(hashes[i] + kGolden);
    }
    digests[block] = digest;
  });
  RowDigest total = {0, 0};
  for (const RowDigest& digest : digests) {
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += digest[k];
  }
  return total;
}

}  // namespace hedgerow
