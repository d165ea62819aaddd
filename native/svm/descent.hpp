// The common part of coordinate descents: epochs over shuffled coordinates, without those that have
// probably converged ("shrinking"), and a final epoch over all of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "svm/linear_rows.hpp"

namespace hedgerow::svm::linear {

class Descent {
 public:
  virtual ~Descent() = default;

  // Runs at most `epochs` epochs, until one over all coordinates finds no violation of the
  // optimality conditions above `tolerance`. Starts with all coordinates: the caller may have
  // changed some. Returns the number of epochs.
  int run(int epochs, double tolerance);

  // The largest violation that the last epoch found.
  double violation() const { return violation_; }
  bool converged() const { return converged_; }

 protected:
  Descent(std::size_t n_coordinates, std::uint64_t seed);

  // Called before and after the epochs of a run, to read and to write the caller's arrays.
  virtual void begin() {}
  virtual void end() {}

  // Visits the active coordinates in their order, sets violation_, and keeps those that have not
  // converged. If `afresh`, the violations of the previous epoch are ignored.
  virtual void epoch(bool afresh) = 0;

  // Call with the count of numbers read: checks for Ctrl-C about every millisecond.
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

// In the dual of an SVM with penalty ½‖w‖². β and w belong to the caller, who has set w = Σ β_i
// x_i; `square` holds the rows' ‖x_i‖².
struct DualProblem {
  const double *target, *lower, *upper, *ridge;  // [n_rows]; 0 is within the bounds
  double epsilon;
};
std::unique_ptr<Descent> dual_descent(AnyRows rows, const DualProblem& problem,
                                      const double* square, double* beta, double* w,
                                      std::uint64_t seed);

// In the primal of an SVM with penalty Σ|w|. `columns` is X transposed: its rows are features. w
// and slack belong to the caller and must be consistent; y is −1 or 1.
std::unique_ptr<Descent> lasso_descent(AnyRows columns, const double* y, const double* C, double* w,
                                       double* slack, std::uint64_t seed);

// In Crammer and Singer's dual. α is [n_rows][n_classes] and W is [width][n_classes]; both belong
// to the caller and must be consistent. `square` holds the rows' ‖x_i‖².
std::unique_ptr<Descent> crammer_singer(AnyRows rows, const std::int32_t* label,
                                        std::size_t n_classes, const double* C,
                                        const double* square, double* alpha, double* W,
                                        std::uint64_t seed);

}  // namespace hedgerow::svm::linear
