"""Kernel SVMs for regression."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from hedgerow._arguments import with_parameters
from hedgerow._arithmetic import mean_of, sum_of
from hedgerow._data.target import read_regression_target, read_weights, rows_with_weight
from hedgerow._svm.kernel import dual
from hedgerow._svm.kernel.base import KernelSVM
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import KernelSolution
from hedgerow._svm.kernel.parameters import NU_SVR_PARAMETERS, SVR_PARAMETERS
from hedgerow._svm.kernel.solver import ReportViolation
from hedgerow._types import Floats

# Tolerance of the sum of coefficients that ν fixes, for rounding.
NO_MORE = 1e-12


class KernelRegressor(RegressorMixin, KernelSVM):
    """Base class of kernel SVM regressors."""

    def _dual(self, t: Floats, costs: Floats) -> dual.DualProblem:
        """Return the problem of predicting t."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        schema, X = self._learn_rows(X)
        target = read_regression_target(y, X.shape[0], estimator_name=type(self).__name__)
        weights = read_weights(sample_weight, len(target))
        costs = float(self.C) * (np.ones(len(target)) if weights is None else weights)
        numbers = rows_with_weight(costs)
        if numbers is not None:
            target, costs = target[numbers], costs[numbers]
        rows = self._rows(schema, X, numbers, costs)
        return self._fit_one(rows, self._dual(target, costs))

    def predict(self, X: Any) -> Floats:
        """Return f(x) for every row."""
        return self._scores(X)[:, 0]


@with_parameters
class SVR(KernelRegressor):
    """Support vector regression.

    With φ(x)·φ(z) = k(x, z), it finds the f(x) = w·φ(x) + b that minimises::

        ½‖w‖² + C Σ_i max(0, |y_i − f(x_i)| − ε).

    Each row's C is multiplied by its sample weight. The solution has a certificate, as in
    `SVC`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {svm}
    duality_gap_ : array of shape (1,)
        Upper bound on the relative excess over the optimal objective.
    {columns}

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
    """ν-support vector regression: ν bounds the fraction of errors above ε, in place of ε itself.

    The model is that of an `SVR` whose ε is determined by ν: at most a fraction ν of the rows have
    errors above ε, and at least a fraction ν are support vectors.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    epsilon_ : float
        The ε that ν determines.
    {svm}
    duality_gap_ : array of shape (1,)
        Upper bound on the excess over the optimum, relative to the larger of the objective's
        absolute value and ½‖w‖².
    {columns}

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
        """Solve with ε = 0 first, if that may be the solution; otherwise with the tube."""
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
    """Return whether ν allows coefficients so large that ε may be 0."""
    t = problem.linear[: problem.second]
    kernels = cache.table.diagonal()[problem.row[: problem.second]]
    reach = sum_of(np.abs(problem.start)) / len(t) * mean_of(kernels)
    return bool(reach > t.max() - t.min())
