"""Conjugate gradients: solving a linear system by products with its matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow._svm.linear.problem import dot, square
from hedgerow._types import Floats

# Relative residual at which to stop: steps are clipped at bounds or by other rows' slacks, so
# higher accuracy does not pay off.
REDUCTION = 1e-2


def conjugate_gradients(
    curved: Callable[[Floats], Floats], gradient: Floats, n_steps: int
) -> tuple[Floats, bool]:
    """Solve H step = −gradient, where `curved(v)` is H v; also return whether it converged."""
    step, residual = np.zeros_like(gradient), -gradient
    towards, left = residual, square(residual)
    enough = REDUCTION**2 * left
    for _ in range(n_steps):
        if left <= enough:
            return step, True
        along = curved(towards)
        curvature = dot(towards, along)
        if curvature <= 0.0:  # only by rounding: H is positive definite
            return step, True
        length = left / curvature
        step = step + length * towards
        residual = residual - length * along
        before, left = left, square(residual)
        towards = residual + (left / before) * towards
    return step, left <= enough
