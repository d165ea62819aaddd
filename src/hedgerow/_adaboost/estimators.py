"""The estimators: AdaBoost for classification and regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, get_tags

from hedgerow._adaboost.algorithms import weighted_median
from hedgerow._adaboost.fitting import (
    fit_classifier,
    fit_regressor,
    row_weights,
    starting_weights,
)
from hedgerow._adaboost.model import Committee, TreeCommittee
from hedgerow._adaboost.parameters import PARAMETERS
from hedgerow._arguments import with_parameters
from hedgerow._data.pass_through import check_columns
from hedgerow._data.target import read_fitted_classes
from hedgerow._estimator import TableEstimator, adopt
from hedgerow._params import check_parameters, parameters_for
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.additive import AdditiveTrees, Meaning, class_names, column_names
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

# Rows whose predictions by every base model are sorted at once: 8 MB with 128 base models.
BLOCK_ROWS = 8192


class AdaBoost(TableEstimator):
    """Base class of the two estimators."""

    _model: Committee

    @property
    def estimators_(self) -> list[Any]:
        """The base model of each round, or a list of them where a round has several."""
        return self._fitted_model().estimators

    @property
    def feature_importances_(self) -> Floats:
        """The weighted mean of the base models' importances."""
        return self._fitted_model().feature_importances()

    def _why_not(self, name: str) -> str | None:
        if name != "estimators_samples_":
            return super()._why_not(name)
        if not hasattr(self, "classes_") and self.__sklearn_is_fitted__():
            return f"{type(self).__name__} does not keep the rows that it samples."
        return "estimators_samples_ exists only after a fit with resample=True."

    def _bins_tables(self) -> bool:
        return self.estimator is None

    def _rows(self, X: Any) -> tuple[Any, int]:
        """Read a table for the base models; also return the number of threads."""
        if isinstance(self._fitted_model(), TreeCommittee):
            rows = self._tree_rows(X)
            return rows, self._threads_for(rows)
        return check_columns(self, X), 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


