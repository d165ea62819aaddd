"""What a fit leaves behind and a prediction needs; the estimators hold one, files store one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._boosting.fit.calibration import Calibration
from hedgerow._boosting.losses import EVEN, Link, Spread
from hedgerow._boosting.survival_curves import SurvivalCurve
from hedgerow._data.binning import Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats


@dataclass(frozen=True, eq=False)
class BoostedModel:
    """An ensemble, how a table is read for it (schema to bins) and what its scores mean (link).

    Classes are None in regression, and a list of arrays if y had several columns of labels. What
    was learned from rows held out for calibration: a classifier's way to probabilities, a
    regressor's residuals (m, K), divided by the scale of their spread. A survival model has a curve
    that leads from scores to times. Of quantiles and expectiles it is known which they are.
    """

    schema: TableSchema
    statistics: TargetStatistics
    binner: Binner
    ensemble: Ensemble
    link: Link
    classes: Any = None
    calibration: Calibration | None = None
    residuals: Floats | None = None
    spread: Spread = EVEN
    curve: SurvivalCurve | None = None
    quantiles: tuple[float, ...] = ()

    def first_rounds(self, n_rounds: int) -> BoostedModel:
        """Return the model as it was after some rounds."""
        return replace(self, ensemble=self.ensemble.first_rounds(n_rounds))

    def matrix(self, table: Table) -> NDArray[Any]:
        """Return rows to predict as trees see them."""
        return as_matrix(self.statistics.encode(table), self.category_bins)

    @cached_property
    def category_bins(self) -> list[Any]:
        """Of each categorical feature, the bin of each category code."""
        return self.binner.category_bins


def prediction_of(scores: Floats, link: Link, n_threads: int = 1) -> Floats:
    """Return what raw scores (n, K) mean: a number a row, or (n, K) of them if K is more than 1."""
    prediction = scores[:, 0].copy() if scores.shape[1] == 1 else scores.copy()
    if link == "softmax":
        _native.softmax_inplace(prediction, n_threads)
    elif link in ("sigmoid", "half_sigmoid"):
        prediction *= 1.0 if link == "sigmoid" else 2.0
        _native.sigmoid_inplace(prediction, n_threads)
    elif link == "log":
        _native.exp_inplace(prediction.reshape(-1))
    elif link == "margin":  # ±1 become 1 and 0, so that ½ lies between the classes
        prediction = 0.5 * (prediction + 1.0)
    elif link == "sorted":
        prediction.sort(axis=1)
    return prediction


def class_probabilities(
    scores: Floats, link: Link, calibration: Calibration | None = None, n_threads: int = 1
) -> Floats:
    """Return the probability of every class, (n, K), for two classes as for more.

    Of several labels it is that of the second class of each.
    """
    if calibration is None:
        p = prediction_of(scores, link, n_threads)
    else:
        p = calibration.probabilities(scores)
    if p.ndim == 2:
        return p
    both = np.empty((len(p), 2))
    both[:, 1] = p
    np.subtract(1.0, p, out=both[:, 0])
    return both
