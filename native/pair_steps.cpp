#include "pair_steps.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "interrupt.hpp"
#include "threads.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kLanes = 8;
typedef double Lanes __attribute__((vector_size(sizeof(double) * kLanes)));
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kFlat = 1e-12;  // a curvature that is not positive is taken as this much

Lanes load(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
void store(const Lanes& lanes, double* to) { std::memcpy(to, &lanes, sizeof lanes); }
Lanes all(double value) { return value - Lanes{}; }

double largest(const Lanes& lanes) {
  double top = lanes[0];
  for (std::size_t i = 1; i < kLanes; ++i) top = std::max(top, lanes[i]);
  return top;
}

std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// A group's variables, copied and filled up to whole vectors: what is behind the last can neither
// grow nor shrink.
template <class T>
class Group {
 public:
  Group(const KernelRows<T>& kernel, const WorkingSet& set, std::size_t first, std::size_t last,
        std::size_t n_all)
      : first_(first), n_(last - first), width_(padded(n_)) {
    beta_.assign(set.beta.begin() + first, set.beta.begin() + last);
    low_.assign(set.low.begin() + first, set.low.begin() + last);
    high_.assign(set.high.begin() + first, set.high.begin() + last);
    pull_.assign(width_, 0.0);
    std::copy(set.pull.begin() + first, set.pull.begin() + last, pull_.begin());
    up_.assign(width_, -kNever);
    down_.assign(width_, -kNever);
    self_.assign(width_, 0.0);
    rows_.resize(n_all * width_);
    for (std::size_t i = 0; i < n_all; ++i) {
      const T* row = kernel.row(static_cast<std::size_t>(set.slot[i]));
      double* to = rows_.data() + i * width_;
      for (std::size_t j = 0; j < n_; ++j) to[j] = row[set.column[first + j]];
    }
    for (std::size_t i = 0; i < n_; ++i) {
      self_[i] = row_of(i)[i];
      note(i);
    }
  }

  // The largest pull that may grow, and by how much it is above the smallest that may shrink.
  struct Worst {
    double pull, gap;
  };
  Worst worst() const {
    Lanes top = all(-kNever), bottom = all(-kNever);
    for (std::size_t i = 0; i < width_; i += kLanes) {
      const Lanes pull = load(&pull_[i]);
      const Lanes up = pull + load(&up_[i]), down = load(&down_[i]) - pull;
      top = up > top ? up : top;
      bottom = down > bottom ? down : bottom;
    }
    const double most = largest(top);
    return {most, most + largest(bottom)};
  }

  // Moves the variable of the largest pull against the one that gains most.
  struct Step {
    std::size_t grows, shrinks;
    double size;
  };
  Step step(double most) {
    const std::size_t i = find_up(most);
    const std::size_t j = best_partner(i, most);
    const double curvature = self_[i] + self_[j] - 2.0 * row_of(i)[j];
    double size = (most - pull_[j]) / (curvature > kFlat ? curvature : kFlat);
    size = std::min({size, high_[i] - beta_[i], beta_[j] - low_[j]});
    beta_[i] = size == high_[i] - beta_[i] ? high_[i] : beta_[i] + size;
    beta_[j] = size == beta_[j] - low_[j] ? low_[j] : beta_[j] - size;
    note(i);
    note(j);
    return {i + first_, j + first_, size};
  }

  void follow(const Step& step) {
    const double* grows = rows_.data() + step.grows * width_;
    const double* shrinks = rows_.data() + step.shrinks * width_;
    const Lanes size = all(step.size);
    for (std::size_t i = 0; i < width_; i += kLanes) {
      store(load(&pull_[i]) - size * (load(grows + i) - load(shrinks + i)), &pull_[i]);
    }
  }

  void give_back(WorkingSet& set) const {
    std::copy_n(beta_.begin(), n_, set.beta.begin() + static_cast<std::ptrdiff_t>(first_));
    std::copy_n(pull_.begin(), n_, set.pull.begin() + static_cast<std::ptrdiff_t>(first_));
  }

 private:
  const double* row_of(std::size_t i) const { return rows_.data() + (first_ + i) * width_; }

  void note(std::size_t i) {
    up_[i] = beta_[i] < high_[i] ? 0.0 : -kNever;
    down_[i] = beta_[i] > low_[i] ? 0.0 : -kNever;
  }

  std::size_t find_up(double most) const {
    std::size_t i = 0;
    while (!(pull_[i] + up_[i] == most)) ++i;
    return i;
  }

  // A step with j lowers the objective by half of (difference of pulls)² / curvature.
  std::size_t best_partner(std::size_t i, double most) const {
    const double* row = row_of(i);
    const Lanes mine = all(self_[i]), top_pull = all(most), flat = all(kFlat);
    Lanes best = all(-kNever);
    for (std::size_t j = 0; j < width_; j += kLanes) {
      const Lanes gain = fall(j, row, mine, top_pull, flat);
      store(gain, &gain_[j]);
      best = gain > best ? gain : best;
    }
    const double wanted = largest(best);
    std::size_t j = 0;
    while (gain_[j] != wanted) ++j;
    return j;
  }

  Lanes fall(std::size_t j, const double* row, const Lanes& mine, const Lanes& top_pull,
             const Lanes& flat) const {
    const Lanes apart = top_pull - load(&pull_[j]);
    Lanes curvature = mine + load(&self_[j]) - 2.0 * load(row + j);
    curvature = curvature > flat ? curvature : flat;
    const Lanes gain = apart * apart / curvature + load(&down_[j]);
    return apart > Lanes{} ? gain : all(-kNever);
  }

  std::size_t first_, n_, width_;
  std::vector<double> beta_, low_, high_, pull_, up_, down_, self_, rows_;
  mutable std::vector<double> gain_ = std::vector<double>(width_);
};

}  // namespace

