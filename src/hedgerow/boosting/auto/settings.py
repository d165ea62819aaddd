"""The parameters that may be "auto", and the numbers that stand for it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

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


def settled(estimator: Any, chosen: Mapping[str, Any] = PLAIN) -> Any:
    """Return a copy of the estimator with numbers where parameters are "auto"."""
    copied = copy.copy(estimator)
    for name, value in chosen.items():
        if is_auto(getattr(copied, name)):
            setattr(copied, name, value)
    return copied


def as_fitted(estimator: Any) -> Any:
    """Return a copy of a fitted estimator with the numbers that its fit has used."""
    chosen = getattr(estimator, "auto_", None)
    return settled(estimator, PLAIN if chosen is None else chosen.parameters)
