"""The estimators: linear support vector machines for classification and regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from hedgerow._arguments import with_parameters
from hedgerow._data.intake import TableSchema
from hedgerow._data.target import (
    class_weight_vector,
    read_classification_target,
    read_regression_target,
    read_weights,
    require_moderate,
)
from hedgerow._estimator import adopt, column_attributes, seed_of
from hedgerow._progress import progress
from hedgerow._svm.base import SVM, learn_matrix, read_matrix
from hedgerow._svm.linear.crammer_singer import crammer_singer
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.dual_descent import dual_descent
from hedgerow._svm.linear.interior_point import FEW_FEATURES, interior_point
from hedgerow._svm.linear.lasso import lasso
from hedgerow._svm.linear.newton import by_cholesky, by_conjugate_gradients, newton
from hedgerow._svm.linear.parameters import CLASSIFIER_PARAMETERS, REGRESSOR_PARAMETERS
from hedgerow._svm.linear.problem import GapCriterion, LinearSolution, SVMProblem
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError, ParameterError

# The fraction of `tol` that the relative gap must reach. scikit-learn's criterion uses gradients;
# on dense and text tables its objectives at the default tol were within 1e-6 of the optimum, where
# it converged.
GAP_PER_TOL = 0.01


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The fitted model: w and b of each SVM, and the classes of a classifier."""

    schema: TableSchema
    coef: Floats  # (n_svms, n_features)
    intercept: Floats  # (n_svms,)
    classes: NDArray[Any] | None


