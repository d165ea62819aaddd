"""Gradient boosting for survival analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import with_parameters
from hedgerow._boosting.estimators.one_score import SURVIVAL, OneScore
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.survival_curves import (
    AcceleratedTimes,
    ProportionalHazards,
    SurvivalCurve,
    functions_of_time,
    read_times,
)
from hedgerow._boosting.survival_metrics import concordance
from hedgerow._boosting.targets.survival import Survival
from hedgerow._boosting.targets.tasks import Task
from hedgerow._data.survival_times import read_survival_times
from hedgerow._data.target import read_weights
from hedgerow._params import Number
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


@with_parameters
class GradientBoostingSurvival(OneScore):
    """Gradient boosting of trees for survival analysis: times of events, which may be censored.

    y has one of three forms:

    - a structured array or data frame with a bool (whether the event was observed) and a time (of
      the event or of censoring);
    - two columns, a lower and an upper bound of the time: equal if the event was observed; infinity
      or NaN as the upper bound if it is right-censored; 0, −infinity or NaN as the lower bound if
      it is left-censored;
    - a number for each row: the time, negative if it is right-censored.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {columns}
    n_iter_ : int
        Number of rounds in the model; also ``n_estimators_``.
    estimators_ : array of shape (n_rounds, trees of a round)
        The trees as regression trees, whose predictions add up to the scores.
    evals_result_ : dict
        ``evals_result_[set][metric]`` holds a value for each round of the last fit, including
        those after the best round.
    n_initial_rounds_ : int
        Number of rounds before the first of `evals_result_`: those of the model that the last fit
        continued, if any.
    best_iteration_, best_score_ : int, float
        The best round, counted from 1, and its score: the first metric on the last evaluation
        set. Only with early stopping or an eval_set.
    baseline_hazard_ : tuple of two arrays
        With loss='cox', times of events and the cumulative hazard from each time on, for rows
        whose score is 0.
    scale_ : float
        With loss='aft', the factor of Z.
    feature_importances_ : array of shape (n_features,)
        Each feature's fraction of the total gain; see `importances` for more.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> time, censored_at = np.exp(X[:, 0]) * rng.exponential(size=500), 2 * rng.random(500)
    >>> y = np.where(time < censored_at, time, -censored_at)
    >>> model = hr.GradientBoostingSurvival(n_estimators=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    >>> model.predict_survival_function(X[:2], [0.5, 1.0]).shape
    (2, 2)
    """

    _task: ClassVar[Task] = Survival()
    _predicted_unit: ClassVar[str] = "the time"
    _parameters = SURVIVAL

    def predict(self, X: Any, *, offset: Any = None) -> Floats:
        """Return the logarithm of each row's relative risk (loss='cox') or a time (loss='aft').

        The time is e^score: the median if Z is normal or logistic; if Z is extreme, the time beyond
        which a fraction 1/e of similar rows survives. An offset, as in `fit`, is added to the
        scores.
        """
        return self._from_scores(X, offset, self._prediction, self._gpu_prediction)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Floats]:
        """Yield what `predict` returns after each round."""
        return map(self._prediction, self._staged_scores(X, offset))

    def predict_cumulative_hazard(
        self, X: Any, times: Any = None, *, offset: Any = None
    ) -> NDArray[Any]:
        """Return the cumulative hazard of each row at each time, (n_rows, n_times).

        Without times, it is a function of time for each row; see `predict_survival_function`.
        """
        scores, curve = self._scores(X, offset)[:, 0], self._curve()
        if times is None:
            return functions_of_time(curve, scores, survival=False)
        return curve.cumulative_hazard(scores, read_times(times))

    def predict_survival_function(
        self, X: Any, times: Any = None, *, offset: Any = None
    ) -> NDArray[Any]:
        """Return the survival probability of each row at each time, (n_rows, n_times).

        Without times, it is an array of functions of time, one for each row, as scikit-survival's
        scorers expect: ``function(times)`` returns probabilities, and ``function.x`` and
        ``function.y`` are all steps of the function, which are at the times of events in the
        training set (with loss='aft', the function at the percentiles of the row's time).
        """
        if times is None:
            return functions_of_time(self._curve(), self._scores(X, offset)[:, 0], survival=True)
        hazard = self.predict_cumulative_hazard(X, times, offset=offset)
        return np.exp(np.negative(hazard, out=hazard), out=hazard)

    def predict_quantile(self, X: Any, quantile: float = 0.5, *, offset: Any = None) -> Floats:
        """Return a quantile of the time of each row; by default the median.

        With loss='cox', the quantile is infinite if the survival curve does not fall far enough
        within the observed times.
        """
        allowed = Number(0, 1, open_low=True, open_high=True)
        if quantile not in allowed:
            raise ParameterError(f"quantile={quantile!r} is not allowed; it must be {allowed}.")
        scores, curve = self._scores(X, offset)[:, 0], self._curve()
        return curve.quantile(scores, float(quantile))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return Harrell's concordance index.

        It is the fraction of comparable pairs of rows (those for which it is known whose event came
        first) that the predictions order correctly; random predictions have ½.
        """
        scores = self._scores(X, offset)[:, 0]
        bounds = read_survival_times(y, len(scores))
        longer = scores if self._model.link == "log" else -scores
        return concordance(bounds, longer, read_weights(sample_weight, len(scores)))

    @property
    def baseline_hazard_(self) -> tuple[Floats, Floats]:
        """Times of events, and the cumulative hazard from each on, for rows whose score is 0."""
        curve = self._curve()
        if not isinstance(curve, ProportionalHazards):
            raise AttributeError("The baseline hazard exists only with loss='cox'.")
        return curve.times.copy(), curve.hazard.copy()

    @property
    def scale_(self) -> float:
        """The factor of Z in log T = score + scale · Z."""
        curve = self._curve()
        if not isinstance(curve, AcceleratedTimes):
            raise AttributeError("The scale exists only with loss='aft'.")
        return curve.scale

    def _unit(self, model: BoostedModel) -> str:
        return "log of the time" if model.link == "log" else "log of the relative risk"

    def _curve(self) -> SurvivalCurve:
        curve: SurvivalCurve | None = self._fitted_model().curve
        if curve is None:
            raise ParameterError(
                "This model is a slice of another and has no survival curve. refit(X, y, keep=1.0) "
                "estimates the curve."
            )
        return curve
