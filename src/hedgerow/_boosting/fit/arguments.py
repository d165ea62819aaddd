"""The arguments of a fit: those of `fit` itself, and the estimator's parameters as values."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hedgerow._estimator import TableEstimator, seed_of
from hedgerow._threads import effective_n_jobs
from hedgerow.exceptions import ParameterError

AUTO = "auto"

# The values of "auto" if the number of rounds is given, or a search is not possible.
AUTO_DEFAULTS: Mapping[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "max_leaves": 31,
    "min_samples_leaf": 20,
    "reg_lambda": 1.0,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
}


@dataclass(frozen=True)
class FitArguments:
    """The arguments of `fit`, unchecked."""

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    eval_set: Any = None
    eval_names: Any = None
    callbacks: Any = None
    init_model: Any = None
    checkpoint: Any = None
    checkpoint_every: Any = 10


@dataclass(frozen=True)
class Settings:
    """The parameters of one fit.

    Attributes
    ----------
    estimator : estimator
        The user's estimator, whose parameters may be "auto".
    params : estimator
        A copy of it with values in place of "auto".
    seed : int
        The seed of all random numbers.
    n_threads : int
        The number of threads.
    """

    estimator: TableEstimator
    params: TableEstimator
    seed: int
    n_threads: int

    @classmethod
    def of(cls, estimator: TableEstimator) -> Settings:
        """Resolve the parameters of an estimator, which have been checked one by one."""
        if estimator.multi_strategy == "vector" and estimator.splitter == "exact":
            raise ParameterError(
                "multi_strategy='vector' needs splitter='hist': exact splits are found for one "
                "output at a time."
            )
        seed, n_threads = seed_of(estimator.random_state), effective_n_jobs(estimator.n_jobs)
        return cls(estimator, resolve_auto(estimator), seed, n_threads)

    @property
    def is_balanced(self) -> bool:
        """Whether each round samples equally many rows of every class."""
        return bool(self.params.sampling == "balanced")

    def with_chosen(self, chosen: Mapping[str, Any]) -> Settings:
        """Return the settings with other values in place of "auto"."""
        return replace(self, params=resolve_auto(self.estimator, chosen))


def is_auto(value: Any) -> bool:
    """Return whether the library chooses the value of a parameter."""
    return isinstance(value, str) and value == AUTO


def resolve_auto(estimator: TableEstimator, chosen: Mapping[str, Any] = AUTO_DEFAULTS) -> Any:
    """Return a copy of an estimator with the chosen values in place of "auto".

    Parameters that were set to "auto" after the choice was made get their defaults.
    """
    resolved = copy.copy(estimator)
    for name, value in {**AUTO_DEFAULTS, **chosen}.items():
        if is_auto(getattr(resolved, name)):
            setattr(resolved, name, value)
    return resolved


def as_fitted(estimator: TableEstimator) -> Any:
    """Return a copy of a fitted estimator with the parameter values of its fit."""
    choice = getattr(estimator, "auto_", None)
    return resolve_auto(estimator, AUTO_DEFAULTS if choice is None else choice.parameters)
