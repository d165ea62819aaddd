"""The base class of kernel SVMs: reading X, solving the dual problems, scoring."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from hedgerow._arithmetic import sum_of
from hedgerow._data.intake import TableSchema
from hedgerow._data.sources import has_rows
from hedgerow._estimator import adopt, column_attributes
from hedgerow._progress import Metrics, Progress, progress
from hedgerow._svm.base import SVM, learn_matrix, read_matrix
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import KernelSolution
from hedgerow._svm.kernel.dual import DualProblem
from hedgerow._svm.kernel.kernels import (
    Kernel,
    KernelTable,
    gamma_of,
    has_small_exponents,
    matrix_of,
    require_moderate_kernels,
    require_symmetric,
    require_symmetric_kernel,
    smallest_eigenvalue,
)
from hedgerow._svm.kernel.model import Certificate, KernelModel
from hedgerow._svm.kernel.solver import LARGEST_SET, ReportViolation, SolverOptions, solve
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats, Indices, RowNumbers
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError

# With fewer rows, float64 costs nothing.
FEW_ROWS = 500
# Rounding of float32 kernels, and the fraction of the tolerance that the error of sums may reach.
SINGLE_ROUNDING, PART_OF_TOL = 6e-8, 0.1
# Tolerance for a hard margin, which has no slack to absorb errors.
HARD_TOL = 1e-6
# Maximum number of support vectors on which definiteness is tested, and the threshold for it.
MAX_TESTED_VECTORS, INDEFINITE = 200, -1e-6


@dataclass(frozen=True, eq=False)
class KernelInput:
    """The training set of a kernel SVM: schema, kernel, rows, and their kernel values.

    `numbers` are those of the rows in the table of `fit`, which has `n_rows` rows: only those with
    weight are in the training set.
    """

    schema: TableSchema
    kernel: Kernel
    X: Any
    table: KernelTable
    single: bool
    numbers: Indices
    n_rows: int


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = Σ_i coefficient_i k(x_i, x) + intercept, with its certificate."""

    coefficients: Floats  # one per row
    intercept: float
    objective: float = 0.0
    relative_gap: float = 0.0
    n_iter: int = 0
    converged: bool = True
    scores: Floats | None = None  # f of every row, if the fit needs them

    @classmethod
    def of(cls, solution: KernelSolution, intercept: float, scale: float = 1.0) -> KernelExpansion:
        """Return the expansion of a solution, scaled by `scale`."""
        return cls(
            coefficients=scale * solution.coefficients,
            intercept=intercept,
            objective=solution.objective,
            relative_gap=solution.relative_gap,
            n_iter=solution.n_iter,
            converged=solution.converged,
            scores=scale * solution.scores + intercept,
        )

    @classmethod
    def constant(cls, value: float, n_rows: int) -> KernelExpansion:
        """Return a constant f, for data with a single class."""
        return cls(np.zeros(n_rows), value, scores=np.full(n_rows, value))

    def on(self, rows: RowNumbers, n_rows: int) -> KernelExpansion:
        """Extend an expansion over some rows to all rows, without the scores."""
        coefficients = np.zeros(n_rows)
        coefficients[rows] = self.coefficients
        return replace(self, coefficients=coefficients, scores=None)


