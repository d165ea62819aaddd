#include "gradient/store.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"

namespace hedgerow {

GradientStore::GradientStore(std::size_t n_rows, int n_outputs, int threads, bool vector,
                             std::size_t n_total, std::shared_ptr<Communicator> communicator)
    : n_(n_rows),
      n_total_(n_total ? n_total : n_rows),
      threads_(threads),
      vector_(vector),
      packed_(n_total_ >= (vector ? kOneWordFromRows : kPackedFromRows)),
      communicator_(std::move(communicator)),
      totals_(static_cast<std::size_t>(n_outputs)),
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

// The only step in which workers exchange information about their rows.
void GradientStore::summarise_all() {
  if (communicator_) {
    Bytes own;
    append(own, totals_.data(), totals_.size());
    totals_.assign(totals_.size(), {});
    for (const Bytes& part : communicator_->gather(own)) {
      BytesReader reader(part);
      for (GradientTotals& totals : totals_) totals.add(reader.read<GradientTotals>());
      reader.finish();
    }
  }
  std::transform(totals_.begin(), totals_.end(), summary_.begin(),
                 [](const GradientTotals& totals) { return totals.summary(); });
}

bool GradientStore::all_fit_packed() const {
  return std::all_of(summary_.begin(), summary_.end(), [&](const GradientSummary& summary) {
    return vector_ ? fits_one_word(summary, n_total_) : fits_packed(summary, n_total_);
  });
}

void GradientStore::quantise_all() {
  if (vector_) {
    all_ = vector_rows_.quantise(raw(0), summary_, {n_, n_total_}, !packed_, threads_);
    return;
  }
  for (int k = 0; k < n_outputs(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    outputs_[i] = quantise(raw(k), choose_units(summary_[i], n_total_, packed_), n_, threads_);
  }
}

// Computes gradients in the format of the last round, and again if they need the other one: the
// result must not depend on earlier rounds, or a resumed fit would differ.
template <class Differentiate>
SampledRows GradientStore::run(Differentiate differentiate, const std::optional<Draw>& draw) {
  differentiate();
  summarise_all();
  for (const GradientSummary& summary : summary_) {
    if (!std::isfinite(summary.sum_g) || !std::isfinite(summary.sum_h)) {
      throw_overflow("the gradients are too large to add up");
    }
  }
  const bool suits_packed = all_fit_packed();
  if (packed_ != suits_packed) {
    packed_ = suits_packed;
    differentiate();  // the summary stays as it is
  }
  SampledRows sample;
  if (draw) {
    std::vector<RawGradients> outputs;
    outputs.reserve(summary_.size());
    for (int k = 0; k < n_outputs(); ++k) outputs.push_back(raw(k));
    sample = sample_by_gradient(draw->sampling, draw->round, outputs, n_, totals_.data(), threads_);
    summarise_all();
  }
  quantise_all();
  return sample;
}

SampledRows GradientStore::differentiate(const LossKind& loss, Rows rows,
                                         const std::optional<Draw>& draw) {
  const auto once = [&] {
    hedgerow::differentiate(loss, rows, raw(0), totals_.data(), threads_);
    rows.leaf = nullptr;  // the scores are up to date now
  };
  return run(once, draw);
}

SampledRows GradientStore::take(const double* g, const double* h, const std::optional<Draw>& draw) {
  const auto once = [&] {
    for (int k = 0; k < n_outputs(); ++k) {
      const std::size_t start = static_cast<std::size_t>(k) * n_;
      totals_[static_cast<std::size_t>(k)] =
          take_gradients(g + start, h + start, n_, raw(k), threads_);
    }
  };
  return run(once, draw);
}

}  // namespace hedgerow
