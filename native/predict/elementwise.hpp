// The functions of shared/math.hpp for arrays, vectorised.
#pragma once
#include <span>

namespace hedgerow::predict {

void exp_inplace(std::span<double> numbers);
void log_inplace(std::span<double> numbers);
void log1p_inplace(std::span<double> numbers);

}  // namespace hedgerow::predict
