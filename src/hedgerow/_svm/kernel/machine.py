"""What the kernel machines share: reading X, solving problems on its rows, scores of others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from hedgerow._arithmetic import sum_of
from hedgerow._data.intake import TableSchema
from hedgerow._data.sources import has_rows
from hedgerow._estimator import Estimator, adopt, column_attributes
from hedgerow._progress import Metrics, Progress, progress
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import Solution
from hedgerow._svm.kernel.dual import Dual
from hedgerow._svm.kernel.kernels import (
    Kernel,
    Table,
    gamma_of,
    has_small_exponents,
    matrix_of,
    require_moderate_kernels,
    require_symmetric,
    require_symmetric_kernel,
    smallest_eigenvalue,
)
from hedgerow._svm.kernel.model import Certificate, KernelModel
from hedgerow._svm.kernel.solver import LARGEST_SET, Stop, Watch, solve
from hedgerow._svm.tables import learn_matrix, read_matrix
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats, RowNumbers
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError

# Fewer rows are solved in double precision: it costs them nothing.
FEW_ROWS = 500
# Rounding of single kernels, and the part of the tolerance that their sums' may be.
SINGLE_ROUNDING, PART_OF_TOL = 6e-8, 0.1
# Without slack there is nothing to trade exactness for.
HARD_TOL = 1e-6
# Support vectors that a kernel which may be indefinite is tried on, and what is not rounding.
TRIED_VECTORS, INDEFINITE = 200, -1e-6


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a fit: how they are read, and their kernels."""

    schema: TableSchema
    kernel: Kernel
    X: Any
    table: Table
    single: bool


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine f(x) = Σ_i coefficient_i k(x_i, x) + intercept, and how well it is solved."""

    coefficients: Floats  # of every row
    intercept: float
    objective: float = 0.0
    relative_gap: float = 0.0
    n_iter: int = 0
    converged: bool = True
    scores: Floats | None = None  # f of every row, where the fit needs them

    @classmethod
    def of(cls, solution: Solution, intercept: float, scale: float = 1.0) -> Machine:
        """Make the machine of a solution, f being `scale` times the solution's."""
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
    def constant(cls, value: float, n_rows: int) -> Machine:
        """Make a machine that has nothing to tell apart."""
        return cls(np.zeros(n_rows), value, scores=np.full(n_rows, value))

    def on(self, rows: RowNumbers, n_rows: int) -> Machine:
        """Place a machine of some rows on all, and forget the scores."""
        coefficients = np.zeros(n_rows)
        coefficients[rows] = self.coefficients
        return replace(self, coefficients=coefficients, scores=None)


