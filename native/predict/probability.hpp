// Scores → probabilities, in place.
#pragma once
#include <cstddef>

#include "predict/predictor.hpp"

namespace hedgerow::predict {

void sigmoid_inplace(double* scores, std::size_t count, int threads);

// Each row becomes exp(score) / Σ exp(score), summed in the order of the outputs.
void softmax_inplace(Strided<double> scores, std::size_t n_rows, std::size_t n_outputs,
                     int threads);

}  // namespace hedgerow::predict
