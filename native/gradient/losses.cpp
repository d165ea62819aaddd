// Losses, a block of rows at a time: every array that a block touches stays in cache from the score
// update to the summary, and each inner loop is one that compilers vectorise.
#include "gradient/losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/threads.hpp"
#include "shared/loss_formulas.hpp"
#include "shared/math.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kStrip = 256;  // rows whose intermediate results live on the stack

void update(const Rows& rows, int output, Strip strip) {
  if (!rows.leaf) return;
  const std::size_t start = static_cast<std::size_t>(output) * rows.n;
  double* __restrict scores = rows.scores + start + strip.begin;
  const std::uint16_t* __restrict leaf = rows.leaf + (rows.one_tree ? 0 : start) + strip.begin;
  const double* __restrict value = rows.leaf_value + output * rows.leaf_stride;
  for (std::size_t i = 0; i < strip.count; ++i) scores[i] += value[leaf[i]];
}

void apply_weights(const Rows& rows, Strip strip, double* __restrict g, double* __restrict h) {
  if (!rows.weight) return;
  const double* __restrict weight = rows.weight + strip.begin;
  for (std::size_t i = 0; i < strip.count; ++i) {
    g[i] *= weight[i];
    h[i] *= weight[i];
  }
}

// A loss of one score: a block of rows of one output. The summary adds up strips in their order.
template <class Formula>
void differentiate_output(Formula formula, const Rows& rows, int output, Strip block,
                          const RawGradients& raw, GradientTotals* summary) {
  double g[kStrip], h[kStrip];
  const std::size_t first = static_cast<std::size_t>(output) * rows.n;
  for (std::size_t begin = block.begin; begin < block.begin + block.count; begin += kStrip) {
    const Strip strip{begin, std::min(kStrip, block.begin + block.count - begin)};
    update(rows, output, strip);
    const double* __restrict score = rows.scores + first + begin;
    const double* __restrict target =
        rows.target + static_cast<std::size_t>(output) * rows.target_stride + begin;
    for (std::size_t i = 0; i < strip.count; ++i) {
      const Derivatives of_row = formula(score[i], target[i]);
      g[i] = of_row.g;
      h[i] = of_row.h;
    }
    apply_weights(rows, strip, g, h);
    store(g, h, strip.count, raw, first + begin);
    summary->add(summarise(g, h, strip.count));
  }
}

template <class Formula>
void differentiate_block(const LossKind& kind, const Rows& rows, Strip block,
                         const RawGradients& raw, GradientTotals* summary) {
  for (int k = 0; k < rows.K; ++k) {
    differentiate_output(Formula(kind.parameter(k)), rows, k, block, raw, summary + k);
  }
}

// p = softmax of the K scores of each row of a strip; p is K × kStrip.
void softmax(const Rows& rows, Strip strip, double* __restrict p) {
  double largest[kStrip], total[kStrip];
  std::fill_n(largest, kStrip, -std::numeric_limits<double>::infinity());
  std::fill_n(total, kStrip, 0.0);
  for (int k = 0; k < rows.K; ++k) {
    const double* score = rows.scores + k * rows.n + strip.begin;
    for (std::size_t i = 0; i < strip.count; ++i) {
      largest[i] = score[i] > largest[i] ? score[i] : largest[i];
    }
  }
  for (int k = 0; k < rows.K; ++k) {
    const double* score = rows.scores + k * rows.n + strip.begin;
    double* __restrict out = p + k * kStrip;
    for (std::size_t i = 0; i < strip.count; ++i) {
      out[i] = exp(score[i] - largest[i]);
      total[i] += out[i];
    }
  }
  for (int k = 0; k < rows.K; ++k) {
    for (std::size_t i = 0; i < strip.count; ++i) p[k * kStrip + i] /= total[i];
  }
}

// A loss of the softmax.
template <class Formula>
void differentiate_softmax_block(const LossKind&, const Rows& rows, Strip block,
                                 const RawGradients& raw, GradientTotals* summary) {
  std::vector<double> p(static_cast<std::size_t>(rows.K) * kStrip);
  double g[kStrip], h[kStrip];
  for (std::size_t begin = block.begin; begin < block.begin + block.count; begin += kStrip) {
    const Strip strip{begin, std::min(kStrip, block.begin + block.count - begin)};
    for (int k = 0; k < rows.K; ++k) update(rows, k, strip);
    softmax(rows, strip, p.data());
    for (int k = 0; k < rows.K; ++k) {
      const double* __restrict probability = p.data() + k * kStrip;
      const double* __restrict target = rows.target + k * rows.target_stride + begin;
      for (std::size_t i = 0; i < strip.count; ++i) {
        const Derivatives of_row = Formula()(probability[i], target[i], k);
        g[i] = of_row.g;
        h[i] = of_row.h;
      }
      apply_weights(rows, strip, g, h);
      store(g, h, strip.count, raw, k * rows.n + begin);
      summary[k].add(summarise(g, h, strip.count));
    }
  }
}

template <class Task>
void for_each_block(const Rows& rows, int threads, Task task) {
  const std::size_t blocks = (rows.n + kRowBlock - 1) / kRowBlock;
  parallel_for(threads_for(rows.n * rows.K, 2 * kRowBlock, threads), blocks, [&](std::size_t i) {
    const std::size_t begin = i * kRowBlock;
    task(i, Strip{begin, std::min(kRowBlock, rows.n - begin)});
  });
}

}  // namespace

void update_scores(const Rows& rows, int threads) {
  for_each_block(rows, threads, [&](std::size_t, Strip block) {
    for (int k = 0; k < rows.K; ++k) update(rows, k, block);
  });
}

std::span<const LossEntry> loss_table() {
  static const std::vector<LossEntry> table = [] {
    std::vector<LossEntry> entries;
    visit_losses([&]<class Row>(Row row) {
      entries.push_back({row.name, differentiate_block<typename Row::Formula>});
    });
    visit_softmax_losses([&]<class Row>(Row row) {
      entries.push_back({row.name, differentiate_softmax_block<typename Row::Formula>});
    });
    return entries;
  }();
  return table;
}

const LossEntry& loss_named(std::string_view name) {
  for (const LossEntry& entry : loss_table()) {
    if (entry.name == name) return entry;
  }
  throw_invalid_argument("no native loss is called " + std::string(name));
}

void differentiate(const LossKind& kind, const Rows& rows, const RawGradients& raw,
                   GradientTotals* totals, int threads) {
  const std::size_t blocks = (rows.n + kRowBlock - 1) / kRowBlock;
  std::vector<GradientTotals> parts(blocks * rows.K);
  for_each_block(rows, threads, [&](std::size_t i, Strip block) {
    kind.loss.differentiate(kind, rows, block, raw,
                            parts.data() + i * static_cast<std::size_t>(rows.K));
  });
  for (int k = 0; k < rows.K; ++k) {
    totals[k] = {};
    for (std::size_t i = 0; i < blocks; ++i) totals[k].add(parts[i * rows.K + k]);
  }
}

}  // namespace hedgerow
