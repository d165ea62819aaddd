"""Partial dependence beside scikit-learn's, each of the library's own booster of numbers.

By rows, every row is looked at in every point of the grid, and the score is how far averages are
from means of repeated predictions. By cover, no row is looked at (scikit-learn's "recursion").
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import correlated_columns
from benchmarks.measure import Entrant, Say, available_cores, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing

SCIKIT_LEARN = "scikit-learn"
COLUMNS = 20
ENOUGH = 0.5  # seconds, after which a turn is not repeated

Floats = NDArray[Any]


@dataclass(frozen=True)
class DependenceCase:
    """A booster of numbers, and columns whose partial dependence is found."""

    name: str
    about: str
    method: str
    bars: tuple[Bar, ...] = (Bar("explain", "times", 0.2, (SCIKIT_LEARN,)),)
    rows: int = 20_000
    features: int = 10
    points: int = 50
    n_trees: int = 100
    max_leaves: int = 31
    metric: str = "gap"
    libraries: tuple[str, ...] = (HEDGEROW, SCIKIT_LEARN)
    turns: int = 3
    quick: bool = False

    def quick_version(self) -> "DependenceCase":
        """A small version that shows that all works, not who is faster."""
        return replace(self, rows=500, features=3, points=5, n_trees=5, turns=1, quick=True)


DEPENDENCE_CASES = tuple(
    DependenceCase(
        name=f"dependence-{method}",
        about=f"partial dependence by {method}: 10 columns × 50 points × 20,000 rows, "
        "100 trees of 31 leaves",
        method=method,
    )
    for method in ("rows", "cover")
)


def table(rows: int) -> tuple[Floats, Floats]:
    """Columns that go together, and a number that depends on some of them."""
    rng = np.random.default_rng(0)
    X = correlated_columns(rng, rows, COLUMNS)
    signal = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + np.sin(3.0 * X[:, 3]) + X[:, 4:10].sum(axis=1)
    return X, signal + rng.standard_normal(rows)


# A fitted model, and a function that returns the grid and the average of each column.
Dependence = tuple[Any, Callable[[], list[tuple[Floats, Floats]]]]


def _hedgerow(case: DependenceCase, X: Floats, y: Floats) -> Dependence:
    import hedgerow

    model = hedgerow.GradientBoostingRegressor(
        n_estimators=case.n_trees, max_leaves=case.max_leaves, learning_rate=0.1
    ).fit(X, y)

    def find() -> list[tuple[Floats, Floats]]:
        results = hedgerow.explain.partial_dependence(
            model, X, list(range(case.features)), method=case.method, grid_resolution=case.points
        )
        return [(result.grid[0], result.average[:, 0]) for result in results]

    return model, find


def _scikit_learn(case: DependenceCase, X: Floats, y: Floats) -> Dependence:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.inspection import partial_dependence

    model = HistGradientBoostingRegressor(
        max_iter=case.n_trees, max_leaf_nodes=case.max_leaves, early_stopping=False
    ).fit(X, y)
    method = "brute" if case.method == "rows" else "recursion"

    def find() -> list[tuple[Floats, Floats]]:
        results = (
            partial_dependence(
                model, X, [j], method=method, grid_resolution=case.points, kind="average"
            )
            for j in range(case.features)
        )
        return [(one["grid_values"][0], one["average"][0]) for one in results]

    return model, find


LIBRARIES = {HEDGEROW: _hedgerow, SCIKIT_LEARN: _scikit_learn}


class DependenceBench:
    """One library's model and the rows to look at; lives in a worker."""

    def __init__(self, case: DependenceCase, library: str) -> None:
        self._case = case
        self._X, y = table(case.rows)
        self._model, self._find = LIBRARIES[library](case, self._X, y)
        self._curves = self._find()

    def explain(self) -> float:
        """Seconds until the averages of all columns are there: best of a few short runs."""
        times = [seconds_of(self._find)]
        while sum(times) < ENOUGH and len(times) < 10:
            times.append(seconds_of(self._find))
        return min(times)

    def gap(self) -> float | None:
        """How far averages in the middle of each grid are from the mean of predictions there."""
        if self._case.method == "cover":
            return None
        differences = []
        for j, (grid, average) in enumerate(self._curves):
            middle = len(grid) // 2
            changed = self._X.copy()
            changed[:, j] = grid[middle]
            differences.append(abs(self._model.predict(changed).mean() - average[middle]))
        return float(max(differences))


class DependenceEntrant(Entrant):
    """A library that finds partial dependence."""

    def __init__(self, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self._seconds: list[float] = []

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        self._seconds.append(self.worker.call("explain"))

    def finish(self) -> None:
        self.result.explain = Timing(tuple(self._seconds), available_cores())
        self.result.score = self.worker.call("gap")


def run_dependence(case: DependenceCase, libraries: Sequence[str], say: Say) -> list[Result]:
    """Measure some libraries."""

    def worker(library: str) -> Worker:
        return Worker(partial(DependenceBench, case), library)

    return take_turns(case.name, case.turns, libraries, worker, DependenceEntrant, say)
