"""Whether two classes can be separated at all.

Without bounds the dual has a solution only if they can. Weights α that sum to 1 in each class give
a point in each convex hull, and w = Σ y α φ(x) is their difference. If the hulls intersect, the
solver's α grow without bound while ‖w‖ does not: the points approach each other.
"""

from __future__ import annotations

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.certificate import square_of_w
from hedgerow._svm.kernel.dual import DualProblem
from hedgerow._svm.kernel.kernels import KernelTable
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

# Hulls closer than this fraction of the diameter of the data count as intersecting.
CLOSE = 1e-6


class HardMargin:
    """The check that a hard margin exists."""

    def __init__(self, dual: DualProblem, table: KernelTable) -> None:
        self.dual = dual
        self.width = _width(table)

    def require_separable(self, beta: Floats, scores: Floats) -> None:
        """Raise if the current β shows that the convex hulls of the classes intersect."""
        weight = 0.5 * sum_of(np.abs(beta))
        square = max(0.0, square_of_w(self.dual, beta, scores))
        distance = np.sqrt(square) / weight if weight > 0.0 else np.inf
        if not distance > CLOSE * self.width:
            raise DataError(
                "C=inf requires a hard margin, but the classes cannot be separated with this "
                f"kernel, or barely: their convex hulls come within {distance:.3g} of each other, "
                f"where rows are up to {self.width:.3g} apart, and the duality gap is infinite. "
                "Use a finite C, or a kernel that separates the classes."
            )


def _width(table: KernelTable) -> float:
    """Return the largest distance of a row from the first, in feature space."""
    first = np.empty((1, len(table)), table.dtype)
    table.fill(np.zeros(1, np.int64), np.zeros(1, np.int64), first, 1)
    diagonal = table.diagonal()
    squares = diagonal + diagonal[0] - 2.0 * first[0].astype(np.float64)
    return float(np.sqrt(max(0.0, squares.max())))
