#include "predict/links.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/threads.hpp"
#include "shared/math.hpp"

namespace hedgerow::predict {

namespace {

constexpr std::size_t kChunk = 4096;  // about ten microseconds of work
constexpr std::size_t kWidth = 64;    // rows transposed at a time, so that exp is vectorised

template <class Task>
void for_each_chunk(std::size_t count, int threads, const Task& task) {
  parallel_for(threads, (count + kChunk - 1) / kChunk,
               [&](std::size_t i) { task(i * kChunk, std::min(count, (i + 1) * kChunk)); });
}

void softmax_rows(Strided<double> scores, std::size_t begin, std::size_t n, std::size_t n_outputs,
                  double* buffer) {
  double largest[kWidth], sum[kWidth] = {};
  std::fill_n(largest, kWidth, -std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < n_outputs; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      const double score = scores.at(begin + i, k);
      buffer[k * kWidth + i] = score;
      largest[i] = largest[i] < score ? score : largest[i];
    }
  for (std::size_t k = 0; k < n_outputs; ++k)
    for (std::size_t i = 0; i < kWidth; ++i) {
      buffer[k * kWidth + i] = exp(buffer[k * kWidth + i] - largest[i]);
      sum[i] += buffer[k * kWidth + i];
    }
  for (std::size_t k = 0; k < n_outputs; ++k)
    for (std::size_t i = 0; i < n; ++i) scores.at(begin + i, k) = buffer[k * kWidth + i] / sum[i];
}

}  // namespace

void sigmoid_inplace(double* scores, std::size_t count, int threads) {
  for_each_chunk(count, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) scores[i] = sigmoid(scores[i]);
  });
}

void two_classes(Strided<const double> scores, std::size_t count, double factor,
                 double* probabilities, int threads) {
  for_each_chunk(count, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double p = sigmoid(scores.at(i, 0) * factor);
      probabilities[2 * i] = 1.0 - p;
      probabilities[2 * i + 1] = p;
    }
  });
}

void softmax_inplace(Strided<double> scores, std::size_t n_rows, std::size_t n_outputs,
                     int threads) {
  for_each_chunk(n_rows, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> buffer(n_outputs * kWidth);
    for (std::size_t row = begin; row < end; row += kWidth)
      softmax_rows(scores, row, std::min(kWidth, end - row), n_outputs, buffer.data());
  });
}

void exp_inplace(std::span<double> numbers) {
  for (double& x : numbers) x = hedgerow::exp(x);
}

void log_inplace(std::span<double> numbers) {
  for (double& x : numbers) x = hedgerow::log(x);
}

void log1p_inplace(std::span<double> numbers) {
  for (double& x : numbers) x = hedgerow::log1p(x);
}

}  // namespace hedgerow::predict
