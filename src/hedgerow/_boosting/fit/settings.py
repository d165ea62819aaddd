"""What the parameters of an estimator come to in one fit: numbers for "auto", a seed, threads."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hedgerow._estimator import TableEstimator, seed_of
from hedgerow._threads import effective_n_jobs
from hedgerow.exceptions import ParameterError

AUTO = "auto"

# What "auto" means where the number of rounds is given, and nothing is tried.
PLAIN: Mapping[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "max_leaves": 31,
    "min_samples_leaf": 20,
    "reg_lambda": 1.0,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
}


def is_auto(value: Any) -> bool:
    """Tell whether a parameter is left to the library."""
    return isinstance(value, str) and value == AUTO


def settled(estimator: TableEstimator, chosen: Mapping[str, Any] = PLAIN) -> Any:
    """Return a copy of the estimator with numbers where parameters are "auto".

    They are those chosen; plain ones for parameters that became "auto" after the choice was made.
    """
    copied = copy.copy(estimator)
    for name, value in {**PLAIN, **chosen}.items():
        if is_auto(getattr(copied, name)):
            setattr(copied, name, value)
    return copied


def as_fitted(estimator: TableEstimator) -> Any:
    """Return a copy of a fitted estimator with the numbers that its fit has used."""
    chosen = getattr(estimator, "auto_", None)
    return settled(estimator, PLAIN if chosen is None else chosen.parameters)


@dataclass(frozen=True)
class Settings:
    """What one fit is to do.

    Attributes
    ----------
    asked : estimator
        The user's own, in which parameters may be "auto".
    estimator : estimator
        A copy of it that has numbers instead.
    seed : int
        The key of all random draws.
    n_threads : int
        Threads to use.
    """

    asked: Any
    estimator: TableEstimator
    seed: int
    n_threads: int

    @classmethod
    def of(cls, asked: Any) -> Settings:
        """Read an estimator's parameters, each of which has been checked by itself."""
        _require_histograms(asked)
        seed = seed_of(asked.random_state)
        return cls(asked, settled(asked), seed, effective_n_jobs(asked.n_jobs))

    @property
    def draws_balanced(self) -> bool:
        """Whether rounds draw as many rows of each class, and the model is of such a balance."""
        return bool(self.estimator.sampling == "balanced")

    def with_numbers(self, chosen: Mapping[str, Any]) -> Settings:
        """Return the settings with other numbers for what is "auto"."""
        return replace(self, estimator=settled(self.asked, chosen))


def _require_histograms(estimator: TableEstimator) -> None:
    if estimator.multi_strategy == "vector" and estimator.splitter == "exact":
        raise ParameterError(
            "multi_strategy='vector' needs splitter='hist': exact splits are found for one output "
            "at a time."
        )
