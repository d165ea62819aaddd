#include "predict/linear_terms.hpp"

#include <algorithm>

#include "core/threads.hpp"

namespace hedgerow::predict {

constexpr std::size_t kBlockRows = 8192;

template <class T>
void add_linear_leaves(const LinearTerms& terms, std::span<const std::uint16_t> leaf,
                       const double* value, std::size_t k, Strided<const T> table, double* scores,
                       int threads) {
  const std::size_t n = leaf.size();
  parallel_for(threads_for(n, kBlockRows / 2, threads), (n + kBlockRows - 1) / kBlockRows,
               [&](std::size_t block) {
                 const std::size_t end = std::min(n, (block + 1) * kBlockRows);
                 for (std::size_t i = block * kBlockRows; i < end; ++i) {
                   scores[i] += terms.add_to(value[leaf[i]], leaf[i], k, table, i);
                 }
               });
}

template void add_linear_leaves(const LinearTerms&, std::span<const std::uint16_t>, const double*,
                                std::size_t, Strided<const float>, double*, int);
template void add_linear_leaves(const LinearTerms&, std::span<const std::uint16_t>, const double*,
                                std::size_t, Strided<const double>, double*, int);

}  // namespace hedgerow::predict
