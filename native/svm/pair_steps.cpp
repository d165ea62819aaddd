#include "svm/pair_steps.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

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
constexpr double kFlat = 1e-12;          // a curvature that is not positive is taken as this much
constexpr double kAlmost = 1.0 - 1e-14;  // more than the rounding of a product and a quotient

Lanes load(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
Lanes load(const float* from) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#else
  typedef float Floats __attribute__((vector_size(sizeof(float) * kLanes)));
  Floats lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return __builtin_convertvector(lanes, Lanes);
#endif
}
void store(const Lanes& lanes, double* to) { std::memcpy(to, &lanes, sizeof lanes); }
Lanes all(double value) { return value - Lanes{}; }
bool any(const Places& lanes) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)lanes, (__m512i)lanes) != 0;
#else
  std::int64_t joined = 0;
  for (std::size_t i = 0; i < kLanes; ++i) joined |= lanes[i];
  return joined != 0;
#endif
}

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

// The kernel values of the working set's variables with one another, group by group in a row, each
// group padded to whole vectors. They keep their type: half as much is read in each step if it is
// float.
template <class T>
struct WorkingMatrix {
  const T* values;
  std::size_t stride;
  const T* row(std::size_t i) const { return values + i * stride; }
};

// Gathers the matrix from the cached rows of the kernel matrix, which are far apart in memory.
template <class T>
WorkingMatrix<T> gather(const KernelRows<T>& kernel, const WorkingSet& set, T* room, int threads) {
  constexpr std::size_t kRowsAtOnce = 16, kFewValues = 1 << 14;
  const std::size_t n = set.slot.size(), n_first = set.first_of_second;
  const std::size_t begin_second = padded(n_first);
  const std::size_t stride = begin_second + padded(n - n_first);
  const int useful = threads_for(n * n, kFewValues, threads);
  parallel_for(useful, (n + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::size_t task) {
    const std::size_t end = std::min((task + 1) * kRowsAtOnce, n);
    for (std::size_t i = task * kRowsAtOnce; i < end; ++i) {
      const T* from = kernel.row(static_cast<std::size_t>(set.slot[i]));
      T* to = room + i * stride;
      std::fill(to + n_first, to + begin_second, T{0});
      std::fill(to + begin_second + (n - n_first), to + stride, T{0});
      for (std::size_t j = 0; j < n_first; ++j) to[j] = from[set.column[j]];
      for (std::size_t j = n_first; j < n; ++j) {
        to[begin_second + j - n_first] = from[set.column[j]];
      }
    }
  });
  return {room, stride};
}

