"""Fitting an estimator to many training sets: what it predicts on the same test rows each time.

Training sets are drawn from a table, or made by a function of the user's. Each repeat has a seed
of its own, derived from the number of the repeat, so that results do not depend on who computes
what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import resample

from hedgerow._contract import SklearnEstimator
from hedgerow.exceptions import DataError, ParameterError

Draw = Callable[[Generator, int], tuple[Any, ...]]
TrainingSet = tuple[Any, Any]
MakeTrainingSet = Callable[[SeedSequence], TrainingSet]
MOST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Resampled:
    """Training sets drawn from the rows of a table."""

    X: Any
    y: Any
    n_rows: int
    replace: bool

    def __call__(self, seed: SeedSequence) -> TrainingSet:
        """Draw rows."""
        drawn = resample(
            self.X,
            self.y,
            replace=self.replace,
            n_samples=self.n_rows,
            random_state=_integer(seed),
        )
        return drawn[0], drawn[1]


@dataclass(frozen=True)
class Drawn:
    """Training sets made by a function: independent of each other."""

    draw: Draw
    n_rows: int

    def __call__(self, seed: SeedSequence) -> TrainingSet:
        """Make a set, leaving out what is known of its truth."""
        X, y, _ = drawn_rows(self.draw, seed, self.n_rows)
        return X, y


def drawn_rows(draw: Draw, seed: SeedSequence, n_rows: int) -> tuple[Any, Any, Any]:
    """Call a user's function; X, y, and the truth or None."""
    returned = draw(default_rng(seed), n_rows)
    if not isinstance(returned, tuple) or len(returned) not in (2, 3):
        raise ParameterError(
            f"draw: the function must return (X, y) or (X, y, truth), not {_described(returned)}."
        )
    X, y, truth = returned if len(returned) == 3 else (*returned, None)
    if len(y) != n_rows:
        raise DataError(f"draw: the function was asked for {n_rows} rows and gave {len(y)}.")
    return X, y, truth


def predictions(
    estimator: SklearnEstimator,
    training_set: MakeTrainingSet,
    seeds: list[SeedSequence],
    X_test: Any,
    n_jobs: int | None,
) -> NDArray[Any]:
    """Fit a clone to each training set; what each predicts, of shape (n_repeats, n_test)."""
    fits = (delayed(_fit_and_predict)(estimator, training_set, seed, X_test) for seed in seeds)
    return np.stack(Parallel(n_jobs=n_jobs)(fits))


def _fit_and_predict(
    estimator: SklearnEstimator, training_set: MakeTrainingSet, seed: SeedSequence, X_test: Any
) -> NDArray[Any]:
    of_rows, of_estimator = seed.spawn(2)
    X, y = training_set(of_rows)
    predicted = np.asarray(seeded_clone(estimator, of_estimator).fit(X, y).predict(X_test))
    if predicted.ndim != 1:
        raise ParameterError(
            f"estimator: {type(estimator).__name__} predicts an array of shape {predicted.shape}; "
            "one number or class a row is needed."
        )
    return predicted


def seeded_clone(estimator: SklearnEstimator, seed: SeedSequence) -> Any:
    """Return a clone whose every random_state is a number drawn from the seed."""
    copy = clone(estimator)
    names = sorted(copy.get_params(deep=True))
    random = default_rng(seed)
    states = {
        name: int(random.integers(MOST_SEED))
        for name in names
        if name == "random_state" or name.endswith("__random_state")
    }
    return copy.set_params(**states)


def _integer(seed: SeedSequence) -> int:
    return int(default_rng(seed).integers(MOST_SEED))


def _described(returned: Any) -> str:
    if isinstance(returned, tuple):
        return f"a tuple of {len(returned)}"
    return type(returned).__name__
