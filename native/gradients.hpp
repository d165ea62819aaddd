// The gradients of a training set, from loss to integers. It is packed or wide as the data demand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "layout.hpp"
#include "losses.hpp"
#include "quantise.hpp"

namespace hedgerow {

class GradientStore {
 public:
  GradientStore(std::size_t n_rows, int n_outputs, int threads);

  // Brings the scores up to date and takes the gradients of a built-in loss at them.
  void differentiate(const LossKind& loss, Rows rows);
  // Takes the gradients of a user's loss: g and h are n_outputs × n_rows.
  void take(const double* g, const double* h);

  const Gradients& output(int k) const { return outputs_[static_cast<std::size_t>(k)]; }
  std::size_t n_rows() const { return n_; }
  int n_outputs() const { return static_cast<int>(outputs_.size()); }

 private:
  RawGradients raw(int k);
  bool all_fit_packed() const;
  void quantise_all();
  template <class Differentiate>
  void run(Differentiate differentiate);

  std::size_t n_;
  int threads_;
  bool packed_;  // the form in use; that of the last round is tried first
  Buffer<float> narrow_g_, narrow_h_;
  Buffer<WidePair> wide_;
  std::vector<GradientSummary> summary_;
  std::vector<Gradients> outputs_;
};

}  // namespace hedgerow