// The variables of a group, copied and padded to whole vectors; the padding can neither increase
// nor decrease.
template <class T>
class Group {
 public:
  Group(const WorkingMatrix<T>& matrix, const WorkingSet& set, std::size_t first, std::size_t last)
      : first_(first), n_(last - first), width_(padded(n_)), matrix_(matrix) {
    matrix_.values += padded(first_);
    beta_.assign(set.beta.begin() + first, set.beta.begin() + last);
    low_.assign(set.low.begin() + first, set.low.begin() + last);
    high_.assign(set.high.begin() + first, set.high.begin() + last);
    pull_.assign(width_, 0.0);
    std::copy(set.pull.begin() + first, set.pull.begin() + last, pull_.begin());
    up_.assign(width_, -kNever);
    down_.assign(width_, -kNever);
    self_.assign(width_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      self_[i] = static_cast<double>(row_of(i)[i]);
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
    const T* growing = matrix_.row(grows);
    const T* shrinking = matrix_.row(shrinks);
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
    const double curvature = self_[i] + self_[j] - 2.0 * static_cast<double>(row_of(i)[j]);
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
  const T* row_of(std::size_t i) const { return matrix_.row(first_ + i); }

  void note(std::size_t i) {
    up_[i] = beta_[i] < high_[i] ? 0.0 : -kNever;
    down_[i] = beta_[i] > low_[i] ? 0.0 : -kNever;
  }

  // The gain of a step from j to i, twice the rise of the objective, is (difference of pulls)² /
  // curvature, and the largest counts. Divisions take most of the time of a step, so variables are
  // first compared by products with the largest gain so far: few can exceed it.
  std::size_t best_partner(std::size_t i) const {
    const T* row = row_of(i);
    const Lanes mine = all(self_[i]), my_pull = all(pull_[i]), flat = all(kFlat);
    LaneMaximum best;
    Lanes enough = {};  // slightly below the largest gain so far
    Places places = kFirstPlaces;
    for (std::size_t j = 0; j < width_; j += kLanes, places += kLanes) {
      const Lanes apart = my_pull - load(&pull_[j]);
      Lanes curvature = mine + load(&self_[j]) - 2.0 * load(row + j);
      curvature = curvature > flat ? curvature : flat;
      const Lanes square = apart * apart;
      if (!any((apart > Lanes{}) & (square + load(&down_[j]) >= enough * curvature))) continue;
      const Lanes gain = square / curvature + load(&down_[j]);
      best.see(apart > Lanes{} ? gain : all(-kNever), places);
      enough = all(std::max(0.0, best.value()) * kAlmost);
    }
    return best.place();
  }

  std::size_t first_, n_, width_;
  WorkingMatrix<T> matrix_;  // the columns of the group
  std::vector<double> beta_, low_, high_, pull_, up_, down_, self_;
};

}  // namespace

std::size_t pair_room(std::size_t n) { return n * (n + 2 * kLanes); }

template <class T>
std::size_t pair_steps(const KernelRows<T>& kernel, WorkingSet& set, double tolerance,
                       std::size_t most_steps, T* room, int threads) {
  const WorkingMatrix<T> matrix = gather(kernel, set, room, threads);
  Group<T> first(matrix, set, 0, set.first_of_second);
  Group<T> second(matrix, set, set.first_of_second, set.slot.size());
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

std::pair<double, double> pull_range(std::span<const double> pull, std::span<const double> beta,
                                     std::span<const double> low, std::span<const double> high) {
  double top = -kNever, bottom = kNever;
  for (std::size_t i = 0; i < pull.size(); ++i) {
    const double up = beta[i] < high[i] ? pull[i] : -kNever;
    const double down = beta[i] > low[i] ? pull[i] : kNever;
    top = up > top || up != up ? up : top;  // a NaN stays
    bottom = down < bottom || down != down ? down : bottom;
  }
  return {top, bottom};
}

namespace {

struct Violator {
  double pull;  // the larger, the more it violates
  std::int64_t place;
  bool operator<(const Violator& other) const {
    return pull > other.pull || (pull == other.pull && place < other.place);
  }
};

void keep_first(std::vector<Violator>& all, std::size_t most) {
  if (all.size() <= most) return;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
  all.resize(most);
}

}  // namespace

std::vector<std::int64_t> most_violating(std::span<const double> pull, std::span<const double> beta,
                                         std::span<const double> low, std::span<const double> high,
                                         std::size_t most, int threads) {
  // Those of all variables are among those of a part of them.
  constexpr std::size_t kSmallestPart = 2048;
  const std::size_t n = pull.size();
  const int n_parts = threads_for(n, std::max(kSmallestPart, 2 * most), threads);
  const std::size_t step = n / static_cast<std::size_t>(n_parts) + 1;
  std::vector<std::vector<Violator>> parts(2 * static_cast<std::size_t>(n_parts));
  parallel_for(n_parts, static_cast<std::size_t>(n_parts), [&](std::size_t part) {
    auto &growing = parts[2 * part], &shrinking = parts[2 * part + 1];
    for (std::size_t i = part * step; i < std::min((part + 1) * step, n); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      if (beta[i] < high[i]) growing.push_back({pull[i], place});
      if (beta[i] > low[i]) shrinking.push_back({-pull[i], place});
    }
    keep_first(growing, most);
    keep_first(shrinking, most);
  });
  std::vector<std::int64_t> places;
  for (std::size_t side = 0; side < 2; ++side) {
    std::vector<Violator> all;
    for (std::size_t part = side; part < parts.size(); part += 2) {
      all.insert(all.end(), parts[part].begin(), parts[part].end());
    }
    keep_first(all, most);
    for (const Violator& one : all) places.push_back(one.place);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

template <class T>
void add_products(const KernelRows<T>& kernel, std::span<const std::int64_t> slot,
                  std::span<const double> change, double* products, int threads) {
  // Sums of a block stay in the first cache; several blocks for each thread, of whole cache lines.
  constexpr std::size_t kWidest = 1024, kNarrowest = 64, kBlocksPerThread = 4;
  const std::size_t n = kernel.stride;
  const std::size_t share = n / (kBlocksPerThread * static_cast<std::size_t>(std::max(threads, 1)));
  const std::size_t step = std::clamp(share / kNarrowest * kNarrowest, kNarrowest, kWidest);
  parallel_for(threads, (n + step - 1) / step, [&](std::size_t block) {
    const std::size_t begin = block * step, width = std::min(step, n - begin);
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

template <class T>
void take_kernels(const KernelRows<T>& kernel, std::span<const std::int64_t> slot,
                  std::span<const std::int64_t> column, T* out, int threads) {
  parallel_for(threads, slot.size(), [&](std::size_t i) {
    const T* from = kernel.row(static_cast<std::size_t>(slot[i]));
    T* to = out + i * column.size();
    for (std::size_t j = 0; j < column.size(); ++j) to[j] = from[column[j]];
  });
}

template std::size_t pair_steps(const KernelRows<float>&, WorkingSet&, double, std::size_t, float*,
                                int);
template std::size_t pair_steps(const KernelRows<double>&, WorkingSet&, double, std::size_t,
                                double*, int);
template void add_products(const KernelRows<float>&, std::span<const std::int64_t>,
                           std::span<const double>, double*, int);
template void add_products(const KernelRows<double>&, std::span<const std::int64_t>,
                           std::span<const double>, double*, int);
template void take_kernels(const KernelRows<float>&, std::span<const std::int64_t>,
                           std::span<const std::int64_t>, float*, int);
template void take_kernels(const KernelRows<double>&, std::span<const std::int64_t>,
                           std::span<const std::int64_t>, double*, int);

}  // namespace hedgerow::svm