class LinearSVM(SVM):
    """Base class of linear SVMs."""

    _model: LinearModel

    def _rows(self, X: Any, is_used: NDArray[np.bool_] | None) -> DesignMatrix:
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        rows = DesignMatrix(X, bias, effective_n_jobs(self.n_jobs))
        return rows if is_used is None else rows.take(np.flatnonzero(is_used))

    def _stop(self) -> GapCriterion:
        return GapCriterion(GAP_PER_TOL * float(self.tol), int(self.max_iter))

    def _adopt_solutions(
        self, schema: TableSchema, solutions: Sequence[LinearSolution], classes: NDArray[Any] | None
    ) -> Self:
        """Adopt the attributes of a fit with these solutions."""
        weights = np.vstack([solution.w for solution in solutions])
        if not np.isfinite(weights).all():
            raise DataError(
                "X, C and the weights have such different scales that the solution is not finite. "
                "Scale the columns, for example with sklearn.preprocessing.StandardScaler."
            )
        if classes is not None and len(weights) == len(classes) == 2:  # Crammer and Singer's
            weights = weights[1:] - weights[:1]
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        coef = np.ascontiguousarray(weights[:, :-1])
        model = LinearModel(schema, coef, bias * weights[:, -1], classes)
        self._warn_unless_converged(solutions)
        adopt(self, self._attributes(model, solutions) | {"_model": model})
        return self

    def _attributes(
        self, model: LinearModel, solutions: Sequence[LinearSolution]
    ) -> dict[str, Any]:
        return column_attributes(model.schema) | {
            "coef_": model.coef,
            "intercept_": model.intercept,
            "n_iter_": max(1, *(solution.n_iter for solution in solutions)),
            "objective_": np.array([solution.objective for solution in solutions]),
            "duality_gap_": np.array([solution.relative_gap for solution in solutions]),
        }

    def _warn_unless_converged(self, solutions: Sequence[LinearSolution]) -> None:
        worst = max(solutions, key=lambda solution: (not solution.converged, solution.relative_gap))
        if worst.converged:
            return
        warn_user(
            f"{type(self).__name__} ended after {worst.n_iter} iterations "
            f"(max_iter={self.max_iter}) with a relative duality gap of {worst.relative_gap:.2g}, "
            f"above tol / 100 = {GAP_PER_TOL * self.tol:.2g}: its objective may exceed the optimum "
            "by that much. Scale the columns of X, reduce C, or increase max_iter or tol.",
            ConvergenceWarning,
        )

    def _scores(self, X: Any) -> Floats:
        """Return w·x + b of every SVM for every row."""
        model: LinearModel = self._fitted_model()
        matrix = read_matrix(X, model.schema, type(self).__name__)
        rows = DesignMatrix(matrix, 1.0, effective_n_jobs(self.n_jobs))
        return rows.times_each(np.column_stack([model.coef, model.intercept]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@with_parameters
class LinearSVC(ClassifierMixin, LinearSVM):
    """Linear support vector classification.

    The objective is that of scikit-learn's LinearSVC with the same parameters::

        ½(‖w‖² + v²) + C Σ_i max(0, 1 − y_i f(x_i))^p,    f(x) = w·x + b,    b = intercept_scaling v

    with p = 2, or 1 for ``loss="hinge"``; with ``penalty="l1"`` the first term is ``‖w‖₁ + |v|``.
    The intercept is therefore penalised through v. Each row's C is multiplied by its sample weight
    and by the weight of its class; in one-vs-rest, the class weights of the rest are 1, as in
    scikit-learn.

    The solution has a certificate: ``objective_ (1 − duality_gap_)`` is a lower bound on the
    objective of any w and b. If the gap exceeds the tolerance, there is a `ConvergenceWarning`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The weights: of the second class against the first if there are two, else of each class.
    intercept_ : array of shape (1,) or (n_classes,)
        b of each SVM.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    n_iter_ : int
        The largest number of iterations of any of the SVMs.
    objective_ : array of shape (n_svms,)
        The primal objective of each SVM; Crammer and Singer's problem has one.
    duality_gap_ : array of shape (n_svms,)
        Upper bound on the relative excess of each objective over the optimum.
    {columns}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hedgerow import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _parameters: ClassVar = CLASSIFIER_PARAMETERS

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_combination()
        name = type(self).__name__
        schema, matrix = learn_matrix(X, name)
        classes, index = read_classification_target(y, matrix.shape[0], estimator_name=name)
        weights = read_weights(sample_weight, len(index))
        by_class = self._class_weights(classes, index, weights)
        is_used = _rows_that_count(index, weights, by_class)
        rows = self._rows(matrix, is_used)
        if is_used is not None:
            index = index[is_used]
            weights = None if weights is None else weights[is_used]
        C = float(self.C) * (np.ones(len(index)) if weights is None else weights)
        return self._adopt_solutions(schema, self._solutions(rows, index, C, by_class), classes)

    def _check_combination(self) -> None:
        if self.multi_class == "crammer_singer":
            return
        chosen = f"penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}"
        if self.penalty == "l1" and self.loss == "hinge":
            raise ParameterError(
                f"{chosen} is not allowed; penalty='l1' needs loss='squared_hinge'."
            )
        if self.penalty == "l1" and self.dual is True:
            raise ParameterError(
                f"{chosen} is not allowed; penalty='l1' needs dual=False or 'auto'."
            )
        if self.loss == "hinge" and self.dual is False:
            raise ParameterError(
                f"{chosen} is not allowed; loss='hinge' needs dual=True or 'auto'."
            )

    def _class_weights(
        self, classes: NDArray[Any], index: NDArray[np.int64], weights: Floats | None
    ) -> Floats:
        if self.class_weight is None:
            return np.ones(len(classes))
        by_class = class_weight_vector(self.class_weight, classes, index, weights)
        if not by_class.any():
            raise ParameterError(
                f"class_weight={self.class_weight!r} leaves no row with a positive weight."
            )
        require_moderate(by_class, "class_weight")
        return by_class

    def _solutions(
        self, rows: DesignMatrix, index: NDArray[np.int64], C: Floats, by_class: Floats
    ) -> list[LinearSolution]:
        stop, seed = self._stop(), seed_of(self.random_state)
        if self.multi_class == "crammer_singer":
            label = index.astype(np.int32)
            return [crammer_singer(rows, label, len(by_class), C * by_class[index], stop, seed)]
        problems = []
        for k in range(len(by_class)) if len(by_class) > 2 else [1]:
            is_own = index == k
            against = 1.0 if len(by_class) > 2 else by_class[0]
            own_C = C * np.where(is_own, by_class[k], against)
            squared = self.loss == "squared_hinge"
            y = np.where(is_own, 1.0, -1.0)
            problems.append(SVMProblem.of_classes(y, own_C, squared=squared))
        options = {"penalty": self.penalty, "dual": self.dual, "verbose": int(self.verbose)}
        return solve(rows, problems, stop, seed, **options)

    def _attributes(
        self, model: LinearModel, solutions: Sequence[LinearSolution]
    ) -> dict[str, Any]:
        return super()._attributes(model, solutions) | {"classes_": model.classes}

    def decision_function(self, X: Any) -> Floats:
        """Return f(x): one value per row, positive for the second class; or one for each class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        scores = self._scores(X)
        best = scores[:, 0] > 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best.astype(np.intp)]
        return predicted


@with_parameters
class LinearSVR(RegressorMixin, LinearSVM):
    """Linear support vector regression.

    The objective is that of scikit-learn's LinearSVR with the same parameters::

        ½(‖w‖² + v²) + C Σ_i max(0, |y_i − f(x_i)| − ε)^p,    f(x) = w·x + b,

    with b = intercept_scaling v and p = 1, or 2 for ``loss="squared_epsilon_insensitive"``. The
    intercept is therefore penalised through v: with targets far from 0, subtract their mean or make
    intercept_scaling large. Each row's C is multiplied by its sample weight.

    The solution has a certificate, as in `LinearSVC`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        w.
    intercept_ : array of shape (1,)
        b.
    n_iter_ : int
        Number of iterations.
    objective_ : array of shape (1,)
        The primal objective.
    duality_gap_ : array of shape (1,)
        Upper bound on the relative excess over the optimal objective.
    {columns}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(LinearSVR(C=100.0, intercept_scaling=10.0).fit(X, y).score(X, y) > 0.4)
    True
    """

    _parameters: ClassVar = REGRESSOR_PARAMETERS

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        squared = self.loss == "squared_epsilon_insensitive"
        if not squared and self.dual is False:
            raise ParameterError(
                f"loss={self.loss!r}, dual=False is not allowed; it needs dual=True or 'auto'."
            )
        name = type(self).__name__
        schema, matrix = learn_matrix(X, name)
        target = read_regression_target(y, matrix.shape[0], estimator_name=name)
        weights = read_weights(sample_weight, len(target))
        is_used = None if weights is None or weights.all() else weights > 0.0
        rows = self._rows(matrix, is_used)
        C = float(self.C) * (np.ones(len(target)) if weights is None else weights)
        if is_used is not None:
            target, C = target[is_used], C[is_used]
        problem = SVMProblem.of_numbers(target, C, float(self.epsilon), squared=squared)
        options = {"penalty": "l2", "dual": self.dual, "verbose": int(self.verbose)}
        solutions = solve(rows, [problem], self._stop(), seed_of(self.random_state), **options)
        return self._adopt_solutions(schema, solutions, None)

    def _attributes(
        self, model: LinearModel, solutions: Sequence[LinearSolution]
    ) -> dict[str, Any]:
        return super()._attributes(model, solutions) | {"coef_": model.coef[0]}

    def predict(self, X: Any) -> Floats:
        """Return f(x) for every row."""
        return self._scores(X)[:, 0]


def _rows_that_count(
    index: NDArray[np.int64], weights: Floats | None, by_class: Floats
) -> NDArray[np.bool_] | None:
    """Mark the rows with positive weight; None if all are; raise if they have a single class."""
    counts: NDArray[np.bool_] = by_class[index] > 0.0
    if weights is not None:
        counts &= weights > 0.0
    if counts.all():
        return None
    if len(np.unique(index[counts])) < 2:
        raise DataError(
            "All rows with a positive weight have the same class, but at least two classes are "
            "needed."
        )
    return counts


def solve(
    rows: DesignMatrix,
    problems: Sequence[SVMProblem],
    stop: GapCriterion,
    seed: int,
    *,
    penalty: str,
    dual: bool | str,
    verbose: int,
) -> list[LinearSolution]:
    """Solve problems on the same rows."""
    with progress(verbose, len(problems), unit="SVM", title="linear SVMs") as progress_bar:

        def show(done: int) -> None:
            if progress_bar is not None:
                progress_bar.show(done)

        if penalty == "l1":
            return lasso(rows, problems, stop, seed, show)
        if _is_for_descent(rows, problems[0], dual):
            return dual_descent(rows, problems, stop, seed, show)
        solutions = []
        for done, problem in enumerate(problems):
            solutions.append(_solve_one(rows, problem, stop))
            show(done + 1)
        return solutions


def _is_for_descent(rows: DesignMatrix, problem: SVMProblem, dual: bool | str) -> bool:
    if problem.squared and dual != "auto":
        return bool(dual)
    return rows.width > FEW_FEATURES


def _solve_one(rows: DesignMatrix, problem: SVMProblem, stop: GapCriterion) -> LinearSolution:
    if not problem.squared:
        return interior_point(rows, problem, stop)
    few = rows.width <= FEW_FEATURES
    return newton(rows, problem, stop, by_cholesky if few else by_conjugate_gradients)
