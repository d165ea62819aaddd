#include "hist/histogram_pool.hpp"

#include <algorithm>
#include <numeric>

namespace hedgerow::hist {

HistogramPool::HistogramPool(std::size_t bytes, std::size_t budget, std::size_t fewest)
    : bytes_(bytes), most_(std::max(fewest, budget / bytes)) {}

int HistogramPool::acquire() {
  if (free_.empty()) {
    if (slots_.size() >= most_) return -1;
    slots_.emplace_back(bytes_);
    free_.push_back(static_cast<int>(slots_.size()) - 1);
  }
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

void HistogramPool::release(int& slot) {
  if (slot >= 0) free_.push_back(slot);
  slot = -1;
}

void HistogramPool::release_all() {
  free_.resize(slots_.size());
  std::iota(free_.rbegin(), free_.rend(), 0);
}

}  // namespace hedgerow::hist