@with_parameters
class AdaBoostClassifier(ClassifierMixin, AdaBoost):
    """AdaBoost: a weighted vote of base models, each fitted with more weight on previous errors.

    By default the base models are histogram-based decision stumps. 'SAMME', 'M1' and 'real' stop
    before n_estimators rounds if a base model makes no error; with 'SAMME' and 'M1' this base model
    has weight 1, or more if the vote would otherwise misclassify a training row. 'SAMME' also stops
    if a base model is no better than chance (err ≥ 1 − 1/K), and 'M1' if err ≥ ½. Such a base model
    is discarded or, if it is the first, kept with weight 0 and a warning.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    n_classes_ : int
        Number of classes.
    estimators_ : list
        The base model of each round, or a list with one for each class if a round has several. The
        default trees are views with `predict` and `tree`.
    estimator_weights_ : array of shape (n_rounds,)
        α of each base model, times learning_rate: log((1 − err) / err) + log(K − 1) for 'SAMME',
        log((1 − err) / err) for 'M1', 1 for the others.
    estimator_errors_ : array of shape (n_rounds,)
        err of each round: the weighted fraction of misclassified rows.
    weight_sums_ : array of shape (n_rounds,)
        z after each round: the sum of the row weights if they were not normalised after each round.
        It starts at 1, and again at 1 after a reset, and may overflow.
    resets_ : array of shape (n_rounds,)
        How often the weights were reset before the base model of each round.
    estimators_samples_ : list of arrays
        With resample=True, the rows that the base model of each round was fitted to, by their
        numbers in X; or a list with one for each class, as `estimators_`. They are kept in the
        model, 4 bytes per row and base model.
    {columns}
    feature_importances_ : array of shape (n_features,)
        The gain of each feature, normalised in each tree and averaged with the trees' weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import AdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaBoostClassifier(n_estimators=20).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _parameters = parameters_for("classifier", PARAMETERS)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, samples: Any = None) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. For the default
            trees, NaN, None and NA are missing values, and strings and categories are categorical
            features. With an estimator, X may be any table that it supports.
        y : array of shape (n_rows,)
            Class labels.
        sample_weight : array of shape (n_rows,), optional
            Initial row weights, nonnegative and not all 0. Rows of weight 0 are left out.
        samples : list of arrays of row numbers, optional
            With resample=True, the rows of each round, instead of random samples.

        Returns
        -------
        self
        """
        check_parameters(self)
        adopt(self, fit_classifier(self, X, y, sample_weight, samples))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of ``classes_[1]`` against the other class, or a column for each class.

        With 'SAMME' it is the weighted mean vote of the base models (for two classes, the
        difference of the means), otherwise the additive model: for two classes the log-odds, 2 F.
        """
        model, (rows, n_threads) = self._fitted_model(), self._rows(X)
        total = np.cumsum(model.weights)[-1]  # in the bits of the last stage
        return model.algorithm.decision(model.scores(rows, n_threads), total)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n_rows, n_classes)."""
        return self._fitted_model().algorithm.probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest score for each row."""
        return self._classes_of(self.decision_function(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield what `decision_function` returns after each round."""
        model, (rows, n_threads) = self._fitted_model(), self._rows(X)
        totals = np.cumsum(model.weights)
        staged = model.staged_scores(rows, n_threads)
        return (model.algorithm.decision(*stage) for stage in zip(staged, totals, strict=True))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield what `predict_proba` returns after each round."""
        return map(self._fitted_model().algorithm.probabilities, self.staged_decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what `predict` returns after each round."""
        return map(self._classes_of, self.staged_decision_function(X))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each round."""
        for predicted in self.staged_predict(X):
            yield accuracy_score(y, predicted, sample_weight=sample_weight)

    def staged_weights(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Floats]:
        """Yield the weights of the training rows before each round, and after the last.

        They are recomputed from the votes of the previous rounds, and sum to 1.

        Parameters
        ----------
        X, y, sample_weight
            The training set of `fit`.
        """
        model, (rows, n_threads) = self._fitted_model(), self._rows(X)
        labels = read_fitted_classes(y, self.classes_).astype(np.intp)
        weights = row_weights(self, sample_weight, self.classes_, labels)
        start = starting_weights(weights, len(labels))
        scores = np.zeros((len(labels), model.algorithm.n_outputs))
        forgotten = scores
        for after, resets in zip(model.staged_scores(rows, n_threads), self.resets_, strict=True):
            forgotten = scores if resets else forgotten
            yield model.algorithm.row_weights(scores - forgotten, labels, start)
            scores = after
        yield model.algorithm.row_weights(scores - forgotten, labels, start)

    def _additive_trees(self) -> AdditiveTrees:
        model = self._fitted_model()
        if not isinstance(model, TreeCommittee):
            raise ParameterError(
                f"model: the base models of this AdaBoostClassifier are not Hedgerow's trees "
                f"(estimator={self.estimator!r}). Fit it with estimator=None to explain it."
            )
        algorithm: Any = model.algorithm
        return AdditiveTrees(
            ensemble=model.decision_trees(),
            matrix=self._matrix,
            stored=self._stored,
            sources=np.arange(model.schema.n_features),
            feature_names=column_names(model.schema),
            output_names=tuple(class_names(self.classes_)),
            unit=algorithm.unit,
            n_threads=effective_n_jobs(self.n_jobs),
            prediction=Meaning(self._scored_probabilities, "probability"),
        )

    def _scored_probabilities(self, decision: Floats) -> Floats:
        """Return the probability of each class; for two classes, that of the second."""
        algorithm: Any = self._model.algorithm
        if decision.shape[1] == 1:
            return algorithm.probabilities(decision[:, 0])[:, 1:]
        return algorithm.probabilities(decision)

    def _classes_of(self, decision: Floats) -> NDArray[Any]:
        if decision.ndim == 1:
            return self.classes_[(decision > 0.0).astype(np.intp)]
        return self.classes_[decision.argmax(axis=1)]


@with_parameters
class AdaBoostRegressor(RegressorMixin, AdaBoost):
    """AdaBoost.R2: a weighted median of base models, each with more weight on large errors.

    By default the base models are histogram-based trees of depth 3. Boosting stops early if a base
    model makes no error, which then outweighs all others, or if its mean loss is ½ or more, in
    which case it is discarded unless it is the first.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list
        The base model of each round. The default trees are views with `predict` and `tree`.
    estimator_weights_ : array of shape (n_rounds,)
        Weight of each base model in the median: log((1 − L) / L), times learning_rate.
    estimator_errors_ : array of shape (n_rounds,)
        L, the weighted mean loss of each base model.
    weight_sums_ : array of shape (n_rounds,)
        The sum of the row weights if they were not normalised after each round; initially 1.
    {columns}
    feature_importances_ : array of shape (n_features,)
        The gain of each feature, normalised in each tree and averaged with the trees' weights.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(AdaBoostRegressor().fit(X, y).score(X, y) > 0.5)
    True
    """

    _parameters = parameters_for("regressor", PARAMETERS)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. For the default
            trees, NaN, None and NA are missing values, and strings and categories are categorical
            features. With an estimator, X may be any table that it supports.
        y : array of shape (n_rows,)
            Target values.
        sample_weight : array of shape (n_rows,), optional
            Initial row weights, nonnegative and not all 0. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        adopt(self, fit_regressor(self, X, y, sample_weight))
        return self

    def predict(self, X: Any) -> Floats:
        """Return the weighted median of the base models' predictions."""
        return self._median(self._predictions(X))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield what `predict` returns after each round."""
        predictions = self._predictions(X)
        return (self._median(predictions[:, : m + 1]) for m in range(predictions.shape[1]))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield R² after each round."""
        for predicted in self.staged_predict(X):
            yield r2_score(y, predicted, sample_weight=sample_weight)

    def _additive_trees(self) -> AdditiveTrees:
        self._fitted_model()
        raise ParameterError(
            "model: AdaBoostRegressor predicts the weighted median of its trees, not a sum. Use "
            "GradientBoostingRegressor(loss='absolute_error') for a median that can be explained."
        )

    def _predictions(self, X: Any) -> Floats:
        model, (rows, n_threads) = self._fitted_model(), self._rows(X)
        return model.predictions(rows, n_threads)

    def _median(self, predictions: Floats) -> Floats:
        weights = self._model.weights[: predictions.shape[1]]
        blocks = (
            predictions[first : first + BLOCK_ROWS]
            for first in range(0, len(predictions), BLOCK_ROWS)
        )
        medians = [weighted_median(block, weights) for block in blocks]
        return np.concatenate([np.empty(0), *medians])
