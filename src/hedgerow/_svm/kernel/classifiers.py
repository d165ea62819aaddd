"""Kernel SVMs for classification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from hedgerow._arguments import with_parameters
from hedgerow._arithmetic import sum_of
from hedgerow._contract import internals
from hedgerow._data.target import (
    class_weight_vector,
    read_classification_target,
    read_weights,
    require_moderate,
    rows_with_weight,
)
from hedgerow._estimator import Estimator, adopt, seed_of
from hedgerow._links import fit_sigmoid, probability
from hedgerow._svm.kernel import dual
from hedgerow._svm.kernel.base import (
    FitProgress,
    KernelExpansion,
    KernelInput,
    KernelSVM,
    attributes_of,
    model_of,
)
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import KernelSolution
from hedgerow._svm.kernel.model import KernelModel
from hedgerow._svm.kernel.multiclass import (
    N_FOLDS,
    BinaryTask,
    binary_tasks,
    by_class,
    couple,
    folds,
    n_binary_tasks,
    votes,
    votes_with_confidence,
)
from hedgerow._svm.kernel.parameters import NU_SVC_PARAMETERS, SVC_PARAMETERS
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError, ParameterError


def _has_probabilities(estimator: Estimator) -> bool:
    if not estimator.probability:
        raise AttributeError("predict_proba needs probability=True.")
    if hasattr(estimator, "_model") and internals(estimator).model().sigmoids is None:
        raise AttributeError("predict_proba needs probability=True when fit is called.")
    return True


class KernelClassifier(ClassifierMixin, KernelSVM):
    """Base class of kernel SVM classifiers."""

    def _why_not(self, name: str) -> str | None:
        if name not in ("predict_proba", "predict_log_proba"):
            return super()._why_not(name)
        try:
            _has_probabilities(self)
        except AttributeError as error:
            return f"{type(self).__name__}: {error}"
        return None

    def _costs(self, weights: Floats) -> Floats:
        """Return the bounds of the rows' coefficients."""
        raise NotImplementedError

    def _dual(self, y: Floats, costs: Floats, *, is_fold: bool) -> dual.DualProblem:
        """Return the problem of separating y = 1 from y = −1."""
        raise NotImplementedError

    def _expansion(self, solution: KernelSolution, *, is_fold: bool) -> KernelExpansion:
        """Return the kernel expansion of a solution."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_ties()
        self._check_combination()
        schema, X = self._learn_rows(X)
        name = type(self).__name__
        classes, index = read_classification_target(y, X.shape[0], estimator_name=name)
        weights, of_classes = self._weights(classes, index, read_weights(sample_weight, len(index)))
        numbers = rows_with_weight(weights)
        if numbers is not None:
            index, weights = index[numbers], weights[numbers]
        costs = self._costs(weights)
        rows = self._rows(schema, X, numbers, np.where(np.isfinite(costs), costs, 1e30))
        svms, sigmoids = self._fit_svms(rows, index, classes, weights)
        self._adopt_svms(rows, classes, index, of_classes, svms, sigmoids)
        return self

    def _check_combination(self) -> None:
        pass

    def _weights(
        self, classes: NDArray[Any], index: RowNumbers, sample_weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return each row's weight, and the weight of each class."""
        of_classes = np.ones(len(classes))
        if self.class_weight is not None:
            of_classes = class_weight_vector(self.class_weight, classes, index, sample_weights)
            require_moderate(of_classes, "class_weight")
        weights = (
            of_classes[index] if sample_weights is None else of_classes[index] * sample_weights
        )
        if len(np.unique(index[weights > 0.0])) < 2:
            raise DataError(
                "All rows with a positive weight have the same class, but at least two classes "
                "are needed."
            )
        return weights, of_classes

    def _fit_svms(
        self, rows: KernelInput, index: RowNumbers, classes: NDArray[Any], weights: Floats
    ) -> tuple[list[KernelExpansion], Floats | None]:
        """Fit the SVMs of all binary tasks, and their sigmoids if requested."""
        scheme, n_classes = str(self.multi_class), len(classes)
        seed = seed_of(self.random_state)
        n_fits = 1 + (N_FOLDS if self.probability else 0)
        of_all = self._cache(rows.table) if n_classes == 2 or scheme == "ovr" else None
        svms, sigmoids = [], []
        threads = effective_n_jobs(self.n_jobs)
        with self._progress(n_fits * n_binary_tasks(n_classes, scheme)) as progress_bar:
            for number, task in enumerate(binary_tasks(index, n_classes, scheme)):
                cache = of_all or self._cache(rows.table.take(task.rows, threads))
                own = weights[task.rows]
                fit = self._fitter(cache, task.y, own, threads, progress_bar)
                with _named_task(index, classes, task):
                    svms.append(fit(np.arange(len(own))).on(task.rows, len(index)))
                if self.probability:
                    sigmoids.append(self._sigmoid(fit, task, own, seed + number))
        return svms, np.array(sigmoids) if self.probability else None

    def _fitter(
        self, cache: RowCache, y: Floats, weights: Floats, threads: int, progress_bar: FitProgress
    ) -> Callable[[RowNumbers], KernelExpansion]:
        """Return a function that fits an SVM to some of the rows of the kernel cache."""

        def fit(some: RowNumbers) -> KernelExpansion:
            if len(np.unique(y[some])) < 2:
                progress_bar.end()
                return KernelExpansion.constant(float(y[some][0]) if len(some) else 0.0, len(y))
            is_fold = len(some) < len(y)
            costs = self._costs(weights[some])
            problem = self._dual(y[some], costs, is_fold=is_fold).of_rows(some)
            solution = self._solve(problem, cache, threads, progress_bar.watch())
            svm = self._expansion(solution, is_fold=is_fold)
            progress_bar.end()
            return svm

        return fit

    def _sigmoid(
        self,
        fit: Callable[[RowNumbers], KernelExpansion],
        task: BinaryTask,
        weights: Floats,
        seed: int,
    ) -> tuple[float, float]:
        """Fit a sigmoid to out-of-fold scores.

        The SVMs of all folds share the kernel matrix, and each also computes the scores of the rows
        that it is not fitted to.
        """
        scores = np.empty(len(task.y))
        for fold in folds(task.y, seed):
            training = np.setdiff1d(np.arange(len(task.y)), fold)
            of_all = fit(training).scores
            assert of_all is not None
            scores[fold] = of_all[fold]
        return fit_sigmoid(scores, task.y, weights)

    def _adopt_svms(
        self,
        rows: KernelInput,
        classes: NDArray[Any],
        index: RowNumbers,
        of_classes: Floats,
        svms: Sequence[KernelExpansion],
        sigmoids: Floats | None,
    ) -> None:
        """Adopt the fitted attributes of these SVMs."""
        used = np.flatnonzero(np.any([svm.coefficients != 0.0 for svm in svms], axis=0))
        support = used[np.argsort(index[used], kind="stable")]  # ordered by class
        counts = np.bincount(index[support], minlength=len(classes))
        coefficients = np.array([svm.coefficients[support] for svm in svms])
        has_pairs = len(classes) > 2 and self.multi_class == "ovo"
        if has_pairs:
            coefficients = by_class(coefficients, index[support], len(classes))
        model = model_of(
            rows,
            support,
            coefficients,
            svms,
            counts=counts,
            classes=classes,
            class_weight=of_classes,
            has_pairs=has_pairs,
            sigmoids=sigmoids,
        )
        self._warn(svms, rows, support)
        adopt(self, attributes_of(model))

    def decision_function(self, X: Any) -> Floats:
        """Return the SVMs' scores.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes) or (n_rows, n_pairs)
            For two classes a value for each row, positive for the second. Otherwise a value for
            each class, the largest of which wins; or, with ``decision_function_shape="ovo"``, the
            score of each pair of classes, positive for the first.
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return scores[:, 0]
        if self._fitted_model().has_pairs and self.decision_function_shape == "ovr":
            return votes_with_confidence(scores, len(self.classes_))
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row: the most probable, if there are probabilities."""
        model: KernelModel = self._fitted_model()
        self._check_ties()  # it may have been set since the fit
        scores = self._scores(X)
        if model.sigmoids is not None:
            best = self._probabilities(scores).argmax(axis=1)
        elif scores.shape[1] == 1:
            best = (scores[:, 0] > 0.0).astype(np.intp)
        elif not model.has_pairs:
            best = scores.argmax(axis=1)
        elif self.break_ties:
            best = votes_with_confidence(scores, len(self.classes_)).argmax(axis=1)
        else:
            best = votes(scores, len(self.classes_)).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class, (n_rows, n_classes); needs probability=True."""
        self._fitted_model()
        return self._probabilities(self._scores(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _probabilities(self, scores: Floats) -> Floats:
        model: KernelModel = self._fitted_model()
        assert model.sigmoids is not None
        A, B = model.sigmoids.T
        positive = probability(scores * A + B)
        if positive.shape[1] == 1:
            return np.column_stack([1.0 - positive[:, 0], positive[:, 0]])
        if self._fitted_model().has_pairs:
            return couple(positive, len(self.classes_))
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, positive / np.maximum(total, 5e-324), 1.0 / len(A))

    def _check_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError("break_ties=True needs decision_function_shape='ovr', not 'ovo'.")


@contextmanager
def _named_task(index: RowNumbers, classes: NDArray[Any], task: BinaryTask) -> Iterator[None]:
    """Say in errors which two of several classes an SVM is for."""
    try:
        yield
    except ParameterError as error:
        if len(classes) == 2:
            raise
        first, others = (np.unique(index[task.rows[task.y == side]]) for side in (1.0, -1.0))
        other = repr(classes[others].tolist()[0]) if len(others) == 1 else "the other classes"
        between = f"{classes[first].tolist()[0]!r} and {other}"
        raise ParameterError(f"The SVM between {between}: {error}") from None


@with_parameters
class SVC(KernelClassifier):
    """Support vector classification.

    With φ(x)·φ(z) = k(x, z), it finds the f(x) = w·φ(x) + b that minimises::

        ½‖w‖² + C Σ_i max(0, 1 − y_i f(x_i)),    y_i = ±1,

    a trade-off between a wide margin 1/‖w‖ and rows within it. ``C=inf`` is the hard margin, which
    raises `DataError` if the classes cannot be separated. Each row's C is multiplied by its sample
    weight and by the weight of its class.

    The solution has a certificate: no w and b have an objective below
    ``objective_ · (1 − duality_gap_)``. If the gap exceeds the tolerance, there is a
    `ConvergenceWarning`. The model does not depend on the number of threads.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    support_ : array of shape (n_vectors,)
        Indices of the support vectors, ordered by class.
    support_vectors_ : array or CSR matrix of shape (n_vectors, n_features)
        The support vectors.
    n_support_ : array of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : array of shape (1 or n_classes - 1 or n_classes, n_vectors)
        Coefficients of the support vectors: for two classes, positive for the second; in
        one-vs-one, a vector's coefficients against each other class; in one-vs-rest, a row for
        each class.
    intercept_ : array of shape (n_svms,)
        Intercept of each SVM.
    coef_ : array of shape (n_svms, n_features)
        Weights of the columns, if the kernel is linear.
    objective_ : array of shape (n_svms,)
        The primal objective of each SVM.
    duality_gap_ : array of shape (n_svms,)
        Upper bound on the relative excess of each objective over the optimum.
    n_iter_ : array of shape (n_svms,)
        Number of steps, each of two rows.
    fit_status_ : int
        0 if all gaps are within tol, else 1 (there was a `ConvergenceWarning`).
    probA_, probB_ : arrays of shape (n_svms,)
        P = 1 / (1 + exp(A f + B)) is the probability of the second of two classes, or of the
        first of a pair, or of a class against the rest; if probability=True.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    class_weight_ : array of shape (n_classes,)
        The weight of each class.
    {columns}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hedgerow import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    >>> bool(model[-1].duality_gap_.max() <= 1e-3)
    True
    """

    _parameters: ClassVar = SVC_PARAMETERS

    def _check_combination(self) -> None:
        if np.inf == self.C and self.probability:
            raise ParameterError(
                "C=inf, probability=True is not allowed: with a hard margin, scores within the "
                "margin give no information about probabilities. Use a finite C."
            )

    def _costs(self, weights: Floats) -> Floats:
        # Without slack, weights above 0 do not matter.
        return np.full(len(weights), np.inf) if np.inf == self.C else float(self.C) * weights

    def _dual(self, y: Floats, costs: Floats, *, is_fold: bool) -> dual.DualProblem:  # noqa: ARG002
        return dual.of_classes(y, costs)

    def _expansion(self, solution: KernelSolution, *, is_fold: bool) -> KernelExpansion:  # noqa: ARG002
        return KernelExpansion.of(solution, solution.levels[0])


@with_parameters
class NuSVC(KernelClassifier):
    """ν-support vector classification: ν bounds the fraction of errors, in place of their cost C.

    The decision boundary is that of an `SVC` whose C is determined by ν: at most a fraction ν of
    the rows are within the margin, and at least a fraction ν are support vectors. Each row counts
    with its sample weight, multiplied by the weight of its class.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_ : arrays
        As in `SVC`.
    objective_, duality_gap_, n_iter_, probA_, probB_, classes_, class_weight_ : arrays
        As in `SVC`, but the objective is that of the ν problem, before the margin is scaled to 1;
        it may be negative, and the gap is relative to the larger of its absolute value and
        ½‖w‖².
    fit_status_ : int
        0 if all gaps are within tol, else 1.
    {columns}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(NuSVC(nu=0.1).fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameters: ClassVar = NU_SVC_PARAMETERS

    def _costs(self, weights: Floats) -> Floats:
        return weights

    def _dual(self, y: Floats, costs: Floats, *, is_fold: bool) -> dual.DualProblem:
        total = sum_of(costs)
        smaller = min(sum_of(costs[y > 0.0]), total - sum_of(costs[y > 0.0]))
        if is_fold:  # the classes may be slightly less balanced than in all rows
            return dual.of_nu_classes(y, costs, min(float(self.nu), 2.0 * smaller / total))
        if 0.5 * self.nu * total > smaller * (1.0 + 1e-12):
            raise ParameterError(
                f"nu={self.nu!r} is infeasible: the smaller of two classes has the fraction "
                f"{smaller / total:.3g} of their weight, so nu must be at most "
                f"{2.0 * smaller / total:.3g}."
            )
        return dual.of_nu_classes(y, costs, float(self.nu))

    def _expansion(self, solution: KernelSolution, *, is_fold: bool) -> KernelExpansion:
        if not solution.has_weights and not is_fold:
            raise ParameterError(
                f"nu={self.nu!r} leaves no margin: two classes overlap so much, or their rows are "
                "so alike, that w = 0. Increase nu, or use SVC."
            )
        positive, negative = solution.levels
        margin = 0.5 * (negative - positive)
        scale = 1.0 / margin if margin > 0.0 else 1.0
        return KernelExpansion.of(solution, 0.5 * scale * (positive + negative), scale)