class KernelSVM(SVM):
    """Base class of the kernel SVMs."""

    _attribute_docs: ClassVar = {
        "svm": """
            support_ : array of shape (n_vectors,)
                Indices of the support vectors.
            support_vectors_ : array or CSR matrix of shape (n_vectors, n_features)
                The support vectors.
            n_support_ : array of shape (1,)
                Number of support vectors.
            dual_coef_ : array of shape (1, n_vectors)
                Their coefficients.
            intercept_ : array of shape (1,)
                The intercept.
            coef_ : array of shape (1, n_features)
                Weights of the columns, if the kernel is linear.
            n_iter_ : int
                Number of steps, each of two rows.
            fit_status_ : int
                0 if the gap is within tol, else 1 (there was a `ConvergenceWarning`).
            objective_ : array of shape (1,)
                The primal objective.
            """
    }
    _model: KernelModel

    def _learn_rows(self, X: Any) -> tuple[TableSchema, Any]:
        schema, X = learn_matrix(X, type(self).__name__)
        if scipy.sparse.issparse(X) and self.kernel == "precomputed":
            raise DataError(
                "X is sparse, but kernel='precomputed' needs a dense matrix: pass X.toarray()."
            )
        if scipy.sparse.issparse(X):
            return schema, scipy.sparse.csr_array(X, dtype=np.float64)
        return schema, np.ascontiguousarray(X, np.float64)

    def _rows(
        self, schema: TableSchema, X: Any, numbers: Indices | None, costs: Floats
    ) -> KernelInput:
        """Return the training set: some rows, whose coefficients are bounded by these costs."""
        threads, n_rows = effective_n_jobs(self.n_jobs), X.shape[0]
        if numbers is None:
            numbers = np.arange(n_rows)
        else:
            X = X[np.ix_(numbers, numbers)] if self.kernel == "precomputed" else X[numbers]
        kernel = self._kernel_for(X, threads)
        if kernel.name == "precomputed":
            require_symmetric(X)
        require_moderate_kernels(kernel, X)
        rounding = SINGLE_ROUNDING * math.sqrt(sum_of(costs * costs))
        single = (
            X.shape[0] > FEW_ROWS
            and rounding <= PART_OF_TOL * self.tol
            and has_small_exponents(kernel, X, threads)
        )
        table = kernel.table(X, single=single, threads=threads)
        return KernelInput(schema, kernel, X, table, single, numbers, n_rows)

    def _kernel_for(self, X: Any, threads: int) -> Kernel:
        if callable(self.kernel):
            return Kernel("callable", function=self.kernel)
        needs_gamma = self.kernel in ("poly", "rbf", "sigmoid", "laplacian")
        gamma = gamma_of(self.gamma, X, threads) if needs_gamma else 1.0
        return Kernel(str(self.kernel), gamma, float(self.coef0), int(self.degree))

    def _cache(self, table: KernelTable) -> RowCache:
        return RowCache(table, float(self.cache_size), LARGEST_SET)

    def _solve(
        self, dual: DualProblem, cache: RowCache, threads: int, watch: ReportViolation
    ) -> KernelSolution:
        tol = min(float(self.tol), HARD_TOL) if dual.is_hard else float(self.tol)
        stop = SolverOptions(tol, int(self.max_iter), bool(self.shrinking))
        with np.errstate(all="ignore"):  # overflowing candidates are rejected
            return solve(dual, cache, stop, threads, watch)

    def _fit_one(self, rows: KernelInput, problem: DualProblem) -> Self:
        """Solve a single problem and adopt the fitted attributes."""
        with self._progress(1) as progress_bar:
            threads = effective_n_jobs(self.n_jobs)
            solution = self._solution(
                problem, self._cache(rows.table), threads, progress_bar.watch()
            )
            progress_bar.end()
        svm = KernelExpansion.of(solution, sum(solution.levels) / len(solution.levels))
        support = np.flatnonzero(svm.coefficients)
        model = model_of(
            rows,
            support,
            svm.coefficients[np.newaxis, support],
            [svm],
            counts=np.array([len(support)]),
            epsilon=self._epsilon_of(solution),
        )
        self._warn([svm], rows, support)
        adopt(self, attributes_of(model))
        return self

    def _solution(
        self, problem: DualProblem, cache: RowCache, threads: int, watch: ReportViolation
    ) -> KernelSolution:
        """Solve the one problem of a fit."""
        return self._solve(problem, cache, threads, watch)

    def _epsilon_of(self, solution: KernelSolution) -> float | None:  # noqa: ARG002
        """Return the ε that a ν-SVR solution determines, otherwise None."""
        return None

    @contextmanager
    def _progress(self, n_problems: int) -> Iterator[FitProgress]:
        with progress(int(self.verbose), 100, unit="percent", title="kernel SVMs") as bar:
            yield FitProgress(bar, n_problems, float(self.tol))

    def _warn(
        self, svms: Sequence[KernelExpansion], rows: KernelInput, support: RowNumbers
    ) -> None:
        """Warn about solutions that did not converge, and about indefinite kernels."""
        name = type(self).__name__
        worst = max(svms, key=lambda svm: (not svm.converged, svm.relative_gap))
        if not worst.converged:
            warn_user(
                f"{name} ended after {worst.n_iter} steps (max_iter={self.max_iter}) with a "
                f"duality gap of {100 * worst.relative_gap:.3g} % of the objective (tol="
                f"{self.tol:g}): the objective may exceed the optimum by that much. Scale the "
                "columns of X, reduce C, or increase max_iter or tol.",
                ConvergenceWarning,
            )
        if rows.kernel.is_surely_definite or not len(support):
            return
        step = max(1, len(support) // MAX_TESTED_VECTORS)
        some = rows.table.take(np.sort(support)[::step][:MAX_TESTED_VECTORS])
        K = matrix_of(some)
        require_symmetric_kernel(K)
        smallest = smallest_eigenvalue(K)
        if smallest < INDEFINITE:
            warn_user(
                f"The kernel of {name} is not positive semidefinite on these rows: its matrix has "
                f"negative eigenvalues, of up to {-100 * smallest:.2g} % of the largest. "
                "So the problem is not convex, the solution may be a local optimum, and "
                f"duality_gap_ ({worst.relative_gap:.2g}) is not a bound on its distance from the "
                "global one.",
                ConvergenceWarning,
            )

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, (n_svms, n_features), if the kernel is linear."""
        if not hasattr(self, "_model") or self._model.kernel.name != "linear":
            raise AttributeError("coef_ is available only after a fit with kernel='linear'.")
        return self._model.weights

    def _scores(self, X: Any) -> Floats:
        """Return f of every SVM for every row."""
        model: KernelModel = self._fitted_model().with_function(self.kernel)
        if model.vectors is None and has_rows(X):
            learn_matrix(X, type(self).__name__)  # report missing values first
        queries = read_matrix(X, model.schema, type(self).__name__)
        if scipy.sparse.issparse(queries) and not scipy.sparse.issparse(model.vectors):
            queries = queries.toarray()
        queries = queries.astype(np.float64, copy=False)
        scores = model.scores(queries, effective_n_jobs(self.n_jobs))
        if not np.isfinite(scores).all():
            raise DataError(
                f"X contains numbers so large that the kernel of {type(self).__name__} overflows. "
                "Scale the columns as in fit."
            )
        return scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class FitProgress:
    """Progress of a fit, as the percentage of the decades of violation that are done."""

    def __init__(self, bar: Progress | None, n_problems: int, tol: float) -> None:
        self.bar = bar
        self.n_problems = n_problems
        self.tol = tol
        self.n_done = 0

    def watch(self) -> ReportViolation:
        """Start a problem; return the function that receives its violation."""
        first, furthest = 0.0, 0.0

        def show(violation: float) -> None:
            nonlocal first, furthest
            if self.bar is None or not violation > 0.0:
                return
            first = max(first, violation)
            decades = math.log(first / self.tol)
            part = math.log(first / violation) / decades if decades > 0.0 else 0.0
            furthest = max(furthest, min(0.99, part))
            self._show(furthest, {"": {"violation": violation}})

        return show

    def end(self) -> None:
        """Mark a problem as done."""
        self.n_done += 1
        self._show(0.0, {})

    def _show(self, part: float, metrics: Metrics) -> None:
        if self.bar is not None:
            self.bar.show(int(100 * (self.n_done + part) / self.n_problems), metrics)


def model_of(
    rows: KernelInput,
    support: RowNumbers,
    coefficients: Floats,
    svms: Sequence[KernelExpansion],
    **others: Any,
) -> KernelModel:
    """Return the model: the support vectors and their coefficients."""
    certificate = Certificate(
        objective=np.array([svm.objective for svm in svms]),
        duality_gap=np.array([svm.relative_gap for svm in svms]),
        n_iter=np.array([max(1, svm.n_iter) for svm in svms]),
        converged=all(svm.converged for svm in svms),
    )
    return KernelModel(
        schema=rows.schema,
        kernel=rows.kernel,
        single=rows.single,
        support=rows.numbers[support],
        vectors=None if rows.kernel.name == "precomputed" else rows.X[support],
        n_rows=rows.n_rows,
        coefficients=coefficients,
        intercepts=np.array([svm.intercept for svm in svms]),
        certificate=certificate,
        **others,
    )


def attributes_of(model: KernelModel) -> dict[str, Any]:
    """Return the attributes of a fitted SVM, named as in scikit-learn."""
    certificate = model.certificate
    attributes = column_attributes(model.schema) | {
        "_model": model,
        "support_": model.support.astype(np.int32),
        "support_vectors_": np.empty((0, 0)) if model.vectors is None else model.vectors,
        "n_support_": model.counts.astype(np.int32),
        "dual_coef_": model.coefficients,
        "intercept_": model.intercepts,
        "objective_": certificate.objective,
        "duality_gap_": certificate.duality_gap,
        "n_iter_": int(certificate.n_iter[0]),
        "fit_status_": int(not certificate.converged),
        "shape_fit_": (model.n_rows, model.schema.n_features),
    }
    if model.classes is not None:
        attributes |= {"classes_": model.classes, "class_weight_": model.class_weight}
        attributes["n_iter_"] = certificate.n_iter.astype(np.int32)
    if model.sigmoids is not None:
        attributes |= {"probA_": model.sigmoids[:, 0], "probB_": model.sigmoids[:, 1]}
    if model.epsilon is not None:
        attributes["epsilon_"] = model.epsilon
    return attributes
