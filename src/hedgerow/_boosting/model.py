"""The model that a fit produces: estimators hold one, predictions need one, files store one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._boosting.initial_estimator import initial_scores
from hedgerow._boosting.losses import CONSTANT_SPREAD, Spread
from hedgerow._boosting.survival_curves import SurvivalCurve
from hedgerow._cuda.predictions import GpuModel, category_numbers
from hedgerow._data.binned_rows import TreeRows, rows_of
from hedgerow._data.binning import Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._links import Link, both_classes, class_probabilities
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats, Snapshot

# Numbers up to this size count as 0 where `zero_is_missing`: LightGBM's limit.
NEXT_TO_ZERO = float(np.float32(1e-35))

CalibrationMethod = Literal["sigmoid", "isotonic", "temperature"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """How raw scores (n, K) become calibrated probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
        A sigmoid for each class (Platt), an increasing function for each, or one factor for all
        scores.
    slope, offset : arrays of shape (K,)
        For sigmoid and temperature: the factor of a score, and the term that is added.
    x, y : arrays
        For isotonic: scores and their probabilities, the classes one after another.
    start : array of shape (K + 1,)
        Where those of each class begin.
    """

    method: CalibrationMethod
    slope: Floats
    offset: Floats
    x: Floats
    y: Floats
    start: NDArray[np.int64]

    def probabilities(self, scores: Floats) -> Floats:
        """Return P(class 1) if rows have one score, otherwise the probability of every class."""
        if self.method == "isotonic":
            pairs = zip(scores.T, self.curves(), strict=True)
            p = np.column_stack([np.interp(column, *curve) for column, curve in pairs])
        else:
            p = scores * self.slope + self.offset
            if self.method == "temperature" and p.shape[1] > 1:
                _native.softmax_inplace(p)
            else:
                _native.sigmoid_inplace(p)
        return p[:, 0].copy() if p.shape[1] == 1 else _normalised(p)

    def curves(self) -> list[tuple[Floats, Floats]]:
        """Return the scores and probabilities of each class, for isotonic calibration."""
        ends = self.start[1:-1]
        return list(zip(np.split(self.x, ends), np.split(self.y, ends), strict=True))


def _normalised(p: Floats) -> Floats:
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, p / np.where(total > 0.0, total, 1.0), 1.0 / p.shape[1])


@dataclass(frozen=True, eq=False)
class BoostedModel(Snapshot):
    """An ensemble, how tables are read for it (schema to bins) and what its scores mean.

    Attributes
    ----------
    schema, statistics, binner
        How a table is read, encoded and binned.
    ensemble : Ensemble
        The trees.
    link : Link
        The function from predictions to scores.
    classes : array, list of arrays or None
        The classes; a list for multilabel y, None in regression.
    calibration : Calibration, optional
        How a calibrated classifier computes probabilities.
    residuals : array of shape (m, K), optional
        Residuals of a regressor on the calibration set, divided by the scale of `spread`.
    curve : SurvivalCurve, optional
        How a survival model turns scores into times.
    quantiles : tuple of float
        The levels of predicted quantiles or expectiles.
    zero_is_missing : int array, optional
        Numeric columns in which 0 counts as missing: only in models of other libraries.
    init_estimator : fitted estimator, optional
        What predicts the scores before the first round, in place of 0.
    seed : int, optional
        That of the fit, which a warm start keeps; files do not store it.
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
    zero_is_missing: NDArray[np.intp] | None = None
    init_estimator: Any = None
    seed: int | None = None

    def initial_scores(self, X: Any) -> Floats | None:
        """Return the scores of a table before the first round; None if they are 0."""
        if self.init_estimator is None:
            return None
        n_outputs = self.ensemble.n_outputs
        return initial_scores(self.init_estimator, X, self.link, self.classes, n_outputs)

    def first_rounds(self, n_rounds: int) -> BoostedModel:
        """Return the model after some of the rounds."""
        return replace(self, ensemble=self.ensemble.first_rounds(n_rounds))

    def matrix(self, table: Table) -> NDArray[Any]:
        """Return a table as the matrix that trees split."""
        matrix = as_matrix(self.statistics.encode(table), self.category_bins)
        return (
            matrix if self.zero_is_missing is None else _without_zeros(matrix, self.zero_is_missing)
        )

    def rows(self, table: Table, n_threads: int = 1) -> TreeRows:
        """Return a table as trees read it: a matrix, if it is neither sparse nor in files."""
        if self.zero_is_missing is not None:
            return self.matrix(table)
        return rows_of(self.statistics.encode(table), self.binner, n_threads)

    @cached_property
    def category_bins(self) -> list[Any]:
        """The bin of each category code, for each categorical feature."""
        return self.binner.category_bins

    @cached_property
    def on_gpus(self) -> GpuModel:
        """The trees on GPUs, for rows that are there."""
        reads_numbers = self.zero_is_missing is None and not self.statistics.columns
        has_trees_only = reads_numbers and self.init_estimator is None
        categories = category_numbers(self.schema, self.category_bins) if has_trees_only else None
        return GpuModel(self.ensemble, categories)


def _without_zeros(matrix: NDArray[Any], columns: NDArray[np.intp]) -> NDArray[Any]:
    """Return a copy of a matrix with NaN in place of 0 in some columns."""
    matrix = matrix.copy()
    for j in columns.tolist():
        column = matrix[:, j]
        column[np.abs(column) <= NEXT_TO_ZERO] = np.nan
    return matrix


def calibrated_probabilities(
    scores: Floats, link: Link, calibration: Calibration | None, n_threads: int = 1
) -> Floats:
    """Return the probability of each class, (n, K), calibrated if the model is.

    For multilabel y it is P(class 1) of each label.
    """
    if calibration is None:
        return class_probabilities(scores, link, n_threads)
    return both_classes(calibration.probabilities(scores))
