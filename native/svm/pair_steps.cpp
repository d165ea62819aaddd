#include "svm/pair_steps.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "core/threads.hpp"

namespace hedgerow::svm {
namespace {

constexpr std::size_t kLanes = 8;
typedef double Lanes __attribute__((vector_size(sizeof(double) * kLanes)));
typedef std::int64_t Places __attribute__((vector_size(sizeof(std::int64_t) * kLanes)));
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kFlat = 1e-12;  // a curvature that is not positive is taken as this much

Lanes load(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
void store(const Lanes& lanes, double* to) { std::memcpy(to, &lanes, sizeof lanes); }
Lanes all(double value) { return value - Lanes{}; }

// The largest of many numbers and its place, the first of equal ones, found lane by lane.
class LaneMaximum {
 public:
  void see(const Lanes& values, const Places& places) {
    const auto more = values > values_;
    values_ = more ? values : values_;
    places_ = more ? places : places_;
  }
  double value() const {
    double top = values_[0];
    for (std::size_t i = 1; i < kLanes; ++i) top = std::max(top, values_[i]);
    return top;
  }
  std::size_t place() const {
    const double top = value();
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (values_[i] == top) first = std::min(first, places_[i]);
    }
    return static_cast<std::size_t>(first);
  }

 private:
  Lanes values_ = all(-kNever);
  Places places_ = {};
};

constexpr Places kFirstPlaces = {0, 1, 2, 3, 4, 5, 6, 7};

std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// The variables of a group, copied and padded to whole vectors; the padding can neither increase
// nor decrease.
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

  // The variable of largest pull that may increase, and the difference from the smallest pull of a
  // variable that may decrease.
  struct Worst {
    std::size_t grows;
    double gap;
  };

  // Updates pulls after a step of `size` from variable `shrinks` to `grows`, and finds the worst
  // pair.
  Worst follow(std::size_t grows, std::size_t shrinks, double step_size) {
    const double* growing = rows_.data() + grows * width_;
    const double* shrinking = rows_.data() + shrinks * width_;
    const Lanes size = all(step_size);
    LaneMaximum top;
    Lanes bottom = all(-kNever);
    Places places = kFirstPlaces;
    for (std::size_t i = 0; i < width_; i += kLanes, places += kLanes) {
      const Lanes pull = load(&pull_[i]) - size * (load(growing + i) - load(shrinking + i));
      store(pull, &pull_[i]);
      top.see(pull + load(&up_[i]), places);
      const Lanes down = load(&down_[i]) - pull;
      bottom = down > bottom ? down : bottom;
    }
    double deepest = bottom[0];
    for (std::size_t i = 1; i < kLanes; ++i) deepest = std::max(deepest, bottom[i]);
    return {top.place(), top.value() + deepest};
  }

  // The best partner of a variable, and the step.
  struct PairStep {
    std::size_t grows, shrinks;
    double size;
  };
  PairStep step(std::size_t i) {
    const std::size_t j = best_partner(i);
    const double curvature = self_[i] + self_[j] - 2.0 * row_of(i)[j];
    double size = (pull_[i] - pull_[j]) / (curvature > kFlat ? curvature : kFlat);
    size = std::min({size, high_[i] - beta_[i], beta_[j] - low_[j]});
    beta_[i] = size == high_[i] - beta_[i] ? high_[i] : beta_[i] + size;
    beta_[j] = size == beta_[j] - low_[j] ? low_[j] : beta_[j] - size;
    note(i);
    note(j);
    return {i + first_, j + first_, size};
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

  // A step with j raises the objective by half of (difference of pulls)² / curvature.
  std::size_t best_partner(std::size_t i) const {
    const double* row = row_of(i);
    const Lanes mine = all(self_[i]), my_pull = all(pull_[i]), flat = all(kFlat);
    LaneMaximum best;
    Places places = kFirstPlaces;
    for (std::size_t j = 0; j < width_; j += kLanes, places += kLanes) {
      const Lanes apart = my_pull - load(&pull_[j]);
      Lanes curvature = mine + load(&self_[j]) - 2.0 * load(row + j);
      curvature = curvature > flat ? curvature : flat;
      const Lanes gain = apart * apart / curvature + load(&down_[j]);
      best.see(apart > Lanes{} ? gain : all(-kNever), places);
    }
    return best.place();
  }

  std::size_t first_, n_, width_;
  std::vector<double> beta_, low_, high_, pull_, up_, down_, self_, rows_;
};

}  // namespace

template <class T>
std::size_t pair_steps(const KernelRows<T>& kernel, WorkingSet& set, double tolerance,
                       std::size_t most_steps) {
  const std::size_t n = set.slot.size();
  Group<T> first(kernel, set, 0, set.first_of_second, n);
  Group<T> second(kernel, set, set.first_of_second, n, n);
  auto of_first = first.follow(0, 0, 0.0), of_second = second.follow(0, 0, 0.0);
  std::size_t n_steps = 0;
  for (; n_steps < most_steps; ++n_steps) {
    if (n_steps % 1024 == 0) check_interrupt();
    const bool takes_second = of_second.gap > of_first.gap;
    if (!((takes_second ? of_second : of_first).gap > tolerance)) break;
    const auto step = takes_second ? second.step(of_second.grows) : first.step(of_first.grows);
    of_first = first.follow(step.grows, step.shrinks, step.size);
    of_second = second.follow(step.grows, step.shrinks, step.size);
  }
  first.give_back(set);
  second.give_back(set);
  return n_steps;
}

std::vector<std::int64_t> most_violating(std::span<const double> pull, std::span<const double> beta,
                                         std::span<const double> low, std::span<const double> high,
                                         std::size_t most) {
  std::vector<std::int64_t> growing, shrinking;
  for (std::size_t i = 0; i < pull.size(); ++i) {
    if (beta[i] < high[i]) growing.push_back(static_cast<std::int64_t>(i));
    if (beta[i] > low[i]) shrinking.push_back(static_cast<std::int64_t>(i));
  }
  const auto keep = [&](std::vector<std::int64_t>& of, double sign) {
    if (of.size() <= most) return;
    const auto last = of.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(of.begin(), last, of.end(), [&](std::int64_t i, std::int64_t j) {
      const double p = sign * pull[static_cast<std::size_t>(i)];
      const double q = sign * pull[static_cast<std::size_t>(j)];
      return p > q || (p == q && i < j);
    });
    of.resize(most);
  };
  keep(growing, 1.0);
  keep(shrinking, -1.0);
  growing.insert(growing.end(), shrinking.begin(), shrinking.end());
  std::sort(growing.begin(), growing.end());
  growing.erase(std::unique(growing.begin(), growing.end()), growing.end());
  return growing;
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

}  // namespace hedgerow::svm
