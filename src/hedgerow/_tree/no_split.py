"""A warning for trees and forests whose limits allow no split."""

from __future__ import annotations

from typing import Any

from hedgerow._estimator import Estimator
from hedgerow._params import parameters_of
from hedgerow._warning import warn_user
from hedgerow.exceptions import NoSplitWarning

LIMITS = (
    *("min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf"),
    "min_impurity_decrease",
)


def warn_if_never_split(estimator: Estimator, features: Any, n_rows: int) -> None:
    """Warn if no node tests a feature and a limit that the user has set is in force.

    Without limits, a tree of one leaf follows from the data: equal targets, or equal rows.
    """
    if (features >= 0).any():
        return
    limits = [
        f"{parameter.name}={value!r}"
        for parameter in parameters_of(estimator)
        if parameter.name in LIMITS
        and not parameter.is_default(value := getattr(estimator, parameter.name))
    ]
    if limits:
        warn_user(
            f"No split of {n_rows} rows is allowed by {' and '.join(limits)}, so every row gets "
            "the same prediction.",
            NoSplitWarning,
            about="splits",
        )
