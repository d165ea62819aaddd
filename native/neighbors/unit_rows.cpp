#include "neighbors/unit_rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/threads.hpp"

namespace hedgerow::neighbors {
namespace {

constexpr std::size_t kRowsOfTask = 256;

void unit_row(const double* row, std::size_t d, double* out) {
  double largest = 0.0;
  for (std::size_t j = 0; j < d; ++j) largest = std::max(largest, std::abs(row[j]));
  int exponent = 0;
  std::frexp(largest, &exponent);
  // Two powers of two, since one alone might be beyond the largest number.
  const double half = std::ldexp(1.0, -exponent / 2),
               rest = std::ldexp(1.0, -exponent + exponent / 2);
  double sum = 0.0;
  for (std::size_t j = 0; j < d; ++j) {
    out[j] = row[j] * half * rest;
    sum += out[j] * out[j];
  }
  const double norm = largest > 0.0 ? std::sqrt(sum) : 1.0;
  for (std::size_t j = 0; j < d; ++j) out[j] /= norm;
}

}  // namespace

void unit_rows(const double* values, const std::int64_t* starts, std::size_t n_rows, double* out,
               int threads) {
  const std::size_t tasks = (n_rows + kRowsOfTask - 1) / kRowsOfTask;
  parallel_for(threads, tasks, [&](std::size_t task) {
    const std::size_t end = std::min((task + 1) * kRowsOfTask, n_rows);
    for (std::size_t i = task * kRowsOfTask; i < end; ++i)
      unit_row(values + starts[i], static_cast<std::size_t>(starts[i + 1] - starts[i]),
               out + starts[i]);
  });
}

}  // namespace hedgerow::neighbors
