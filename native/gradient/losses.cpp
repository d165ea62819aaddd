// Losses, a block of rows at a time: every array that a block touches stays in cache from the score
// update to the summary, and each inner loop is one that compilers vectorise.
#include "gradient/losses.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/threads.hpp"
#include "shared/math.hpp"

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

// Of each loss: gradient and hessian of one row. The hessian of a loss that is straight far from
// the target vanishes there, and Newton steps would be without bounds; instead it is that of the
// parabola which touches the loss here and lies above it everywhere, so that a step never makes the
// loss worse.
struct Derivatives {
  double g, h;
};

double at_least(double h) { return h > kLeastHessian ? h : kLeastHessian; }

struct SquaredError {
  explicit SquaredError(double) {}
  Derivatives operator()(double s, double y) const { return {s - y, 1.0}; }
};

struct AbsoluteError {
  explicit AbsoluteError(double) {}
  Derivatives operator()(double s, double y) const {
    return {s > y ? 1.0 : (s < y ? -1.0 : 0.0), 1.0};
  }
};

struct Quantile {
  explicit Quantile(double level) : below(-level), above(1.0 - level) {}
  Derivatives operator()(double s, double y) const {
    return {s > y ? above : (s < y ? below : 0.0), 1.0};
  }
  double below, above;
};

struct Expectile {
  explicit Expectile(double level) : below(2.0 * level), above(2.0 * (1.0 - level)) {}
  Derivatives operator()(double s, double y) const {
    const double h = s > y ? above : below;
    return {h * (s - y), h};
  }
  double below, above;
};

struct Huber {
  explicit Huber(double given) : delta(given) {}
  Derivatives operator()(double s, double y) const {
    const double r = s - y, size = r < 0.0 ? -r : r;
    const double h = size > delta ? delta / size : 1.0;
    return {h * r, h};
  }
  double delta;
};

struct PseudoHuber {
  explicit PseudoHuber(double delta) : per_delta(1.0 / delta) {}
  Derivatives operator()(double s, double y) const {
    const double r = s - y, z = r * per_delta;
    const double h = 1.0 / std::sqrt(1.0 + z * z);
    return {h * r, h};
  }
  double per_delta;
};

struct LogCosh {
  explicit LogCosh(double delta) : per_delta(1.0 / delta) {}
  Derivatives operator()(double s, double y) const {
    const double r = s - y, z = r * per_delta, size = z < 0.0 ? -z : z;
    const double e = exp(-2.0 * size);
    const double tanh = (1.0 - e) / (1.0 + e);
    // tanh(z)/z, by its series where the difference above has lost its digits.
    const double h = size > 1e-4 ? tanh / size : 1.0 - size * size / 3.0;
    return {h * r, h};
  }
  double per_delta;
};

struct Poisson {
  explicit Poisson(double) {}
  Derivatives operator()(double s, double y) const {
    const double mean = exp(s);
    return {mean - y, at_least(mean)};
  }
};

struct Gamma {
  explicit Gamma(double) {}
  Derivatives operator()(double s, double y) const {
    const double ratio = y * exp(-s);
    return {1.0 - ratio, at_least(ratio)};
  }
};

struct Tweedie {
  explicit Tweedie(double power) : falls(power - 1.0), rises(2.0 - power) {}
  Derivatives operator()(double s, double y) const {
    const double down = y * exp(-falls * s), up = exp(rises * s);
    return {up - down, at_least(falls * down + rises * up)};
  }
  double falls, rises;
};

struct LogLoss {
  explicit LogLoss(double) {}
  Derivatives operator()(double s, double y) const {
    const double p = sigmoid(s);
    return {p - y, at_least(p * (1.0 - p))};
  }
};

struct Exponential {
  explicit Exponential(double) {}
  Derivatives operator()(double s, double y) const {
    const double sign = 2.0 * y - 1.0, e = exp(-sign * s);
    return {-sign * e, at_least(e)};
  }
};

struct Hinge {
  explicit Hinge(double) {}
  Derivatives operator()(double s, double y) const {
    const double sign = 2.0 * y - 1.0;
    return {sign * s < 1.0 ? -sign : 0.0, 1.0};
  }
};

// Of p = P(class) and q = 1 − p, along z = ±s: L' = q^γ (γ p log p − q) and
// L'' = q^γ p (γ (q − γ p) log p + (2γ + 1) q). Where a row is far on the wrong side L'' is
// negative; a log loss of the weight q^γ has the hessian q^γ p q.
struct Focal {
  explicit Focal(double given) : gamma(given) {}
  Derivatives operator()(double s, double y) const {
    const double sign = 2.0 * y - 1.0, z = sign * s, size = z < 0.0 ? -z : z;
    const double e = exp(-size), tail = log1p(e);
    const double log_p = (z < 0.0 ? z : 0.0) - tail, log_q = (z > 0.0 ? -z : 0.0) - tail;
    const double small = e / (1.0 + e), large = 1.0 / (1.0 + e);
    const double p = z < 0.0 ? small : large, q = z < 0.0 ? large : small;
    const double weight = exp(gamma * log_q);
    const double g = weight * (gamma * p * log_p - q);
    const double true_h = weight * p * (gamma * (q - gamma * p) * log_p + (2.0 * gamma + 1.0) * q);
    const double weighted_h = weight * p * q;
    return {sign * g, at_least(true_h > weighted_h ? true_h : weighted_h)};
  }
  double gamma;
};

