"""Classifiers that decide: among many classes by two-class problems, and by thresholds or costs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, get_tags

from hedgerow._arguments import with_parameters
from hedgerow._data.pass_through import check_columns
from hedgerow._decisions.fitting import base_of, fit_code, fit_decision
from hedgerow._decisions.model import CodedModel, DecisionModel
from hedgerow._decisions.parameters import CODE_PARAMETERS, DECISION_PARAMETERS
from hedgerow._estimator import Estimator, adopt
from hedgerow._params import check_parameters
from hedgerow._types import Attributes, Floats


class _ClassifierOfAnother(ClassifierMixin, Estimator):
    """What the two have in common: tables are passed on to the base estimator."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the base estimator: to each column of the code, or to the classes themselves.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Any table that the base estimator supports.
        y : array of shape (n_rows,)
            Class labels.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0, for base estimators that support them. Rows
            of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        adopt(self, self._fit(X, y, sample_weight))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Attributes:
        """Return the attributes of the fitted estimator."""
        raise NotImplementedError

    def _fitted_table(self, X: Any) -> Any:
        """Return X with its columns in the order of `fit`."""
        self._fitted_model()
        return check_columns(self, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(base_of(self)).input_tags
        return tags


@with_parameters
class OutputCodeClassifier(_ClassifierOfAnother):
    """Many classes by binary classifiers: one-vs-rest, one-vs-one or error-correcting codes.

    A code has a row for each class and a column for each binary problem. For each column, a clone
    of the base estimator learns to separate the classes with 1 from those with −1; the class whose
    row agrees best with all columns is predicted. If rows differ in many columns, the errors of a
    few classifiers are corrected (Dietterich and Bakiri, 1995).

    Ties go to the first class, and the same seed gives the same model. There are no probabilities;
    if you need them, use a multiclass classifier.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    n_classes_ : int
        Number of classes.
    code_ : array of shape (n_classes, n_columns)
        The code: −1, 0 and 1.
    estimators_ : list of classifiers
        The binary classifiers, one for each column of the code; their class 0 is −1 of the code.
    {columns}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import LinearSVC, OutputCodeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OutputCodeClassifier(LinearSVC(), code="one_vs_one").fit(X, y)
    >>> model.code_
    array([[-1, -1,  0],
           [ 1,  0, -1],
           [ 0,  1,  1]], dtype=int8)
    """

    _parameters = CODE_PARAMETERS
    _model: CodedModel

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Attributes:
        return fit_code(self, X, y, sample_weight)

    @property
    def code_(self) -> NDArray[np.int8]:
        """The code."""
        return self._fitted_model().code.copy()

    @property
    def estimators_(self) -> list[Any]:
        """The binary classifiers, one for each column of the code."""
        return list(self._fitted_model().base_models)

    def decision_function(self, X: Any) -> Floats:
        """Return how well each class agrees with the binary classifiers, (n_rows, n_classes).

        For two classes, the score of the second, (n_rows,). With probabilities or votes, scores are
        from −1 to 1.
        """
        X = self._fitted_table(X)
        agreement = self._model.agreement(X, hard=self.decoding == "hard")
        return agreement[:, 1] if len(self.classes_) == 2 else agreement

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class whose row of the code agrees best; ties go to the first class."""
        decision = self.decision_function(X)
        is_two = decision.ndim == 1
        return self.classes_[(decision > 0.0) * 1 if is_two else decision.argmax(axis=1)]


@with_parameters
class DecisionClassifier(_ClassifierOfAnother):
    """A classifier that decides by a threshold or by costs, not by the largest probability.

    The base estimator is trained as usual; only the decision changes. With the cost C[i, j] of
    predicting class j for a row of class i, the prediction is the class with the least expected
    cost, Σ_i p_i C[i, j], which needs calibrated probabilities. For two classes, if correct
    decisions cost nothing, this is the threshold C[0, 1] / (C[0, 1] + C[1, 0]). `tune_threshold`
    finds a threshold by cross-validation.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    n_classes_ : int
        Number of classes.
    estimator_ : classifier
        The fitted classifier.
    {columns}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hedgerow import DecisionClassifier, RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionClassifier(RandomForestClassifier(), decision_threshold=0.9).fit(X, y)
    >>> p = model.predict_proba(X)[:, 1]
    >>> bool(((model.predict(X) == 1) == (p >= 0.9)).all())
    True
    """

    _parameters = DECISION_PARAMETERS
    _model: DecisionModel

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Attributes:
        return fit_decision(self, X, y, sample_weight)

    @property
    def estimator_(self) -> Any:
        """The fitted classifier."""
        return self._fitted_model().base_model

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the base estimator, (n_rows, n_classes)."""
        X = self._fitted_table(X)
        return self._model.probabilities(X)

    def expected_costs(self, X: Any) -> Floats:
        """Return the expected cost of each decision, (n_rows, n_classes); without costs, 1 − p."""
        p = self.predict_proba(X)
        return self._model.expected_costs(p)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class that the threshold or the costs select; the first of equal ones."""
        p = self.predict_proba(X)
        return self.classes_[self._model.decisions(p)]
