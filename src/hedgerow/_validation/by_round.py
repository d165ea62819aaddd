"""The metric of each fold of a cross-validation after each round, to choose their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from hedgerow._boosting.metrics import CLASSIFICATION, REGRESSION, Measure
from hedgerow._data.pass_through import take_rows
from hedgerow._data.sparse import sound
from hedgerow._data.target import read_fitted_classes, read_regression_target, read_weights
from hedgerow._result import BROWN, GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow._validation.fold_data import require_rows
from hedgerow._validation.predictions import with_offset
from hedgerow.exceptions import DataError, ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class RoundsByFold(Result):
    """A metric on the holdout of each fold after each round, and its mean.

    Attributes
    ----------
    metric : str
        Name of the metric.
    higher_is_better : bool
        Whether the best round has the highest mean.
    folds : array of shape (n_folds, n_rounds)
        The metric of each fold; rounds that a fold did not reach are left out for all.
    """

    metric: str
    higher_is_better: bool
    folds: Floats

    @property
    def mean(self) -> Floats:
        """The mean over the folds after each round."""
        return np.asarray(self.folds.mean(axis=0))

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean, from the spread of the folds; NaN for one fold."""
        n_folds = len(self.folds)
        if n_folds == 1:
            return np.full(self.folds.shape[1], np.nan)
        return np.asarray(self.folds.std(axis=0, ddof=1) / np.sqrt(n_folds))

    @property
    def best_round(self) -> int:
        """The round with the best mean, counted from 1; the first of several."""
        return int((-self.mean if self.higher_is_better else self.mean).argmin()) + 1

    @property
    def one_standard_error_round(self) -> int:
        """The first round whose mean is within one standard error of the best."""
        sign = -1.0 if self.higher_is_better else 1.0
        best = self.best_round - 1
        limit = sign * self.mean[best] + np.nan_to_num(self.standard_error[best])
        return int(np.flatnonzero(sign * self.mean <= limit)[0]) + 1

    def _title(self) -> str:
        n_folds, n_rounds = self.folds.shape
        return f"RoundsByFold: {self.metric}, {n_folds} folds, {n_rounds} rounds"

    def _figures(self) -> dict[str, float]:
        return {
            "best round": self.best_round,
            "first round within one standard error": self.one_standard_error_round,
        }

    def _columns(self) -> Columns:
        return {
            "round": np.arange(1, self.folds.shape[1] + 1),
            "mean": self.mean,
            "standard_error": self.standard_error,
            **{f"fold_{k + 1}": fold for k, fold in enumerate(self.folds)},
        }

    def _repr_columns(self) -> Columns:
        names = ("round", "mean", "standard_error")
        return {name: column for name, column in self._columns().items() if name in names}

    def _draw(self, ax: Any) -> None:
        rounds = np.arange(1, self.folds.shape[1] + 1)
        for k, fold in enumerate(self.folds):
            label = "folds" if k == 0 else None
            ax.plot(rounds, fold, color=GREY, linewidth=0.8, alpha=0.8, label=label)
        ax.plot(rounds, self.mean, color=GREEN, linewidth=2.2, label="mean")
        best = self.best_round
        label = f"best: round {best}, {self.mean[best - 1]:.4g}"
        ax.plot([best], [self.mean[best - 1]], "o", color=BROWN, label=label, zorder=4)
        ax.axvline(best, color=GREY, linestyle=":", linewidth=1)
        ax.set(xlabel="round", ylabel=self.metric)
        ax.legend(frameon=False)


def rounds_by_fold(
    validation: Any, X: Any, y: Any, metric: str | None, sample_weight: Any, offset: Any
) -> RoundsByFold:
    """Return the metric of the models of a cross-validation, on their holdouts."""
    name, higher_is_better, measure = _metric(validation, metric)
    n_rows = len(validation.oof_prediction)
    if validation.classes is None:
        target = read_regression_target(y, n_rows)
    else:
        target = read_fitted_classes(y, validation.classes, n_rows).astype(np.float64)
    weights = read_weights(sample_weight, n_rows)
    if offset is not None:
        require_rows("offset", offset, n_rows)
    X, curves = sound(X), []
    for model, fold in zip(validation.models, validation.folds, strict=True):
        rows = fold.test
        test_table = _safe_indexing(X, rows)
        w = None if weights is None else weights[rows]
        of_rows = None if offset is None else take_rows(offset, rows)
        stages = _stages(with_offset(model, of_rows), test_table)
        curves.append([measure(target[rows], stage, w) for stage in stages])
    n_rounds = min(map(len, curves))
    if n_rounds == 0:
        raise DataError("a model of the cross-validation has no rounds.")
    return RoundsByFold(name, higher_is_better, np.array([c[:n_rounds] for c in curves]))


def _metric(validation: Any, metric: str | None) -> tuple[str, bool, Measure]:
    known = REGRESSION if validation.classes is None else CLASSIFICATION
    name = metric or ("rmse" if validation.classes is None else "log_loss")
    if isinstance(validation.classes, list) or name not in known:
        raise ParameterError(
            f"metric={metric!r} is not allowed; it must be one of {', '.join(known)}, for one "
            "target column."
        )
    return name, *known[name]


def _stages(model: Any, X: Any) -> Iterator[Floats]:
    """Yield predictions after each round, as metrics expect them."""
    method = "staged_predict" if not hasattr(model, "classes_") else "staged_predict_proba"
    if not hasattr(model, method):
        raise ParameterError(
            f"models: {type(model).__name__} has no {method}; rounds are those of gradient "
            "boosting, AdaBoost and stagewise boosting."
        )
    for stage in getattr(model, method)(X):
        values = np.asarray(stage, np.float64)
        yield values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values
