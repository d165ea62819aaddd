"""Linear SVMs, compared with those of scikit-learn (LIBLINEAR): times and final objectives.

Both get the default parameters except for the loss. The score is the objective on the training
rows, which shows whether a solver stopped too early.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Entrant, Say, available_cores, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing
from benchmarks.texts import text_rows

SCIKIT_LEARN = "scikit-learn"
HOMES = {HEDGEROW: "hedgerow._svm", SCIKIT_LEARN: "sklearn.svm"}

Table = tuple[Any, Any]


def dense_rows(n_rows: int) -> Table:
    """50 correlated columns, standardised; classes overlap."""
    rng = np.random.default_rng(0)
    mixing = np.eye(50) + 0.3 * rng.standard_normal((50, 50)) / np.sqrt(50)
    X = rng.standard_normal((n_rows, 50)) @ mixing
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = X @ rng.standard_normal(50) * 1.5 / np.sqrt(50)
    return X, (signal + rng.standard_normal(n_rows) > 0).astype(np.int64)


@dataclass(frozen=True)
class LinearCase:
    """A table and a loss."""

    make: Callable[[int], Table]
    rows: int
    loss: str
    about_rows: str
    turns: int = 3
    metric: str = "objective"
    libraries: tuple[str, ...] = (HEDGEROW, SCIKIT_LEARN)
    quick: bool = False

    @property
    def name(self) -> str:
        return f"linear-{self.make.__name__.removesuffix('_rows')}-{self.loss.replace('_', '-')}"

    @property
    def about(self) -> str:
        quick = "quick version of: " if self.quick else ""
        return f"{quick}LinearSVC(loss={self.loss!r}) on {self.about_rows}"

    @property
    def bars(self) -> tuple[Bar, ...]:
        return (
            Bar("fit", "times", 0.7, (SCIKIT_LEARN,)),
            Bar("score", "times", 1.0 + 1e-6, (SCIKIT_LEARN,)),
        )

    def quick_version(self) -> "LinearCase":
        return replace(self, rows=2_000, turns=1, quick=True)


LINEAR_CASES = tuple(
    LinearCase(make, rows, loss, about)
    for make, rows, about in (
        (dense_rows, 200_000, "200,000 × 50, dense"),
        (text_rows, 100_000, "100,000 × 10,000, sparse, about 74 numbers a row"),
    )
    for loss in ("squared_hinge", "hinge")
)


def objective(model: Any, X: Any, y: Any) -> float:
    """What both minimise, the intercept's penalty included."""
    margin = (2 * y - 1) * (X @ model.coef_[0] + model.intercept_[0])
    slack = np.maximum(0.0, 1.0 - margin)
    losses = slack if model.loss == "hinge" else slack**2
    penalty = 0.5 * float((model.coef_**2).sum() + (model.intercept_**2).sum())
    return penalty + model.C * float(losses.sum())


class LinearBench:
    """One library on one table; lives in a worker."""

    def __init__(self, case: LinearCase, library: str) -> None:
        self._X, self._y = case.make(case.rows)
        kind = import_module(HOMES[library]).LinearSVC
        self._model = kind(loss=case.loss, random_state=0)
        self._fit(rows=500)

    def fit(self) -> float:
        """Seconds of a fit."""
        return seconds_of(lambda: self._fit(len(self._y)))

    def objective(self) -> float:
        """Of the last fit."""
        return objective(self._model, self._X, self._y)

    def _fit(self, rows: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LIBLINEAR does not always converge
            self._model.fit(self._X[:rows], self._y[:rows])


class LinearEntrant(Entrant):
    """A library on a table: a fit is a turn."""

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        before = self.result.fit.seconds if self.result.fit else ()
        self.result.fit = Timing((*before, self.worker.call("fit")), available_cores())

    def finish(self) -> None:
        self.result.score = self.worker.call("objective")


def run_linear(case: LinearCase, libraries: Sequence[str], say: Say) -> list[Result]:
    """Time the libraries in turns."""

    def worker(library: str) -> Worker:
        return Worker(LinearBench, case, library)

    return take_turns(case.name, case.turns, libraries, worker, LinearEntrant, say)
