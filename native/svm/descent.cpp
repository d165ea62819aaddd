// Epochs of a coordinate descent.
#include "svm/descent.hpp"

#include <numeric>
#include <utility>

#include "core/interrupt.hpp"
#include "shared/random.hpp"

namespace hedgerow::svm::linear {

Descent::Descent(std::size_t n_coordinates, std::uint64_t seed)
    : n_coordinates_(n_coordinates), seed_(seed) {}

void Descent::activate_all() {
  active_.resize(n_coordinates_);
  std::iota(active_.begin(), active_.end(), 0u);
  afresh_ = true;
}

void Descent::shuffle() {
  const std::uint64_t key = hash_key(seed_, Purpose::descent_order, epoch_);
  for (std::size_t left = active_.size(); left > 1; --left) {
    // The high half of a product with 64 random bits is uniform below `left`.
    const auto wide = static_cast<unsigned __int128>(hash_at(key, left)) * left;
    std::swap(active_[left - 1], active_[static_cast<std::size_t>(wide >> 64)]);
  }
}

void Descent::look_after(std::size_t numbers) {
  constexpr std::size_t kNumbers = std::size_t{1} << 18;
  unlooked_ += numbers;
  if (unlooked_ < kNumbers) return;
  unlooked_ = 0;
  check_interrupt();
}

int Descent::run(int epochs, double tolerance) {
  begin();
  const int done = run_epochs(epochs, tolerance);
  end();
  return done;
}

int Descent::run_epochs(int epochs, double tolerance) {
  converged_ = false;
  activate_all();
  for (int done = 1; done <= epochs; ++done) {
    const bool of_all = active_.size() == n_coordinates_;
    shuffle();
    epoch(std::exchange(afresh_, false));
    ++epoch_;
    if (violation_ > tolerance) continue;
    if (of_all) {
      converged_ = true;
      return done;
    }
    activate_all();
  }
  return epochs;
}

}  // namespace hedgerow::svm::linear
