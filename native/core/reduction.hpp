// Sums and maxima over all workers, each of which has some of the rows of a table.
//
// What is decided from all rows is decided from integers that can be reduced in any order. So any
// number of workers, each with any rows, comes to the same decisions as one that has them all.
#pragma once
#include <cstdint>
#include <span>

namespace hedgerow {

class Reduction {
 public:
  Reduction() = default;
  virtual ~Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  // Whether this worker has all rows, so that there is nothing to do.
  virtual bool is_alone() const = 0;
  // Replaces each number by its sum over all workers, or by its maximum. All workers call the same
  // functions with as many numbers, in the same order, and not within a parallel region.
  virtual void sum(std::span<std::uint64_t> numbers) const = 0;
  virtual void max(std::span<std::uint64_t> numbers) const = 0;
};

class NoReduction final : public Reduction {
 public:
  bool is_alone() const override { return true; }
  void sum(std::span<std::uint64_t>) const override {}
  void max(std::span<std::uint64_t>) const override {}
};

}  // namespace hedgerow
