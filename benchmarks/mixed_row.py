"""One row of a mixed table, as a service predicts it: a row of a data frame, a dict, a list of one.

Six columns of numbers and eight of strings, like the census table "adult". What is measured is the
whole call of ``predict_proba``, most of which is reading the row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Entrant, Say, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing

NUMBERS, STRINGS, CATEGORIES = 6, 8, 12


@dataclass(frozen=True)
class MixedRowCase:
    """A booster of a mixed table, and rows that come one at a time."""

    name: str
    about: str
    container: str
    bars: tuple[Bar, ...] = (Bar("one row", "absolute", 150e-6),)
    rows: int = 20_000
    n_trees: int = 100
    calls: int = 1_000
    metric: str = "log loss"
    libraries: tuple[str, ...] = (HEDGEROW,)
    turns: int = 3
    quick: bool = False

    def quick_version(self) -> "MixedRowCase":
        """A small version that shows that all works, not how fast."""
        return replace(self, rows=500, n_trees=5, calls=20, turns=1, quick=True)


MIXED_ROW_CASES = tuple(
    MixedRowCase(
        name=f"row-{container}",
        about=f"one row of 6 columns of numbers and 8 of strings, as {what}; 100 trees",
        container=container,
    )
    for container, what in (
        ("pandas", "a pandas frame"),
        ("polars", "a Polars frame"),
        ("arrow", "an Arrow table"),
        ("dict", "a dict"),
        ("dicts", "a list of one dict"),
    )
)


def table(rows: int) -> tuple[Any, Any]:
    """Numbers and strings, and a class that depends on some of them."""
    import pandas as pd

    rng = np.random.default_rng(0)
    numbers = {f"number{j}": rng.integers(0, 100, rows) for j in range(NUMBERS)}
    codes = {f"string{j}": rng.integers(0, CATEGORIES, rows) for j in range(STRINGS)}
    signal = numbers["number0"] / 30.0 + codes["string0"] % 3 + codes["string1"] % 2
    names = np.array([f"category {k}" for k in range(CATEGORIES)], object)
    columns = numbers | {name: names[of] for name, of in codes.items()}
    return pd.DataFrame(columns), signal + rng.standard_normal(rows) > np.median(signal)


def _as_polars(row: Any) -> Any:
    import polars as pl

    return pl.from_pandas(row)


def _as_arrow(row: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(row, preserve_index=False)


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda row: row,
    "polars": _as_polars,
    "arrow": _as_arrow,
    "dict": lambda row: row.to_dict("records")[0],
    "dicts": lambda row: row.to_dict("records"),
}


class MixedRowBench:
    """A fitted model and rows in a container; lives in a worker."""

    def __init__(self, case: MixedRowCase, library: str) -> None:  # noqa: ARG002  there is one
        import hedgerow

        X, y = table(case.rows)
        self._model = hedgerow.GradientBoostingClassifier(n_estimators=case.n_trees).fit(X, y)
        container = CONTAINERS[case.container]
        self._rows = [container(X.iloc[[i]]) for i in range(min(case.calls, case.rows))]

    def one_row(self) -> list[float]:
        """Seconds of each call."""
        return [seconds_of(partial(self._model.predict_proba, row)) for row in self._rows]


class MixedRowEntrant(Entrant):
    """A library that predicts a row."""

    def __init__(self, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self._seconds: list[float] = []

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        self._seconds += self.worker.call("one_row")

    def finish(self) -> None:
        self.result.one_row = Timing(tuple(self._seconds), 1)


def run_mixed_row(case: MixedRowCase, libraries: Sequence[str], say: Say) -> list[Result]:
    """Measure one row after the other."""

    def worker(library: str) -> Worker:
        return Worker(partial(MixedRowBench, case), library)

    return take_turns(case.name, case.turns, libraries, worker, MixedRowEntrant, say)
