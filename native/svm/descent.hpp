// What coordinate descents share: epochs over coordinates in an order shuffled anew each time,
// those left out that look settled ("shrinking"), and a last look at all of them before the end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hedgerow::svm::linear {

class Descent {
 public:
  virtual ~Descent() = default;

  // Goes on for at most `epochs`, until an epoch over all coordinates finds no violation of the
  // optimality conditions above `tolerance`. Begins with all coordinates: the caller may have moved
  // some. Gives how many epochs there were.
  int run(int epochs, double tolerance);

  // The largest violation that the last epoch found.
  double violation() const { return violation_; }
  bool converged() const { return converged_; }

 protected:
  Descent(std::size_t n_coordinates, std::uint64_t seed);

  // Before and after the epochs of a run: to take over what the caller has moved, and to hand back.
  virtual void begin() {}
  virtual void end() {}

  // Visits the active coordinates in their order, sets violation_, and keeps those that are not
  // settled. If `afresh`, violations of the epoch before say nothing.
  virtual void epoch(bool afresh) = 0;

  // Call for every so many numbers read: looks for Ctrl-C about every millisecond.
  void look_after(std::size_t numbers);

  std::vector<std::uint32_t> active_;
  double violation_ = std::numeric_limits<double>::infinity();

 private:
  int run_epochs(int epochs, double tolerance);
  void activate_all();
  void shuffle();

  std::size_t n_coordinates_, unlooked_ = 0;
  std::uint64_t seed_, epoch_ = 0;
  bool afresh_ = true, converged_ = false;
};

}  // namespace hedgerow::svm::linear