class KernelMachine(Estimator):
    """A machine of kernels, apart from what its target is."""

    _model: KernelModel

    def _learn_rows(self, X: Any) -> tuple[TableSchema, Any]:
        schema, X = learn_matrix(X, type(self).__name__)
        if scipy.sparse.issparse(X) and self.kernel == "precomputed":
            raise DataError(
                "X is sparse, but kernel='precomputed' needs all kernels: give X.toarray()."
            )
        if scipy.sparse.issparse(X):
            return schema, scipy.sparse.csr_array(X, dtype=np.float64)
        return schema, X.astype(np.float64, copy=False)

    def _rows(self, schema: TableSchema, X: Any, costs: Floats) -> Rows:
        """Prepare rows whose coefficients are bounded by these costs."""
        kernel = self._kernel_for(X)
        if kernel.name == "precomputed":
            require_symmetric(X)
        require_moderate_kernels(kernel, X)
        rounding = SINGLE_ROUNDING * math.sqrt(sum_of(costs * costs))
        single = (
            X.shape[0] > FEW_ROWS
            and rounding <= PART_OF_TOL * self.tol
            and has_small_exponents(kernel, X)
        )
        return Rows(schema, kernel, X, kernel.table(X, single=single), single)

    def _kernel_for(self, X: Any) -> Kernel:
        if callable(self.kernel):
            return Kernel("callable", function=self.kernel)
        needs_gamma = self.kernel in ("poly", "rbf", "sigmoid", "laplacian")
        gamma = gamma_of(self.gamma, X) if needs_gamma else 1.0
        return Kernel(str(self.kernel), gamma, float(self.coef0), int(self.degree))

    def _cache(self, table: Table) -> RowCache:
        return RowCache(table, float(self.cache_size), LARGEST_SET)

    def _solve(self, dual: Dual, cache: RowCache, threads: int, watch: Watch) -> Solution:
        tol = min(float(self.tol), HARD_TOL) if dual.is_hard else float(self.tol)
        stop = Stop(tol, int(self.max_iter), bool(self.shrinking))
        with np.errstate(all="ignore"):  # what overflows is not taken for a solution
            return solve(dual, cache, stop, threads, watch)

    def _fit_one(self, rows: Rows, problem: Dual) -> Self:
        """Become what one problem's solution makes of the estimator."""
        with self._progress(1) as shown:
            threads = effective_n_jobs(self.n_jobs)
            solution = self._solution(problem, self._cache(rows.table), threads, shown.watch())
            shown.end()
        machine = Machine.of(solution, sum(solution.levels) / len(solution.levels))
        support = np.flatnonzero(machine.coefficients)
        model = model_of(
            rows,
            support,
            machine.coefficients[np.newaxis, support],
            [machine],
            counts=np.array([len(support)]),
            epsilon=self._epsilon_of(solution),
        )
        self._warn([machine], rows, support)
        adopt(self, attributes_of(model))
        return self

    def _solution(self, problem: Dual, cache: RowCache, threads: int, watch: Watch) -> Solution:
        """Solve the one problem of a fit."""
        return self._solve(problem, cache, threads, watch)

    def _epsilon_of(self, solution: Solution) -> float | None:  # noqa: ARG002
        """Return the ε that a solution has chosen, if it has."""
        return None

    @contextmanager
    def _progress(self, n_problems: int) -> Iterator[Shown]:
        with progress(int(self.verbose), 100, unit="percent", title="kernel machines") as bar:
            yield Shown(bar, n_problems, float(self.tol))

    def _warn(self, machines: Sequence[Machine], rows: Rows, support: RowNumbers) -> None:
        """Say what keeps machines from being the best there are."""
        name = type(self).__name__
        worst = max(machines, key=lambda machine: (not machine.converged, machine.relative_gap))
        if not worst.converged:
            warn_user(
                f"{name} ended after {worst.n_iter} steps (max_iter={self.max_iter}) with a "
                f"duality gap of {100 * worst.relative_gap:.3g} % of the objective (tol="
                f"{self.tol:g}): it may be that much above the lowest. Scale the columns of X, "
                "reduce C, or increase max_iter or tol.",
                ConvergenceWarning,
            )
        if rows.kernel.is_surely_definite or not len(support):
            return
        step = max(1, len(support) // TRIED_VECTORS)
        some = rows.table.take(np.sort(support)[::step][:TRIED_VECTORS])
        K = matrix_of(some)
        require_symmetric_kernel(K)
        smallest = smallest_eigenvalue(K)
        if smallest < INDEFINITE:
            warn_user(
                f"The kernel of {name} is not a scalar product on these rows: its matrix has "
                f"negative eigenvalues, of up to {-100 * smallest:.2g} % of the largest. So the "
                "problem is not convex, the solution may be a local one, and duality_gap_ "
                f"({worst.relative_gap:.2g}) does not bound how far it is from the best.",
                ConvergenceWarning,
            )

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, (n_machines, n_features), if the kernel is linear."""
        if not hasattr(self, "_model") or self._model.kernel.name != "linear":
            raise AttributeError("coef_ is there only after a fit with kernel='linear'.")
        return self._model.weights

    def _scores(self, X: Any) -> Floats:
        """Return f of every machine for every row."""
        model: KernelModel = self._fitted_model().with_function(self.kernel)
        if model.vectors is None and has_rows(X):
            learn_matrix(X, type(self).__name__)  # gaps are what to say first of such a matrix
        queries = read_matrix(X, model.schema, type(self).__name__)
        if scipy.sparse.issparse(queries) and not scipy.sparse.issparse(model.vectors):
            queries = queries.toarray()
        queries = queries.astype(np.float64, copy=False)
        scores = model.scores(queries, effective_n_jobs(self.n_jobs))
        if not np.isfinite(scores).all():
            raise DataError(
                f"X holds numbers so large that {type(self).__name__} cannot compute kernels of "
                "them. Scale the columns as those of fit were."
            )
        return scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class Shown:
    """What is shown of a fit: how many percent of all decades of violation it has gone."""

    def __init__(self, bar: Progress | None, n_problems: int, tol: float) -> None:
        self.bar = bar
        self.n_problems = n_problems
        self.tol = tol
        self.n_done = 0

    def watch(self) -> Watch:
        """Begin with a problem: give what its violation is to be told to."""
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
        """End a problem."""
        self.n_done += 1
        self._show(0.0, {})

    def _show(self, part: float, metrics: Metrics) -> None:
        if self.bar is not None:
            self.bar.show(int(100 * (self.n_done + part) / self.n_problems), metrics)


def model_of(
    rows: Rows,
    support: RowNumbers,
    coefficients: Floats,
    machines: Sequence[Machine],
    **others: Any,
) -> KernelModel:
    """Keep of the rows what prediction needs."""
    certificate = Certificate(
        objective=np.array([machine.objective for machine in machines]),
        duality_gap=np.array([machine.relative_gap for machine in machines]),
        n_iter=np.array([max(1, machine.n_iter) for machine in machines]),
        converged=all(machine.converged for machine in machines),
    )
    return KernelModel(
        schema=rows.schema,
        kernel=rows.kernel,
        single=rows.single,
        support=support,
        vectors=None if rows.kernel.name == "precomputed" else rows.X[support],
        n_rows=rows.X.shape[0],
        coefficients=coefficients,
        intercepts=np.array([machine.intercept for machine in machines]),
        certificate=certificate,
        **others,
    )


def attributes_of(model: KernelModel) -> dict[str, Any]:
    """Return the attributes of a fitted machine; scikit-learn's by their names."""
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
