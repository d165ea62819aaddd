"""A column of very many strings beside numeric ones: what each library makes of it, and how fast.

Every peer gets the column in the form that its own handling of categories asks for, ready made: the
time for that is not counted against it. Hedgerow gets the strings. Rounds, leaves and learning rate
are the same, all else is each library's default.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frames import prepared
from benchmarks.generated import binary_signal, correlated_columns
from benchmarks.measure import Entrant, Say, available_cores, score, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing

N_NUMERIC = 10
SHARED = {"n_estimators": 100, "learning_rate": 0.1}
LEAVES = 31


@dataclass(frozen=True)
class CategoryCase:
    """How many rows, and how many strings they are of."""

    name: str = "categories"
    rows: int = 1_000_000
    test_rows: int = 200_000
    categories: int = 100_000
    turns: int = 3
    metric: str = "log loss"
    libraries: tuple[str, ...] = (HEDGEROW, "lightgbm", "xgboost-leaf", "catboost")
    bars: tuple[Bar, ...] = (
        Bar("fit", "times", 1.0, ("lightgbm",)),
        Bar("score", "within", 0.0, ("lightgbm",)),
    )
    quick: bool = False

    @property
    def about(self) -> str:
        quick = "quick version of: " if self.quick else ""
        return (
            f"{quick}{self.rows:,} × {N_NUMERIC} numbers and a column of {self.categories:,} "
            f"strings, 100 rounds of {LEAVES} leaves"
        )

    def quick_version(self) -> "CategoryCase":
        return replace(self, rows=10_000, test_rows=10_000, categories=1_000, turns=1, quick=True)


CATEGORY_CASES = (CategoryCase(),)


def category_table(case: CategoryCase) -> tuple[Any, NDArray[np.int32]]:
    """A data frame and two classes; some strings are far more frequent than others."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n_rows = case.rows + case.test_rows
    X = correlated_columns(rng, n_rows, N_NUMERIC)
    frequency = rng.lognormal(size=case.categories)
    town = rng.choice(case.categories, n_rows, p=frequency / frequency.sum())
    logit = binary_signal(rng, X) + rng.normal(size=case.categories)[town]
    names = np.array([f"town {i:06}" for i in rng.permutation(case.categories)], dtype=object)
    table = pd.DataFrame(X, columns=[f"number {j}" for j in range(N_NUMERIC)])
    table["town"] = names[town]
    return table, (rng.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(np.int32)


def model_of(library: str) -> Any:
    """An estimator with the rounds, leaves and learning rate that all have."""
    match library:
        case "hedgerow":
            import hedgerow

            return hedgerow.GradientBoostingClassifier(**SHARED, max_leaves=LEAVES)
        case "lightgbm":
            import lightgbm

            return lightgbm.LGBMClassifier(**SHARED, num_leaves=LEAVES, verbosity=-1)
        case "xgboost-leaf":
            import xgboost

            leaf_wise = {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0}
            return xgboost.XGBClassifier(**SHARED, **leaf_wise, enable_categorical=True)
        case "catboost":
            import catboost

            quiet = {"logging_level": "Silent", "allow_writing_files": False}
            return catboost.CatBoostClassifier(
                **SHARED, depth=LEAVES.bit_length(), cat_features=["town"], **quiet
            )
    raise ValueError(f"no model of {library!r}")


class CategoryBench:
    """One library on the table; lives in a worker."""

    def __init__(self, case: CategoryCase, library: str) -> None:
        table, y = category_table(case)
        table = prepared(library, table)
        self._train, self._test_rows = table[: case.rows], table[case.rows :]
        self._y, self._y_test = y[: case.rows], y[case.rows :]
        self._library, self._metric = library, case.metric
        self._model = model_of(library).fit(self._train[:500], self._y[:500])

    def fit(self) -> float:
        """Seconds of a fit."""
        self._model = model_of(self._library)
        return seconds_of(lambda: self._model.fit(self._train, self._y))

    def predict(self) -> tuple[float, float]:
        """Seconds to predict the held-out rows, and the score."""
        predictions: list[NDArray[Any]] = []
        seconds = seconds_of(
            lambda: predictions.append(self._model.predict_proba(self._test_rows)[:, 1])
        )
        return seconds, score(self._metric, self._y_test, predictions[0])


class CategoryEntrant(Entrant):
    """A library on the table: a fit and a prediction are a turn."""

    def __init__(self, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self._fits: list[float] = []
        self._predictions: list[tuple[float, float]] = []

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        self._fits.append(self.worker.call("fit"))
        self._predictions.append(self.worker.call("predict"))

    def finish(self) -> None:
        seconds, scores = zip(*self._predictions, strict=True)
        self.result.fit = Timing(tuple(self._fits), available_cores())
        self.result.predict = Timing(seconds, available_cores())
        self.result.score = scores[-1]


def run_categories(case: CategoryCase, libraries: Sequence[str], say: Say) -> list[Result]:
    """Time the libraries in turns."""

    def worker(library: str) -> Worker:
        return Worker(CategoryBench, case, library)

    return take_turns(case.name, case.turns, libraries, worker, CategoryEntrant, say)
