"""Whether two classes can be separated at all.

Without bounds the dual has a solution only if they can. Weights α that add up to 1 in each class
give a point of each class's convex hull, and w = Σ y α φ(x) leads from one to the other. If hulls
meet, the α of the solver grow without end while ‖w‖ does not: the points come closer and closer.
"""

from __future__ import annotations

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.certificate import square_of_w
from hedgerow._svm.kernel.dual import Dual
from hedgerow._svm.kernel.kernels import Table
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

# Hulls that are this close, as a part of how far rows are apart, are taken to meet.
CLOSE = 1e-6


class HardMargin:
    """A machine without slack, which must be possible."""

    def __init__(self, dual: Dual, table: Table) -> None:
        self.dual = dual
        self.width = _width(table)

    def require_separable(self, beta: Floats, scores: Floats) -> None:
        """Raise if what the solver has found shows that the hulls of the classes meet."""
        weight = 0.5 * sum_of(np.abs(beta))
        square = max(0.0, square_of_w(self.dual, beta, scores))
        distance = np.sqrt(square) / weight if weight > 0.0 else np.inf
        if not distance > CLOSE * self.width:
            raise DataError(
                "C=inf asks for a margin that no row is within, but the classes cannot be "
                "separated with this kernel, or hardly: their convex hulls come within "
                f"{distance:.3g} of each other, where rows are up to {self.width:.3g} apart, and "
                "the duality gap is infinite. Use a finite C, or a kernel that tells them apart."
            )


def _width(table: Table) -> float:
    """Return how far rows are from the first, where the kernel takes them."""
    first = np.empty((1, len(table)), table.dtype)
    table.fill(np.zeros(1, np.int64), np.zeros(1, np.int64), first, 1)
    diagonal = table.diagonal()
    squares = diagonal + diagonal[0] - 2.0 * first[0].astype(np.float64)
    return float(np.sqrt(max(0.0, squares.max())))
