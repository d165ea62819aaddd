// Minimum child weight: the rule by which every boosting engine compares a fixed-point sum of
// hessians with min_child_weight. (CART compares weights as scikit-learn does, whose trees it
// reproduces, without this rule.)
//
// A child whose sum equals the minimum must pass, as in exact arithmetic: squared error has h = 1,
// so min_child_weight = k requires k rows, and k rows are enough. A plain comparison of sums would
// refuse such a child whenever rounding lost one step too many.
//
// The rule. With u one step, a row of weight h counts floor(h/u + ½) steps, and at least one if h
// is positive. c rows that count S steps together are heavy enough for the minimum weight k if
//     S + c ≥ (1 − ε) k/u,    and S > 0 unless k = 0.
// Proof that no child of Σh ≥ k is refused: rounding takes at most half a step from a row, and
// float arithmetic (h/u is a product with a rounded reciprocal, which is rounded as well) at most a
// share δ of h. So S ≥ (1 − δ) Σh/u − c/2, hence S + c ≥ (1 − δ) k/u + ½, and the right-hand side
// of the rule is computed with three roundings of 2⁻⁵³: it holds where ε ≥ δ + 2⁻⁵¹. If h is a
// float64, δ ≤ 3 · 2⁻⁵³. If it went through float32, δ ≤ 2⁻²³.
// A child that passes although its Σh is less than k lacks at most 3c/2 steps and a share ε of k.
// That share is larger than the proof needs: hessians are results of exp() and sums of scores, and
// decimal weights are not exact in binary, so sums that are k on paper
// (nine rows of p = 1/3, 9 · ⅓ · ⅔ = 2) come out a few units in the last place apart.
#pragma once
#include <cmath>

namespace hedgerow {

inline constexpr double kWeightTolerance = 0x1p-40;       // ε
inline constexpr double kFloatWeightTolerance = 0x1p-22;  // of weights that went through float32

// The right-hand side of the rule, rounded up: S + c is an integer.
inline double min_steps_of_child(double weight, double unit, double tolerance = kWeightTolerance) {
  return std::ceil(weight / unit * (1.0 - tolerance));
}

}  // namespace hedgerow
