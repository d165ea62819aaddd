#include "gradient/store.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hedgerow {

GradientStore::GradientStore(std::size_t n_rows, int n_outputs, int threads, bool vector)
    : n_(n_rows),
      threads_(threads),
      vector_(vector),
      packed_(n_rows >= (vector ? kOneWordFromRows : kPackedFromRows)),
      summary_(static_cast<std::size_t>(n_outputs)),
      outputs_(static_cast<std::size_t>(n_outputs)) {}

std::pair<double, double> GradientStore::to_float(int k, std::size_t row) const {
  if (vector_) return all_.to_float(k, row);
  const Gradients& gradients = output(k);
  const GradientSum sum = gradients.row(row);
  return {gradients.fixed.g(sum), gradients.fixed.h(sum)};
}

RawGradients GradientStore::raw(int k) {
  const std::size_t start = static_cast<std::size_t>(k) * n_;
  const std::size_t all = n_ * outputs_.size();
  if (packed_) {
    if (!narrow_g_) {
      narrow_g_ = Buffer<float>(all);
      narrow_h_ = Buffer<float>(all);
    }
    return {narrow_g_.get() + start, narrow_h_.get() + start, nullptr};
  }
  if (!wide_) wide_ = Buffer<WidePair>(all);
  return {nullptr, nullptr, wide_.get() + start};
}

bool GradientStore::all_fit_packed() const {
  return std::all_of(summary_.begin(), summary_.end(), [&](const GradientSummary& summary) {
    return vector_ ? fits_one_word(summary, n_) : fits_packed(summary, n_);
  });
}

void GradientStore::quantise_all() {
  if (vector_) {
    all_ = vector_rows_.quantise(raw(0), summary_, n_, !packed_, threads_);
    return;
  }
  for (int k = 0; k < n_outputs(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    outputs_[i] = quantise(raw(k), choose_units(summary_[i], n_, packed_), n_, threads_);
  }
}

// Computes gradients in the format of the last round, and again if they need the other one: the
// result must not depend on earlier rounds, or a resumed fit would differ.
template <class Differentiate>
SampledRows GradientStore::run(Differentiate differentiate, const std::optional<Draw>& draw) {
  differentiate();
  for (const GradientSummary& summary : summary_) {
    if (!std::isfinite(summary.sum_g) || !std::isfinite(summary.sum_h)) {
      throw std::overflow_error("the gradients are too large to add up");
    }
  }
  const bool suits_packed = all_fit_packed();
  if (packed_ != suits_packed) {
    packed_ = suits_packed;
    differentiate();
  }
  SampledRows sample;
  if (draw) {
    std::vector<RawGradients> outputs;
    outputs.reserve(summary_.size());
    for (int k = 0; k < n_outputs(); ++k) outputs.push_back(raw(k));
    sample =
        sample_by_gradient(draw->sampling, draw->round, outputs, n_, summary_.data(), threads_);
  }
  quantise_all();
  return sample;
}

SampledRows GradientStore::differentiate(const LossKind& loss, Rows rows,
                                         const std::optional<Draw>& draw) {
  const auto once = [&] {
    hedgerow::differentiate(loss, rows, raw(0), summary_.data(), threads_);
    rows.leaf = nullptr;  // the scores are up to date now
  };
  return run(once, draw);
}

SampledRows GradientStore::take(const double* g, const double* h, const std::optional<Draw>& draw) {
  const auto once = [&] {
    for (int k = 0; k < n_outputs(); ++k) {
      const std::size_t start = static_cast<std::size_t>(k) * n_;
      summary_[static_cast<std::size_t>(k)] =
          take_gradients(g + start, h + start, n_, raw(k), threads_);
    }
  };
  return run(once, draw);
}

}  // namespace hedgerow
