"""What a fit leaves behind and a prediction needs; the estimators hold one, files store one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from hedgerow._boosting.fit.calibration import Calibration
from hedgerow._boosting.losses import CONSTANT_SPREAD, Spread
from hedgerow._boosting.survival_curves import SurvivalCurve
from hedgerow._data.binning import Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._links import Link, both_classes, class_probabilities
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
    spread: Spread = CONSTANT_SPREAD
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


def calibrated_probabilities(
    scores: Floats, link: Link, calibration: Calibration | None, n_threads: int = 1
) -> Floats:
    """Return the probability of each class, (n, K), calibrated if the model is.

    For multilabel y it is P(class 1) of each label.
    """
    if calibration is None:
        return class_probabilities(scores, link, n_threads)
    return both_classes(calibration.probabilities(scores))
