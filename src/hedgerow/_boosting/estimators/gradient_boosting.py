"""Gradient boosting for classification and regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from hedgerow._arguments import with_parameters
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.estimators.parameters import PARAMETERS
from hedgerow._boosting.fit.calibration import interval
from hedgerow._boosting.losses.regression import as_levels
from hedgerow._boosting.metrics import d2_pinball
from hedgerow._boosting.model import BoostedModel, calibrated_probabilities
from hedgerow._boosting.targets.tasks import Classification, Regression, Task
from hedgerow._cuda.predictions import GpuScores
from hedgerow._data.gpu_arrays import on_host
from hedgerow._data.target import decode_labels, read_regression_target, read_weights
from hedgerow._estimator import Estimator, ScoredClassifier, accuracy
from hedgerow._links import prediction_of
from hedgerow._params import Number, parameters_for
from hedgerow._tree.additive import Meaning, class_names
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

LossFunction = Callable[..., tuple[Any, Any]]


def _has_probabilities(estimator: Estimator) -> bool:
    """Return whether scores can become probabilities; those of the hinge loss cannot."""
    return bool(estimator.loss != "hinge")


@with_parameters
class GradientBoostingClassifier(ScoredClassifier, GradientBoosting):
    """Gradient boosting of trees for classification.

    Each round grows a tree (one per class if there are more than two) on the gradient of the loss
    at the scores of the previous rounds. y must have at least two classes.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. For multilabel y, a list with the classes of each label.
    n_outputs_ : int
        Number of columns of y.
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
    feature_importances_ : array of shape (n_features,)
        Each feature's fraction of the total gain; see `importances` for more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True)
    >>> hr.GradientBoostingClassifier(n_estimators=20).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _task: ClassVar[Task] = Classification()
    _parameters = parameters_for("classifier", PARAMETERS)

    def decision_function(self, X: Any, *, offset: Any = None) -> Floats:
        """Return raw scores: the log-odds of ``classes_[1]`` if there are two classes.

        With more classes, there is a column per class; for multilabel y, one per label. An offset,
        as in `fit`, is added.
        """
        return self._from_scores(X, offset, _decision, GpuScores.decision)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, offset: Any = None) -> Floats:
        """Return the probability of each class, shape (n_rows, n_classes).

        For multilabel y: P(class 1) of each label, shape (n_rows, n_outputs).
        """
        return self._from_scores(X, offset, self._probabilities, self._gpu_probabilities)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Floats:
        """Return the logarithm of the probabilities."""
        return self._from_scores(X, offset, lambda scores: np.log(self._probabilities(scores)))

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Return the most probable class of each row; for multilabel y, of each label."""
        return self._from_scores(X, offset, self._classes_of, self._gpu_classes)

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[Floats]:
        """Yield what `decision_function` returns after each round."""
        return map(_decision, self._staged_scores(X, offset))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Floats]:
        """Yield what `predict_proba` returns after each round."""
        return map(self._probabilities, self._staged_scores(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[NDArray[Any]]:
        """Yield what `predict` returns after each round."""
        return map(self._classes_of, self._staged_scores(X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy; a row with several outputs counts if all are predicted correctly.

        Parameters
        ----------
        X, y, sample_weight, offset : as in `fit`
            The test set.
        """
        return accuracy(on_host(y), self._classes_of(self._scores(X, offset)), sample_weight)

    def calibrate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        method: str | None = None,
        offset: Any = None,
    ) -> Self:
        """Calibrate the probabilities on rows that the model was not trained on.

        Parameters
        ----------
        X, y, sample_weight, offset : as in `fit`
            Other rows, with the same columns and classes.
        method : {"sigmoid", "isotonic", "temperature"}, optional
            Overrides the parameter ``calibration``; "sigmoid" if both are None.

        Returns
        -------
        self
        """
        method = method or self.calibration or "sigmoid"
        return self._calibrate(X, y, sample_weight, offset, method)

    def _why_not(self, name: str) -> str | None:
        if name in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
            return "With loss='hinge' there are no probabilities, only decisions."
        return super()._why_not(name)

    def _probabilities(self, scores: Floats) -> Floats:
        model, n_threads = self._model, self._threads_for(scores)
        return calibrated_probabilities(scores, model.link, model.calibration, n_threads)

    def _gpu_probabilities(self, scores: GpuScores) -> Any:
        return None if self._model.calibration else scores.probabilities(self._model.link)

    def _gpu_classes(self, scores: GpuScores) -> Any:
        return None if self._model.calibration else scores.labels(self.classes_)

    def _classes_of(self, scores: Floats) -> NDArray[Any]:
        if self._model.calibration is not None:
            return self.classes_[self._probabilities(scores).argmax(axis=1)]
        if isinstance(self.classes_, list):
            return decode_labels(self.classes_, scores > 0.0)
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0.0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    def _output_names(self, model: BoostedModel) -> list[str]:
        return class_names(model.classes)

    def _meaning(self, model: BoostedModel) -> Meaning | None:
        if model.link == "margin":
            return None
        return Meaning(self._scored_probabilities, "probability")

    def _scored_probabilities(self, scores: Floats) -> Floats:
        """Return a probability for each score: of the second class if there are two."""
        p = self._probabilities(scores)
        return p[:, 1:] if scores.shape[1] == 1 else p

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@with_parameters
class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    """Gradient boosting of trees for regression.

    Each round grows a tree on the gradient of the loss at the scores of the previous rounds; with
    the squared error, on their residuals.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of columns of y.
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
    feature_importances_ : array of shape (n_features,)
        Each feature's fraction of the total gain; see `importances` for more.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(hr.GradientBoostingRegressor().fit(X, y).score(X, y) > 0.5)
    True
    """

    _task: ClassVar[Task] = Regression()
    _parameters = parameters_for("regressor", PARAMETERS)

    def predict(self, X: Any, *, offset: Any = None) -> Floats:
        """Return the prediction for each row; a column for each of several outputs or quantiles.

        An offset, as in `fit`, is added to the scores.
        """
        return self._from_scores(X, offset, self._prediction, self._gpu_prediction)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return R², or for several quantiles D² of the mean pinball loss: 1 is perfect.

        Each is the fraction by which the predictions reduce the loss of the best constant
        prediction.

        Parameters
        ----------
        X, y, sample_weight, offset : as in `fit`
            Rows to evaluate the model on.
        """
        prediction = self._prediction(self._scores(X, offset))
        y = on_host(y)
        if self._model.link != "sorted":
            return float(r2_score(y, prediction, sample_weight=sample_weight))
        target = read_regression_target(y, len(prediction))
        weights = read_weights(sample_weight, len(prediction))
        return d2_pinball(as_levels(self.quantile), target, prediction, weights)

    def predict_interval(self, X: Any, coverage: float = 0.9, *, offset: Any = None) -> Floats:
        """Return prediction intervals: lower and upper bounds, (n, 2).

        They are calibrated on rows that the model was not trained on: the holdout of
        ``calibration="conformal"``, or the rows passed to `calibrate`. If new rows are like these,
        intervals contain the fraction `coverage` of their targets, whatever the model. With
        ``loss="quantile"`` and several quantiles, the width of intervals depends on the uncertainty
        of each row; with "poisson", "gamma" and "tweedie" it grows with the mean like the loss's
        standard deviation, with a lower bound of 0; with any other loss it is constant.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `fit`.
        coverage : float in (0, 1)
            The fraction of rows whose target lies within the interval.
        offset : array, optional
            As in `fit`.
        """
        allowed = Number(0, 1, open_low=True, open_high=True)
        if coverage not in allowed:
            raise ParameterError(f"coverage={coverage!r} is not allowed; it must be {allowed}.")
        model: BoostedModel = self._fitted_model()
        if model.residuals is None:
            raise ParameterError(
                "predict_interval needs a calibrated model: fit with calibration='conformal', or "
                "call calibrate first."
            )
        levels = as_levels(self.quantile) if self.loss == "quantile" else None
        scores, spread = self._scores(X, offset), model.spread
        prediction, scale = prediction_of(scores, model.link), spread.scale(scores[:, 0])
        ends = interval(prediction, model.residuals, levels, coverage, scale)
        return ends.clip(spread.low, spread.high)

    def calibrate(self, X: Any, y: Any, *, offset: Any = None) -> Self:
        """Calibrate the width of prediction intervals on rows that the model was not trained on.

        Parameters
        ----------
        X, y, offset : as in `fit`
            Other rows, with the same columns.

        Returns
        -------
        self
        """
        return self._calibrate(X, y, None, offset, "conformal")

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Floats]:
        """Yield what `predict` returns after each round."""
        return map(self._prediction, self._staged_scores(X, offset))

    def _output_names(self, model: BoostedModel) -> list[str]:
        levels = as_levels(self.quantile) if model.link == "sorted" else ()
        if len(levels) == model.ensemble.n_outputs:  # unless quantile was changed after the fit
            return [f"quantile {level:g}" for level in levels]
        return super()._output_names(model)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _decision(scores: Floats) -> Floats:
    return scores[:, 0].copy() if scores.shape[1] == 1 else scores.copy()
