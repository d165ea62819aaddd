"""Shapley values beside XGBoost's and LightGBM's, each of the library's own model.

The models have the same settings and are fitted to the same rows, so that their trees are of the
same size. The score is how far the values and the base value of a row are from its raw score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import BoostingSettings
from benchmarks.generated import binary_table
from benchmarks.libraries import adapter
from benchmarks.measure import Entrant, Say, available_cores, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing


@dataclass(frozen=True)
class ExplanationCase:
    """A model of two classes, and rows of which Shapley values are found."""

    name: str
    about: str
    rows: int
    columns: int
    explained: int
    settings: BoostingSettings
    bars: tuple[Bar, ...]
    metric: str = "gap"
    libraries: tuple[str, ...] = (HEDGEROW, "xgboost-leaf", "lightgbm")
    turns: int = 3
    quick: bool = False

    def quick_version(self) -> "ExplanationCase":
        """A small version that shows that all works, not who is faster."""
        settings = replace(self.settings, n_trees=5)
        return replace(self, rows=2_000, explained=200, settings=settings, turns=1, quick=True)


EXPLANATION_CASES = (
    ExplanationCase(
        name="shap",
        about="Shapley values of 5,000 rows × 28 columns, 100 trees of 63 leaves",
        rows=100_000,
        columns=28,
        explained=5_000,
        settings=BoostingSettings(n_trees=100, max_leaves=63),
        bars=(
            Bar("explain", "times", 0.25, ("xgboost-leaf",)),
            Bar("explain", "times", 0.15, ("lightgbm",)),
        ),
    ),
)


# How a library explains rows, as an array with the base value in the last column, and the scores.
Floats = NDArray[Any]
Explainer = tuple[Callable[[], Any], Callable[[Any], Floats], Callable[[], Floats]]


def _hedgerow(model: Any, X: Floats) -> Explainer:
    import hedgerow

    return (
        lambda: hedgerow.explain.shap_values(model, X),
        lambda explained: np.column_stack([explained.values, explained.base_values]),
        lambda: model.decision_function(X),
    )


def _xgboost(model: Any, X: Floats) -> Explainer:
    import xgboost

    return (
        lambda: model.predict(xgboost.DMatrix(X), pred_contribs=True),
        np.asarray,
        lambda: model.predict(xgboost.DMatrix(X), output_margin=True),
    )


def _lightgbm(model: Any, X: Floats) -> Explainer:
    threads = available_cores()
    return (
        lambda: model.predict(X, pred_contrib=True, num_threads=threads),
        np.asarray,
        lambda: model.predict(X, raw_score=True),
    )


EXPLAINERS = {HEDGEROW: _hedgerow, "xgboost-leaf": _xgboost, "lightgbm": _lightgbm}


class ExplanationBench:
    """One library's model and the rows to explain; lives in a worker."""

    def __init__(self, case: ExplanationCase, library: str) -> None:
        fitted: Any = adapter(library, case.settings)(case.settings, available_cores())
        X, y = binary_table(case.rows + case.explained, case.columns, seed=0)
        fitted.fit(X[: case.rows], y[: case.rows])
        explainer = EXPLAINERS[library](fitted.model, X[case.rows :])
        self._explain, self._as_array, self._scores = explainer
        self._explained = self._explain()

    def explain(self) -> float:
        """Seconds until the values are there."""
        return seconds_of(self._explain)

    def gap(self) -> float:
        """How far values and base value are from the score, at most."""
        total = self._as_array(self._explained).sum(axis=1)
        return float(np.abs(total - self._scores()).max())


class ExplanationEntrant(Entrant):
    """A library that explains."""

    def __init__(self, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self._seconds: list[float] = []

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        self._seconds.append(self.worker.call("explain"))

    def finish(self) -> None:
        self.result.explain = Timing(tuple(self._seconds), available_cores())
        self.result.score = self.worker.call("gap")


def run_explanations(case: ExplanationCase, libraries: Sequence[str], say: Say) -> list[Result]:
    """Measure some libraries."""

    def worker(library: str) -> Worker:
        return Worker(partial(ExplanationBench, case), library)

    return take_turns(case.name, case.turns, libraries, worker, ExplanationEntrant, say)
