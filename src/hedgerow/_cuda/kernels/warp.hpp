// What the lanes of a warp compute together. Some functions are not inlined: where few threads run
// long code, reading the code takes most of the time.
#pragma once
#include "state.hpp"

namespace hedgerow::cuda {

// The lane with the largest gain, and of equals the one with the lowest place.
struct LaneBest {
  double gain;
  int place;  // −1: none
};

// Of each `n_lanes` lanes, a power of two.
__noinline__ LaneBest best_lane(LaneBest own, int n_lanes = kWarp) {
  for (int distance = n_lanes / 2; distance > 0; distance /= 2) {
    const LaneBest other = {__shfl_xor_sync(kAllLanes, own.gain, distance),
                            __shfl_xor_sync(kAllLanes, own.place, distance)};
    if (other.place < 0) continue;
    const bool is_better = own.place < 0 || other.gain > own.gain ||
                           (other.gain == own.gain && other.place < own.place);
    if (is_better) own = other;
  }
  return own;
}

inline GradientSum shuffle_up(const GradientSum& x, int distance) {
  return {__shfl_up_sync(kAllLanes, x.g, distance), __shfl_up_sync(kAllLanes, x.hc, distance)};
}
inline GradientSum from_lane(const GradientSum& x, int lane) {
  return {__shfl_sync(kAllLanes, x.g, lane), __shfl_sync(kAllLanes, x.hc, lane)};
}

}  // namespace hedgerow::cuda
