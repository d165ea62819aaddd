// The gradients of a training set, from the loss to integers, packed or wide depending on the data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/communicator.hpp"
#include "gradient/losses.hpp"
#include "gradient/quantise.hpp"
#include "gradient/row_sampling.hpp"
#include "gradient/vector_store.hpp"
#include "shared/fixed_point.hpp"

namespace hedgerow {

// The gradient-based row sample of a round.
struct Draw {
  GradientSampling sampling;
  std::uint64_t round;
};

class GradientStore {
 public:
  // If `vector`, the outputs of a row are stored side by side, for trees of all outputs.
  //
  // If the rows of a table are divided among workers, a store has the rows of one worker, but its
  // units are those of all rows, so that the sums of the workers can be added. Computing gradients
  // is then collective.
  GradientStore(std::size_t n_rows, int n_outputs, int threads, bool vector = false,
                std::size_t n_total = 0, std::shared_ptr<Communicator> communicator = nullptr);

  // Updates the scores and computes the gradients of a built-in loss; with a draw, returns the rows
  // of the sample.
  SampledRows differentiate(const LossKind& loss, Rows rows, const std::optional<Draw>& draw);
  // Takes the gradients of a user-defined loss: g and h are n_outputs × n_rows.
  SampledRows take(const double* g, const double* h, const std::optional<Draw>& draw);

  const Gradients& output(int k) const { return outputs_[static_cast<std::size_t>(k)]; }
  const VectorGradients& all_outputs() const { return all_; }
  // The quantised gradient and hessian of a row, as numbers.
  std::pair<double, double> to_float(int k, std::size_t row) const;
  std::size_t n_rows() const { return n_; }
  bool is_vector() const { return vector_; }
  int n_outputs() const { return static_cast<int>(outputs_.size()); }

 private:
  RawGradients raw(int k);
  void summarise_all();
  bool all_fit_packed() const;
  void quantise_all();
  template <class Differentiate>
  SampledRows run(Differentiate differentiate, const std::optional<Draw>& draw);

  std::size_t n_, n_total_;
  int threads_;
  bool vector_;
  bool packed_;  // the format in use; that of the last round is tried first
  Buffer<float> narrow_g_, narrow_h_;
  Buffer<WidePair> wide_;
  std::shared_ptr<Communicator> communicator_;
  std::vector<GradientTotals> totals_;
  std::vector<GradientSummary> summary_;  // of all rows
  std::vector<Gradients> outputs_;
  VectorRows vector_rows_;
  VectorGradients all_;
};

}  // namespace hedgerow
