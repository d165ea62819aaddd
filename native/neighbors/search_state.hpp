// The state of a query during a search: the k nearest rows so far, or all rows within a radius.
// Distances are reduced (squared, for Euclidean ones), in float64; of two rows at the same
// distance, the one with the smaller index is nearer.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hedgerow::neighbors {

struct Neighbor {
  double distance;
  std::uint32_t index;
};

inline bool nearer(const Neighbor& a, const Neighbor& b) {
  return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
}

// The k nearest. Rows are collected, and now and then all but the k nearest are dropped: cheaper
// than maintaining a heap.
class NearestKeeper {
 public:
  explicit NearestKeeper(std::size_t k) : k_(k), room_(k + std::max(k, kSpare)) {}

  // Rows farther than this are ignored.
  double bound() const { return bound_; }

  void offer(double distance, std::uint32_t index) {
    room_[count_++] = {distance, index};
    if (count_ == room_.size()) tighten();
  }

  void tighten() {
    if (count_ < k_ || count_ == settled_) return;
    const auto last = room_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(room_.begin(), last, room_.begin() + static_cast<std::ptrdiff_t>(count_),
                     nearer);
    count_ = settled_ = k_;
    bound_ = last->distance;
  }

  // The neighbours, the nearest first.
  std::vector<Neighbor> take() {
    tighten();
    room_.resize(count_);
    std::sort(room_.begin(), room_.end(), nearer);
    return std::move(room_);
  }

 private:
  static constexpr std::size_t kSpare = 16;  // measured for k = 10: 8 and 32 are no better

  std::size_t k_;
  std::size_t count_ = 0;
  std::size_t settled_ = 0;  // how many of them determine the bound
  double bound_ = std::numeric_limits<double>::infinity();
  std::vector<Neighbor> room_;
};

// All rows at no more than a distance.
class RadiusKeeper {
 public:
  explicit RadiusKeeper(double bound) : bound_(bound) {}

  double bound() const { return bound_; }
  void offer(double distance, std::uint32_t index) { neighbors_.push_back({distance, index}); }
  void tighten() {}

  std::vector<Neighbor> take() {
    std::sort(neighbors_.begin(), neighbors_.end(), nearer);
    return std::move(neighbors_);
  }

 private:
  double bound_;
  std::vector<Neighbor> neighbors_;
};

// What is computed for every query, and where results are written. `finish` turns a reduced
// distance into a distance.
struct NearestOutput {
  using Keeper = NearestKeeper;
  std::size_t k;
  double* distances;      // (n_queries, k)
  std::int64_t* indices;  // (n_queries, k)

  // How many queries may be processed at once, so that their state takes at most 16 MiB.
  std::size_t most_at_once() const { return (std::size_t{1} << 19) / k + 1; }

  template <class Distance>
  Keeper keeper(const Distance&) const {
    return Keeper(k);
  }

  template <class Distance>
  void write(const Distance& distance, std::size_t query, Keeper& keeper) const {
    const std::vector<Neighbor> neighbors = keeper.take();
    for (std::size_t i = 0; i < k; ++i) {
      distances[query * k + i] = distance.finish(neighbors[i].distance);
      indices[query * k + i] = neighbors[i].index;
    }
  }
};

struct RadiusOutput {
  using Keeper = RadiusKeeper;
  double radius;
  std::vector<Neighbor>* neighbors;  // of each query

  std::size_t most_at_once() const { return std::numeric_limits<std::size_t>::max(); }

  template <class Distance>
  Keeper keeper(const Distance& distance) const {
    return Keeper(distance.reduced_at_least(radius));
  }

  // Distances are compared with the radius, not reduced distances: as in a brute-force search.
  template <class Distance>
  void write(const Distance& distance, std::size_t query, Keeper& keeper) const {
    neighbors[query] = keeper.take();
    for (Neighbor& neighbor : neighbors[query])
      neighbor.distance = distance.finish(neighbor.distance);
    std::erase_if(neighbors[query], [&](const Neighbor& n) { return !(n.distance <= radius); });
  }
};

}  // namespace hedgerow::neighbors