// A loss of one score. The block's summary adds up strips in their order.
template <class LossType>
void differentiate_block(LossType loss, const Rows& rows, int output, Strip block,
                         const RawGradients& raw, GradientSummary* summary) {
  double g[kStrip], h[kStrip];
  const std::size_t first = static_cast<std::size_t>(output) * rows.n;
  for (std::size_t begin = block.begin; begin < block.begin + block.count; begin += kStrip) {
    const Strip strip{begin, std::min(kStrip, block.begin + block.count - begin)};
    update(rows, output, strip);
    const double* __restrict score = rows.scores + first + begin;
    const double* __restrict target =
        rows.target + static_cast<std::size_t>(output) * rows.target_stride + begin;
    for (std::size_t i = 0; i < strip.count; ++i) {
      const Derivatives of_row = loss(score[i], target[i]);
      g[i] = of_row.g;
      h[i] = of_row.h;
    }
    apply_weights(rows, strip, g, h);
    store(g, h, strip.count, raw, first + begin);
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

template <bool kSoft>
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
      const double* __restrict target = rows.target + k * rows.target_stride + begin;
      for (std::size_t i = 0; i < strip.count; ++i) {
        const double slope = probability[i] * (1.0 - probability[i]);
        g[i] = probability[i] - (kSoft ? target[i] : target[i] == k ? 1.0 : 0.0);
        h[i] = at_least(slope);
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

void differentiate(const LossKind& kind, const Rows& rows, const RawGradients& raw,
                   GradientSummary* summary, int threads) {
  const std::size_t blocks = (rows.n + kRowBlock - 1) / kRowBlock;
  std::vector<GradientSummary> parts(blocks * rows.K);
  const auto each_block = [&](auto of_block) {
    for_each_block(rows, threads, [&](std::size_t i, Strip block) {
      of_block(block, parts.data() + i * static_cast<std::size_t>(rows.K));
    });
  };
  const auto one_by_one = [&]<class LossType>(std::type_identity<LossType>) {
    each_block([&](Strip block, GradientSummary* part) {
      for (int k = 0; k < rows.K; ++k) {
        differentiate_block(LossType(kind.shape_of(k)), rows, k, block, raw, part + k);
      }
    });
  };
  switch (kind.loss) {
    case Loss::squared_error:
      one_by_one(std::type_identity<SquaredError>{});
      break;
    case Loss::absolute_error:
      one_by_one(std::type_identity<AbsoluteError>{});
      break;
    case Loss::quantile:
      one_by_one(std::type_identity<Quantile>{});
      break;
    case Loss::expectile:
      one_by_one(std::type_identity<Expectile>{});
      break;
    case Loss::huber:
      one_by_one(std::type_identity<Huber>{});
      break;
    case Loss::pseudo_huber:
      one_by_one(std::type_identity<PseudoHuber>{});
      break;
    case Loss::log_cosh:
      one_by_one(std::type_identity<LogCosh>{});
      break;
    case Loss::poisson:
      one_by_one(std::type_identity<Poisson>{});
      break;
    case Loss::gamma:
      one_by_one(std::type_identity<Gamma>{});
      break;
    case Loss::tweedie:
      one_by_one(std::type_identity<Tweedie>{});
      break;
    case Loss::log_loss:
      one_by_one(std::type_identity<LogLoss>{});
      break;
    case Loss::exponential:
      one_by_one(std::type_identity<Exponential>{});
      break;
    case Loss::hinge:
      one_by_one(std::type_identity<Hinge>{});
      break;
    case Loss::focal:
      one_by_one(std::type_identity<Focal>{});
      break;
    case Loss::multinomial:
      each_block([&](Strip block, GradientSummary* part) {
        differentiate_multinomial<false>(rows, block, raw, part);
      });
      break;
    case Loss::cross_entropy:
      each_block([&](Strip block, GradientSummary* part) {
        differentiate_multinomial<true>(rows, block, raw, part);
      });
      break;
  }
  for (int k = 0; k < rows.K; ++k) {
    summary[k] = {};
    for (std::size_t i = 0; i < blocks; ++i) summary[k].add(parts[i * rows.K + k]);
  }
}

}  // namespace hedgerow
