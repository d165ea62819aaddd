"""Kernel SVMs, compared with those of scikit-learn (LIBSVM) and scikit-learn-intelex.

All get the same standardised rows and the default parameters of SVC. The others get a larger kernel
cache, which makes them faster. scikit-learn-intelex computes in the precision of X and is often
faster in float32: it runs in both, and the better time counts. The score is the dual objective on
the same float64 rows, which shows whether a solver stopped too early.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Entrant, Say, available_cores, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing

SCIKIT_LEARN = "scikit-learn"
INTEL = "scikit-learn-intelex"
HOMES = {
    HEDGEROW: "hedgerow._svm",
    SCIKIT_LEARN: "sklearn.svm",
    INTEL: "sklearnex.svm",
}
PRECISIONS = {INTEL: (np.float64, np.float32)}  # of the others: float64
# For kernels, where the default is not best.
MEGABYTES = {INTEL: 1000, SCIKIT_LEARN: 1000}
QUERY_ROWS = 5_000
# Work of a turn is repeated, to find the best time of what is done in a moment: for so long, or so
# often.
TURN_SECONDS, TURN_REPEATS = 1.0, 20


def overlapping_rows(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Standardised columns, and two classes that overlap along a bent boundary."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    signal = X @ rng.standard_normal(n_columns) / np.sqrt(n_columns)
    bent = 0.5 * np.sin(2.0 * X[:, 0]) * X[:, 1]
    return X, (signal + bent + 0.7 * rng.standard_normal(n_rows) > 0.0).astype(np.int64)


@dataclass(frozen=True)
class KernelCase:
    """A table, and what is to be reached on it."""

    name: str
    rows: int
    columns: int
    libraries: tuple[str, ...]
    bars: tuple[Bar, ...]
    turns: int = 3
    metric: str = "dual objective"
    quick: bool = False

    @property
    def about(self) -> str:
        quick = "quick version of: " if self.quick else ""
        return f"{quick}SVC() with its RBF kernel on {self.rows:,} × {self.columns}, standardised"

    def quick_version(self) -> "KernelCase":
        return replace(self, rows=600, turns=1, quick=True)


KERNEL_CASES = (
    KernelCase(
        "svc-28",
        20_000,
        28,
        (HEDGEROW, INTEL, SCIKIT_LEARN),
        (
            Bar("fit", "times", 0.8, (INTEL,)),
            Bar("fit", "times", 0.15, (SCIKIT_LEARN,)),
            Bar("score", "times", 1.0 + 1e-4, (SCIKIT_LEARN,)),
        ),
    ),
    KernelCase(
        "svc-300",
        20_000,
        300,
        (HEDGEROW, INTEL),
        (Bar("fit", "times", 0.9, (INTEL,)),),
    ),
    KernelCase(
        "svc-small",
        1_000,
        20,
        (HEDGEROW, INTEL, SCIKIT_LEARN),
        (Bar("fit", "times", 0.5, (SCIKIT_LEARN,)),),
        turns=5,
    ),
    KernelCase(
        "svc-predict",
        28_000,
        28,
        (HEDGEROW, INTEL),
        (Bar("predict", "times", 0.8, (INTEL,)),),
        turns=2,
    ),
)


def dual_objective(model: Any, X: Any) -> float:
    """Σα − ½ ΣΣ y α y α k, by float64 kernels of the support vectors."""
    from sklearn.metrics.pairwise import rbf_kernel

    vectors, signed = X[model.support_], np.asarray(model.dual_coef_, np.float64)[0]
    gamma = 1.0 / (X.shape[1] * X.var())
    square = 0.0
    for first in range(0, len(vectors), 1_000):
        part = slice(first, first + 1_000)
        square += float(signed[part] @ (rbf_kernel(vectors[part], vectors, gamma=gamma) @ signed))
    return float(np.abs(signed).sum()) - 0.5 * square


class KernelBench:
    """One library on one table; lives in a worker."""

    def __init__(self, case: KernelCase, library: str) -> None:
        self._X, self._y = overlapping_rows(case.rows, case.columns)
        queries = 0.9 * overlapping_rows(QUERY_ROWS, case.columns)[0]
        svc = import_module(HOMES[library]).SVC
        self._entries = [
            (svc(cache_size=MEGABYTES.get(library, 200)), self._X.astype(dtype), queries)
            for dtype in PRECISIONS.get(library, (np.float64,))
        ]
        for model, X, queries in self._entries:
            self._fit(model, X[:500])
            model.predict(queries[:500])

    def fit(self) -> float:
        """Seconds of a fit, the best of a turn."""
        return min(_best(partial(self._fit, model, X)) for model, X, _ in self._entries)

    def predict(self) -> float:
        """Seconds of predicting the queries rows, the best of a turn."""
        return min(
            _best(partial(model.predict, queries.astype(X.dtype)))
            for model, X, queries in self._entries
        )

    def objective(self) -> float:
        """Of the last fit."""
        for model, *_ in self._entries:
            gap = getattr(model, "duality_gap_", np.zeros(1)).max()
            if gap > model.tol:
                raise ValueError(f"the gap is {gap}, above the tolerance")
        return max(dual_objective(model, self._X) for model, *_ in self._entries)

    def _fit(self, model: Any, X: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # all of them converge
            model.fit(X, self._y[: len(X)])


def _best(work: Any) -> float:
    seconds = [seconds_of(work)]
    while sum(seconds) < TURN_SECONDS and len(seconds) < TURN_REPEATS:
        seconds.append(seconds_of(work))
    return min(seconds)


class KernelEntrant(Entrant):
    """A library on a table: a turn is a fit, and a prediction of the queries rows."""

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        for name in ("fit", "predict"):
            before = getattr(self.result, name)
            seconds = (*(before.seconds if before else ()), self.worker.call(name))
            setattr(self.result, name, Timing(seconds, available_cores()))

    def finish(self) -> None:
        self.result.score = self.worker.call("objective")


def run_kernel(case: KernelCase, libraries: Sequence[str], say: Say) -> list[Result]:
    """Time the libraries in turns."""

    def worker(library: str) -> Worker:
        return Worker(KernelBench, case, library)

    return take_turns(case.name, case.turns, libraries, worker, KernelEntrant, say)
