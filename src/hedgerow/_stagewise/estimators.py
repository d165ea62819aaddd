"""The estimators of forward stagewise additive modelling, with any base learner and any loss.

Plain Python around scikit-learn's estimators, to be read beside the lectures. Gradient boosting is
tested against it where the two are the same algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from hedgerow._arguments import with_parameters
from hedgerow._boosting.targets.tasks import Classification, Regression, Task
from hedgerow._data.pass_through import check_anything
from hedgerow._estimator import Estimator, adopt, model_to_continue
from hedgerow._params import Parameter, check_parameters, parameters_for
from hedgerow._stagewise.fitting import count_rows, fit_stagewise
from hedgerow._stagewise.learners import adopt_input_tags, default_learner
from hedgerow._stagewise.losses import (
    StagewiseLoss,
    classification_loss,
    regression_loss,
)
from hedgerow._stagewise.model import (
    AdditiveModel,
    class_log_probabilities,
    class_probabilities,
    predicted_numbers,
)
from hedgerow._stagewise.parameters import PARAMETERS
from hedgerow._stagewise.tree_sum import sum_of_trees
from hedgerow._tree.additive import AdditiveTrees, Meaning, class_names, number_names
from hedgerow._types import Floats
from hedgerow.exceptions import DataError


class Stagewise(Estimator):
    """The base class of stagewise boosting."""

    _task: ClassVar[Task]
    _parameters: ClassVar[tuple[Parameter, ...]]
    _model: AdditiveModel

    def _choose_loss(self, classes: Any) -> StagewiseLoss:
        """Return the loss that the parameters select; `classes` is None for a regressor."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Any table that the base learner accepts; it is passed on unchanged.
        y : array of shape (n_rows,)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        init_model = model_to_continue(self)
        adopt(self, fit_stagewise(self, self._task, init_model, X, y, sample_weight))
        return self

    def _scores(self, X: Any) -> Floats:
        """Return raw scores, of shape (n,) for one output and (n, K) for more."""
        model = self._fitted_model()
        X = self._fitted_table(X)
        return model.scores(X, count_rows(X))

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield raw scores after each round."""
        model = self._fitted_model()
        X = self._fitted_table(X)
        return (scores.copy() for scores in model.staged_scores(X, count_rows(X)))

    def _additive_trees(self) -> AdditiveTrees:
        return sum_of_trees(
            self._fitted_model(), self._output_names(), self._meaning(), self._fitted_table
        )

    def _output_names(self) -> tuple[str, ...]:
        """Return a name for each score."""
        raise NotImplementedError

    def _meaning(self) -> Meaning | None:
        """Return the function from scores (n_rows, n_outputs) to predictions; None for identity."""
        raise NotImplementedError

    def _fitted_table(self, X: Any) -> Any:
        """Return X with its columns in the order of `fit`, or raise if they differ."""
        if getattr(X, "ndim", 2) == 1 and hasattr(self, "n_features_in_"):
            raise DataError(
                "X has one dimension. Reshape your data: X.reshape(-1, 1) is one column, "
                "X.reshape(1, -1) is one row."
            )
        return check_anything(self, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = default_learner(self.search) if self.estimator is None else self.estimator
        adopt_input_tags(tags.input_tags, learner)
        return tags


@with_parameters
class StagewiseClassifier(ClassifierMixin, Stagewise):
    """Forward stagewise additive modelling for two or more classes.

    Each round fits the base learner (one per class if there are more than two) to the negative
    gradient of the loss at the current scores, determines a step size, and adds the step to the
    scores. These parameters give the algorithms of the lectures and of Friedman (2001):

    ================  ============================================================================
    AdaBoost          ``estimator=`` a classifier, ``loss="exponential", learning_rate=1.0,
                      init="zero"``; `steps_` are β = ½ log((1 − err)/err), half of AdaBoost's α
    gradient          ``step="line_search"``, any loss, any learner
    boosting
    L2_TreeBoost,     ``loss="log_loss", step="newton"``; F here is the log-odds, twice Friedman's
    L_K_TreeBoost
    LogitBoost        ``loss="log_loss", response="newton", step="unit", learning_rate=1.0,
                      init="zero"``
    XGBoost's trees   ``loss="log_loss", response="newton", step="unit"``; the same as
                      `GradientBoostingClassifier` with ``reg_lambda=0, splitter="exact"``
    ================  ============================================================================

    ``subsample`` below 1 makes each of them stochastic. Learner and step are found one after the
    other; ``search="joint"`` finds the stump or small tree and the step that minimise the loss
    together.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    {columns}
    n_iter_ : int
        Number of rounds in the model.
    estimators_ : list of estimators
        The fitted learners: one per round, or K per round for K > 2 classes.
    steps_ : array, or list of arrays
        The step ρ of each learner, before shrinkage; with a step per leaf, an array indexed by leaf
        number.
    init_ : array or estimator
        F₀: scores, one for each output, or the fitted `init`.
    train_score_ : array of shape (n_iter_,)
        Mean loss on the training set after each round.
    validation_score_, best_iteration_, best_score_ : array, int, float
        With early stopping, the loss on the validation set after each round of the last fit, the
        best round, counted from 1, and its loss.
    n_initial_rounds_ : int
        Number of rounds of the model that the last fit continued with warm_start, if any:
        `validation_score_` begins after them.

    Examples
    --------
    AdaBoost of decision stumps:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from hedgerow import StagewiseClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StagewiseClassifier(
    ...     DecisionTreeClassifier(max_depth=1),
    ...     loss="exponential", learning_rate=1.0, n_estimators=20, init="zero",
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.97)
    True
    """

    _task: ClassVar[Task] = Classification(multilabel=False)
    _parameters = parameters_for("classifier", PARAMETERS)

    def decision_function(self, X: Any) -> Floats:
        """Return raw scores, those of ``classes_[1]`` for two classes, else a column per class.

        Under the log loss they are log-odds or log probabilities up to a constant, under the
        exponential loss half the log-odds.
        """
        return self._scores(X)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n_rows, n_classes)."""
        scores = self._scores(X)
        return class_probabilities(scores, self._model.link)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        scores = self._scores(X)
        return class_log_probabilities(scores, self._model.link)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return self._classes_of(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield what `decision_function` returns after each round."""
        return self._staged_scores(X)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield what `predict_proba` returns after each round."""
        return (class_probabilities(scores, self._model.link) for scores in self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what `predict` returns after each round."""
        return map(self._classes_of, self._staged_scores(X))

    def _classes_of(self, scores: Floats) -> NDArray[Any]:
        is_binary = scores.ndim == 1
        return self.classes_[(scores > 0.0).astype(np.intp) if is_binary else scores.argmax(axis=1)]

    def _output_names(self) -> tuple[str, ...]:
        return tuple(class_names(self.classes_))

    def _meaning(self) -> Meaning:
        return Meaning(self._scored_probabilities, "probability")

    def _scored_probabilities(self, scores: Floats) -> Floats:
        """Return a probability for each score; for two classes, that of the second."""
        if scores.shape[1] == 1:
            return class_probabilities(scores[:, 0], self._model.link)[:, 1:]
        return class_probabilities(scores, self._model.link)

    def _choose_loss(self, classes: NDArray[Any]) -> StagewiseLoss:
        return classification_loss(self.loss, len(classes))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not _is(self.loss, "exponential")
        return tags


@with_parameters
class StagewiseRegressor(RegressorMixin, Stagewise):
    """Forward stagewise additive modelling for regression.

    Each round fits the base learner to the negative gradient of the loss at the current scores (for
    the squared error, these are the residuals), determines a step size, and adds the step to the
    scores. These parameters give the algorithms of the lectures and of Friedman (2001):

    ================  ============================================================================
    LS_Boost          ``loss="squared_error", learning_rate=1.0``, any regressor
    LAD_TreeBoost     ``loss="absolute_error", step="per_leaf"``
    M_TreeBoost       ``loss="huber", step="newton"``
    gradient          ``step="line_search"``, any loss, any learner
    boosting
    XGBoost's trees   ``loss="squared_error", step="unit"``; the same as
                      `GradientBoostingRegressor` with ``reg_lambda=0, splitter="exact"``
    ================  ============================================================================

    ``subsample`` below 1 makes each of them stochastic. Learner and step are found one after the
    other; ``search="joint"`` finds the stump or small tree and the step that minimise the loss
    together.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {columns}
    n_iter_ : int
        Number of rounds in the model.
    estimators_ : list of estimators
        The fitted learners, one per round.
    steps_ : array, or list of arrays
        The step ρ of each learner, before shrinkage; with a step per leaf, an array indexed by leaf
        number.
    init_ : array or estimator
        F₀: a score, or the fitted `init`.
    train_score_ : array of shape (n_iter_,)
        Mean loss on the training set after each round; for the Huber loss, with that round's δ.
    validation_score_, best_iteration_, best_score_ : array, int, float
        With early stopping, the loss on the validation set after each round of the last fit, the
        best round, counted from 1, and its loss.
    n_initial_rounds_ : int
        Number of rounds of the model that the last fit continued with warm_start, if any:
        `validation_score_` begins after them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import StagewiseRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StagewiseRegressor(loss="absolute_error", step="per_leaf").fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _task: ClassVar[Task] = Regression(multi_output=False)
    _parameters = parameters_for("regressor", PARAMETERS)

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of each row."""
        scores = self._scores(X)
        return predicted_numbers(scores, self._model.link)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield what `predict` returns after each round."""
        return (predicted_numbers(scores, self._model.link) for scores in self._staged_scores(X))

    def _output_names(self) -> tuple[str, ...]:
        return tuple(number_names(1))

    def _meaning(self) -> Meaning | None:
        link = self._model.link
        if link == "identity":
            return None
        return Meaning(lambda scores: predicted_numbers(scores, link), "the target")

    def _choose_loss(self, classes: None) -> StagewiseLoss:  # noqa: ARG002
        return regression_loss(self.loss, self.alpha)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = _is(self.loss, "poisson")
        return tags


def _is(loss: Any, name: str) -> bool:
    return isinstance(loss, str) and loss == name
