// Losses, a block of rows at a time: every array that a block touches stays in cache from the score
// update to the summary, and each inner loop is one that compilers vectorise.
#include "losses.hpp"

#include <algorithm>
#include <vector>

#include "math.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kStrip = 256;  // rows whose intermediate results live on the stack

// A loss is flat where its hessian vanishes; this keeps Newton steps finite there.
constexpr double kLeastHessian = 1e-16;

// A strip of rows: the first and how many.
struct Strip {
  std::size_t begin, count;
};

void update(const Rows& rows, int output, Strip strip) {
  if (!rows.leaf) return;
  const std::size_t start = static_cast<std::size_t>(output) * rows.n + strip.begin;
  double* __restrict scores = rows.scores + start;
  const std::uint16_t* __restrict leaf = rows.leaf + start;
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

struct SquaredError {
  static void derive(const double* __restrict score, const double* __restrict y, std::size_t n,
                     double* __restrict g, double* __restrict h) {
    for (std::size_t i = 0; i < n; ++i) {
      g[i] = score[i] - y[i];
      h[i] = 1.0;
    }
  }
};

struct LogLoss {
  static void derive(const double* __restrict score, const double* __restrict y, std::size_t n,
                     double* __restrict g, double* __restrict h) {
    for (std::size_t i = 0; i < n; ++i) {
      const double p = sigmoid(score[i]);
      const double slope = p * (1.0 - p);
      g[i] = p - y[i];
      h[i] = slope > kLeastHessian ? slope : kLeastHessian;
    }
  }
};

// One summary of the block for each output, in the order of its strips.
template <class LossType>
void differentiate_block(const Rows& rows, Strip block, const RawGradients& raw,
                         GradientSummary* summary) {
  double g[kStrip], h[kStrip];
  for (std::size_t begin = block.begin; begin < block.begin + block.count; begin += kStrip) {
    const Strip strip{begin, std::min(kStrip, block.begin + block.count - begin)};
    update(rows, 0, strip);
    LossType::derive(rows.scores + begin, rows.target + begin, strip.count, g, h);
    apply_weights(rows, strip, g, h);
    store(g, h, strip.count, raw, begin);
    summary->add(summarise(g, h, strip.count));
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

void differentiate_multinomial(const Rows& rows, Strip block, const RawGradients& raw,
                               GradientSummary* summary) {
  std::vector<double> p(static_cast<std::size_t>(rows.K) * kStrip);
  double g[kStrip], h[kStrip];
  for (std::size_t begin = block.begin; begin < block.begin + block.count; begin += kStrip) {
    const Strip strip{begin, std::min(kStrip, block.begin + block.count - begin)};
    for (int k = 0; k < rows.K; ++k) update(rows, k, strip);
    softmax(rows, strip, p.data());
    for (int k = 0; k < rows.K; ++k) {
      const double* __restrict probability = p.data() + k * kStrip;
      const double* __restrict target = rows.target + begin;
      for (std::size_t i = 0; i < strip.count; ++i) {
        const double slope = probability[i] * (1.0 - probability[i]);
        g[i] = probability[i] - (target[i] == k ? 1.0 : 0.0);
        h[i] = slope > kLeastHessian ? slope : kLeastHessian;
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

void differentiate(Loss loss, const Rows& rows, const RawGradients& raw, GradientSummary* summary,
                   int threads) {
  const std::size_t blocks = (rows.n + kRowBlock - 1) / kRowBlock;
  std::vector<GradientSummary> parts(blocks * rows.K);
  for_each_block(rows, threads, [&](std::size_t i, Strip block) {
    GradientSummary* part = parts.data() + i * rows.K;
    switch (loss) {
      case Loss::squared_error:
        return differentiate_block<SquaredError>(rows, block, raw, part);
      case Loss::log_loss:
        return differentiate_block<LogLoss>(rows, block, raw, part);
      case Loss::multinomial:
        return differentiate_multinomial(rows, block, raw, part);
    }
  });
  for (int k = 0; k < rows.K; ++k) {
    summary[k] = {};
    for (std::size_t i = 0; i < blocks; ++i) summary[k].add(parts[i * rows.K + k]);
  }
}

}  // namespace hedgerow