template <class T>
std::size_t pair_steps(const KernelRows<T>& kernel, WorkingSet& set, double tolerance,
                       std::size_t most_steps) {
  const std::size_t n = set.slot.size();
  Group<T> first(kernel, set, 0, set.first_of_second, n);
  Group<T> second(kernel, set, set.first_of_second, n, n);
  std::size_t n_steps = 0;
  for (; n_steps < most_steps; ++n_steps) {
    if (n_steps % 1024 == 0) check_interrupt();
    const auto of_first = first.worst(), of_second = second.worst();
    const bool takes_second = of_second.gap > of_first.gap;
    if (!((takes_second ? of_second : of_first).gap > tolerance)) break;
    const auto step = takes_second ? second.step(of_second.pull) : first.step(of_first.pull);
    first.follow(step);
    second.follow(step);
  }
  first.give_back(set);
  second.give_back(set);
  return n_steps;
}

template <class T>
void add_products(const KernelRows<T>& kernel, std::span<const std::int64_t> slot,
                  std::span<const double> change, double* products, int threads) {
  constexpr std::size_t kStep = 1024;
  const std::size_t n = kernel.stride;
  parallel_for(threads, (n + kStep - 1) / kStep, [&](std::size_t block) {
    const std::size_t begin = block * kStep, width = std::min(kStep, n - begin);
    double* __restrict sums = products + begin;
    std::size_t i = 0;
    for (; i + 4 <= slot.size(); i += 4) {
      const T* __restrict row[4];
      for (std::size_t k = 0; k < 4; ++k) {
        row[k] = kernel.row(static_cast<std::size_t>(slot[i + k])) + begin;
      }
      const double c0 = change[i], c1 = change[i + 1], c2 = change[i + 2], c3 = change[i + 3];
      const T *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3];
      for (std::size_t j = 0; j < width; ++j) {
        sums[j] += (c0 * r0[j] + c1 * r1[j]) + (c2 * r2[j] + c3 * r3[j]);
      }
    }
    for (; i < slot.size(); ++i) {
      const T* __restrict row = kernel.row(static_cast<std::size_t>(slot[i])) + begin;
      const double c = change[i];
      for (std::size_t j = 0; j < width; ++j) sums[j] += c * row[j];
    }
  });
}

template std::size_t pair_steps(const KernelRows<float>&, WorkingSet&, double, std::size_t);
template std::size_t pair_steps(const KernelRows<double>&, WorkingSet&, double, std::size_t);
template void add_products(const KernelRows<float>&, std::span<const std::int64_t>,
                           std::span<const double>, double*, int);
template void add_products(const KernelRows<double>&, std::span<const std::int64_t>,
                           std::span<const double>, double*, int);

}  // namespace hedgerow
