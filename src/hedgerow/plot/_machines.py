"""What only support vector machines have: margins, and support vectors.

A machine may be the last step of a pipeline, or what a search over parameters has found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import is_outlier_detector
from sklearn.pipeline import Pipeline

from hedgerow._contract import Predictor
from hedgerow._types import Floats
from hedgerow.plot._plane import Plane

MARGINS = (-1.0, 1.0)


def has_margins(estimator: Predictor) -> bool:
    """Tell whether f = ±1 means something: rows between are what the machine pays for."""
    _, last = _steps(estimator)
    if is_outlier_detector(last) or not hasattr(last, "decision_function"):
        return False
    has_hinge = getattr(last, "loss", None) in ("hinge", "squared_hinge")
    return has_hinge or hasattr(last, "support_vectors_")


def support_vectors(estimator: Predictor, plane: Plane) -> Floats | None:
    """Return the support vectors as points of the plane, or None if it is not known where they are.

    Those that preceding steps have transformed are found again if the plane's rows are those of
    `fit`: then the same steps make the same vectors of the same rows.
    """
    before, last = _steps(estimator)
    vectors = getattr(last, "support_vectors_", None)
    if vectors is None:
        return None
    vectors = _dense(vectors)
    if not before:
        return vectors if vectors.ndim == 2 and vectors.shape[1] == 2 else None
    rows = np.asarray(last.support_)
    if len(plane.points) != getattr(last, "shape_fit_", (None,))[0]:
        return None
    made = plane.table
    for step in before:
        made = step.transform(made)
    made = _dense(made)[rows]
    is_the_same = made.shape == vectors.shape and np.allclose(made, vectors)
    return plane.points[rows] if is_the_same else None


def _steps(estimator: Predictor) -> tuple[list[Any], Any]:
    """Return the transformers that rows go through, and what they come to."""
    before = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                before.append(estimator[:-1])
            estimator = estimator[-1]
        else:
            return before, estimator


def _dense(table: Any) -> Floats:
    return np.asarray(table.toarray() if scipy.sparse.issparse(table) else table, np.float64)
