// Power iteration with a fixed number of steps and a fixed order of operations, so that every
// instruction-set level finds the same direction. It starts from the category farthest from the
// mean. If two principal components are nearly equal it may end between them, which does no harm.
#include "tree/category_order.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace hedgerow {
namespace {

constexpr int kSteps = 12;

using Vector = std::vector<double>;

double dot(const double* a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t v = 0; v < b.size(); ++v) sum += a[v] * b[v];
  return sum;
}

void subtract_mean(std::span<const double> weight, std::span<double> point, std::size_t width) {
  Vector mean(width, 0.0);
  double total = 0.0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    total += weight[i];
    for (std::size_t v = 0; v < width; ++v) mean[v] += weight[i] * point[i * width + v];
  }
  for (std::size_t i = 0; i < weight.size(); ++i) {
    for (std::size_t v = 0; v < width; ++v) point[i * width + v] -= mean[v] / total;
  }
}

Vector farthest_out(std::span<const double> weight, std::span<const double> point,
                    std::size_t width) {
  const double* farthest = point.data();
  double most = -1.0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double* at = point.data() + i * width;
    const double moment = weight[i] * dot(at, Vector(at, at + width));
    if (!(moment > most)) continue;
    most = moment;
    farthest = at;
  }
  return Vector(farthest, farthest + width);
}

// Divides by the number of largest magnitude, which becomes 1. Returns false if all are 0.
bool normalise(Vector& direction) {
  double largest = 0.0;
  for (const double x : direction) {
    if (std::fabs(x) > std::fabs(largest)) largest = x;
  }
  if (largest == 0.0) return false;
  for (double& x : direction) x /= largest;
  return true;
}

Vector step(std::span<const double> weight, std::span<const double> point,
            const Vector& direction) {
  Vector next(direction.size(), 0.0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double* at = point.data() + i * direction.size();
    const double pull = weight[i] * dot(at, direction);
    for (std::size_t v = 0; v < next.size(); ++v) next[v] += pull * at[v];
  }
  return next;
}

}  // namespace

void principal_coordinates(std::span<const double> weight, std::span<double> point, int n_numbers,
                           std::span<double> rank) {
  const auto width = static_cast<std::size_t>(n_numbers);
  Vector direction(width, 1.0);
  if (width > 1) {
    subtract_mean(weight, point, width);
    direction = farthest_out(weight, point, width);
    for (int i = 0; i < kSteps && normalise(direction); ++i) {
      direction = step(weight, point, direction);
    }
    normalise(direction);
  }
  for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = dot(point.data() + i * width, direction);
}

}  // namespace hedgerow
