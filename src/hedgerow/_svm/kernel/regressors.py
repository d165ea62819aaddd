"""Kernel SVMs for regression."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from hedgerow._arithmetic import mean_of, sum_of
from hedgerow._constructor import with_parameters
from hedgerow._data.target import read_regression_target, read_weights
from hedgerow._params import check_parameters
from hedgerow._svm.kernel import dual
from hedgerow._svm.kernel.base import KernelSVM
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import KernelSolution
from hedgerow._svm.kernel.parameters import NU_SVR_PARAMETERS, SVR_PARAMETERS
from hedgerow._svm.kernel.solver import ReportViolation
from hedgerow._types import Floats

# What coefficients may add up to beyond ν's part, by rounding.
NO_MORE = 1e-12


class KernelRegressor(RegressorMixin, KernelSVM):
    """Base class of kernel SVM regressors."""

    def _dual(self, t: Floats, costs: Floats) -> dual.DualProblem:
        """Return the problem of predicting t."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        If this raises, Ctrl-C included, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Numbers without missing values: NumPy array, pandas, Polars or Arrow table, or SciPy
            sparse matrix; columns of similar sizes. With ``kernel="precomputed"``, the kernels of
            all rows with one another, (n_rows, n_rows).
        y : array of shape (n_rows,)
            The numbers.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0.

        Returns
        -------
        self
        """
        check_parameters(self)
        schema, X = self._learn_rows(X)
        target = read_regression_target(y, X.shape[0], estimator_name=type(self).__name__)
        weights = read_weights(sample_weight, len(target))
        costs = float(self.C) * (np.ones(len(target)) if weights is None else weights)
        rows = self._rows(schema, X, costs)
        used = np.flatnonzero(costs > 0.0)
        return self._fit_one(rows, self._dual(target[used], costs[used]).of_rows(used))

    def predict(self, X: Any) -> Floats:
        """Return f(x) of every row."""
        return self._scores(X)[:, 0]


@with_parameters
class SVR(KernelRegressor):
    """A support vector machine for regression.

    With φ(x)·φ(z) = k(x, z), of all f(x) = w·φ(x) + b that of the smallest::

        ½‖w‖² + C Σ_i max(0, |y_i − f(x_i)| − ε).

    Each row's C is multiplied by its sample weight. The solution comes with a certificate, as that
    of `SVC` does.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    support_ : array of shape (n_vectors,)
        Rows of the support vectors.
    support_vectors_ : array or CSR matrix of shape (n_vectors, n_features)
        Those rows.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_vectors)
        Their coefficients.
    intercept_ : array of shape (1,)
        The intercept.
    coef_ : array of shape (1, n_features)
        Weights of the columns, if the kernel is linear.
    objective_ : array of shape (1,)
        What the primal problem came to.
    duality_gap_ : array of shape (1,)
        Upper bound on the relative excess over the optimal objective.
    n_iter_ : int
        Steps, each of two rows.
    fit_status_ : int
        0 if the gap is within tol, else 1 (there was a `ConvergenceWarning`).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(SVR(C=100.0).fit(X, y).score(X, y) > 0.5)
    True
    """

    _parameters: ClassVar = SVR_PARAMETERS

    def _dual(self, t: Floats, costs: Floats) -> dual.DualProblem:
        return dual.of_numbers(t, costs, float(self.epsilon))


@with_parameters
class NuSVR(KernelRegressor):
    """A support vector machine for numbers, with a bound of the rows beyond ε instead of ε.

    It is the `SVR` with some ε, which ν chooses: at most a part ν of the rows err by more than ε,
    and at least a part ν are support vectors.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    epsilon_ : float
        The ε that was chosen.
    support_ : array of shape (n_vectors,)
        Rows of the support vectors.
    support_vectors_ : array or CSR matrix of shape (n_vectors, n_features)
        Those rows.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_vectors)
        Their coefficients.
    intercept_ : array of shape (1,)
        The intercept.
    coef_ : array of shape (1, n_features)
        Weights of the columns, if the kernel is linear.
    objective_ : array of shape (1,)
        What the primal problem came to.
    duality_gap_ : array of shape (1,)
        The most by which it may exceed the lowest possible, as a part of the larger of its size
        and ½‖w‖².
    n_iter_ : int
        Steps, each of two rows.
    fit_status_ : int
        0 if the gap is within tol, else 1 (there was a `ConvergenceWarning`).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import NuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(NuSVR(C=100.0).fit(X, y).score(X, y) > 0.5)
    True
    """

    _parameters: ClassVar = NU_SVR_PARAMETERS

    def _dual(self, t: Floats, costs: Floats) -> dual.DualProblem:
        return dual.of_nu_numbers(t, costs, float(self.nu))

    def _solution(
        self, problem: dual.DualProblem, cache: RowCache, threads: int, watch: ReportViolation
    ) -> KernelSolution:
        """Solve with ε = 0 first where that may be what ν chooses; then, if it is not, with ε."""
        if not _may_need_no_tube(problem, cache):
            return self._solve(problem, cache, threads, watch)
        without = self._solve(dual.without_tube(problem), cache, threads, watch)
        needed, allowed = np.abs(without.coefficients), sum_of(np.abs(problem.start))
        if sum_of(needed) <= allowed * (1.0 + NO_MORE):
            return without
        started = dual.with_tube(problem, without.beta)
        return self._solve(started, cache, threads, watch)

    def _epsilon_of(self, solution: KernelSolution) -> float:
        return 0.5 * (solution.levels[0] - solution.levels[-1])


def _may_need_no_tube(problem: dual.DualProblem, cache: RowCache) -> bool:
    """Guess whether coefficients are large enough, by ν, to come to every number."""
    t = problem.linear[: problem.second]
    kernels = cache.table.diagonal()[problem.row[: problem.second]]
    reach = sum_of(np.abs(problem.start)) / len(t) * mean_of(kernels)
    return bool(reach > t.max() - t.min())
