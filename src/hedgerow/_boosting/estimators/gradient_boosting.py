"""The estimators: gradient boosting for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.estimators.parameters import PARAMETERS
from hedgerow._boosting.fit.calibration import interval
from hedgerow._boosting.losses.regression import as_levels
from hedgerow._boosting.metrics import d2_pinball
from hedgerow._boosting.model import BoostedModel, calibrated_probabilities
from hedgerow._boosting.targets.classes import labels_of
from hedgerow._boosting.targets.multi_output import LabelClassification, NumberRegression
from hedgerow._boosting.targets.tasks import Task
from hedgerow._constructor import with_parameters
from hedgerow._data.target import read_regression_target, read_weights
from hedgerow._estimator import Estimator, ScoredClassifier
from hedgerow._links import prediction_of
from hedgerow._params import Number, parameters_for
from hedgerow._tree.additive import Meaning, class_names
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

LossFunction = Callable[..., tuple[Any, Any]]


def _has_probabilities(estimator: Estimator) -> bool:
    """Tell whether scores mean probabilities; those of a hinge loss do not."""
    return bool(estimator.loss != "hinge")


@with_parameters
class GradientBoostingClassifier(ScoredClassifier, GradientBoosting):
    """Gradient boosting of trees for two or more classes.

    Each round grows a tree, for more than two classes one for each class, on the gradient of the
    loss at the scores of the rounds before. A y of one class only is an error.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. If y has several columns of labels, a list of the classes of each.
    n_outputs_ : int
        Columns of y.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.
    n_iter_ : int
        Rounds in the model.
    evals_result_ : dict
        ``evals_result_[set][metric]`` holds a value for each round of the last fit, those after
        the best round included.
    best_iteration_, best_score_ : int, float
        The best round, counted from 1, and its metric: the first metric on the last evaluation
        set. Only there if something was measured.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the total gain; see `importances` for more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True)
    >>> hr.GradientBoostingClassifier(n_estimators=20).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _task: ClassVar[Task] = LabelClassification()
    _parameters = parameters_for("classifier", PARAMETERS)

    def decision_function(self, X: Any) -> Floats:
        """Return raw scores: the log-odds of ``classes_[1]``, or for more a column a class.

        Of several columns of labels, a column for each.
        """
        return _decision(self._scores(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n_rows, n_classes).

        Of several columns of labels, that of the second class of each, (n_rows, n_outputs).
        """
        scores = self._scores(X)
        return self._probabilities(scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of several columns of labels, of each."""
        return self._classes_of(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield what `decision_function` returns after each round."""
        return map(_decision, self._staged_scores(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield what `predict_proba` returns after each round."""
        return map(self._probabilities, self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what `predict` returns after each round."""
        return map(self._classes_of, self._staged_scores(X))

    def calibrate(
        self, X: Any, y: Any, sample_weight: Any = None, *, method: str | None = None
    ) -> Self:
        """Learn probabilities from rows that the model was not trained on.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Other rows, of the same columns and classes.
        method : {"sigmoid", "isotonic", "temperature"}, optional
            As the parameter ``calibration``, which it replaces; "sigmoid" if that is None.

        Returns
        -------
        self
        """
        return self._calibrate(X, y, sample_weight, method or self.calibration or "sigmoid")

    def _why_not(self, name: str) -> str | None:
        if name in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
            return "With loss='hinge' there are no probabilities, only decisions."
        return super()._why_not(name)

    def _probabilities(self, scores: Floats) -> Floats:
        return calibrated_probabilities(scores, self._model.link, self._model.calibration)

    def _classes_of(self, scores: Floats) -> NDArray[Any]:
        if self._model.calibration is not None:
            return self.classes_[self._probabilities(scores).argmax(axis=1)]
        if isinstance(self.classes_, list):
            return labels_of(self.classes_, scores > 0.0)
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
        """Return a probability for each score: of two classes, that of the second."""
        p = self._probabilities(scores)
        return p[:, 1:] if scores.shape[1] == 1 else p

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@with_parameters
class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    """Gradient boosting of trees for a number.

    Each round grows a tree on the gradient of the loss at the scores of the rounds before; for the
    squared error, on what the rounds before left over.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Columns of y.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.
    n_iter_ : int
        Rounds in the model.
    evals_result_ : dict
        ``evals_result_[set][metric]`` holds a value for each round of the last fit, those after
        the best round included.
    best_iteration_, best_score_ : int, float
        The best round, counted from 1, and its metric: the first metric on the last evaluation
        set. Only there if something was measured.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the total gain; see `importances` for more.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(hr.GradientBoostingRegressor().fit(X, y).score(X, y) > 0.5)
    True
    """

    _task: ClassVar[Task] = NumberRegression()
    _parameters = parameters_for("regressor", PARAMETERS)

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of each row; of several outputs or quantiles a column each."""
        scores = self._scores(X)
        return prediction_of(scores, self._model.link)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², or of several quantiles D² of their mean pinball loss: 1 is perfect.

        Each is the part of the loss of the best constants that the predictions do without.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Rows to judge the model by.
        """
        if self._fitted_model().link != "sorted":
            return float(super().score(X, y, sample_weight))
        prediction = self.predict(X)
        target = read_regression_target(y, len(prediction))
        weights = read_weights(sample_weight, len(prediction))
        return d2_pinball(as_levels(self.quantile), target, prediction, weights)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Return intervals that cover the part `coverage` of new rows: their two ends, (n, 2).

        They are calibrated by rows that were not trained on: those held out by
        ``calibration="conformal"``, or those given to `calibrate`. If these are like new rows, the
        coverage is what was asked for whatever the model is, on average over all rows. With
        ``loss="quantile"`` and several quantiles, intervals are as wide as the model finds each row
        uncertain; with "poisson", "gamma" and "tweedie" they grow with the mean as the loss's
        standard deviation does, and end at 0; with any other loss they are equally wide.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `fit`.
        coverage : float in (0, 1)
            The part of rows whose y lies within.
        """
        allowed = Number(0, 1, open_low=True, open_high=True)
        if coverage not in allowed:
            raise ParameterError(f"coverage={coverage!r} is not allowed; it must be {allowed}.")
        model: BoostedModel = self._fitted_model()
        if model.residuals is None:
            raise ParameterError(
                "predict_interval needs rows that were not trained on: fit with "
                "calibration='conformal', or call calibrate first."
            )
        levels = as_levels(self.quantile) if self.loss == "quantile" else None
        scores, spread = self._scores(X), model.spread
        prediction, scale = prediction_of(scores, model.link), spread.scale(scores[:, 0])
        ends = interval(prediction, model.residuals, levels, coverage, scale)
        return ends.clip(spread.low, spread.high)

    def calibrate(self, X: Any, y: Any) -> Self:
        """Learn how wide intervals must be from rows that the model was not trained on.

        Parameters
        ----------
        X, y : as in `fit`
            Other rows, of the same columns.

        Returns
        -------
        self
        """
        return self._calibrate(X, y, None, "conformal")

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield what `predict` returns after each round."""
        return (prediction_of(scores, self._model.link) for scores in self._staged_scores(X))

    def _output_names(self, model: BoostedModel) -> list[str]:
        levels = as_levels(self.quantile) if model.link == "sorted" else ()
        if len(levels) == model.ensemble.n_outputs:  # they may have been set anew since the fit
            return [f"quantile {level:g}" for level in levels]
        return super()._output_names(model)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _decision(scores: Floats) -> Floats:
    return scores[:, 0].copy() if scores.shape[1] == 1 else scores.copy()
