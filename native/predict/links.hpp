// Scores → probabilities, and the functions of shared/math.hpp for arrays, vectorised.
#pragma once
#include <cstddef>
#include <span>

#include "predict/predictor.hpp"

namespace hedgerow::predict {

void sigmoid_inplace(double* scores, std::size_t count, int threads);

// From the scores of the second of two classes, writes the probabilities of both, row by row.
void two_classes(Strided<const double> scores, std::size_t count, double factor,
                 double* probabilities, int threads);

// Each row becomes exp(score) / Σ exp(score), summed in the order of the outputs.
void softmax_inplace(Strided<double> scores, std::size_t n_rows, std::size_t n_outputs,
                     int threads);

void exp_inplace(std::span<double> numbers);
void log_inplace(std::span<double> numbers);
void log1p_inplace(std::span<double> numbers);

}  // namespace hedgerow::predict
