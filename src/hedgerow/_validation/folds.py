"""The training rows and holdout rows of each fold, from a splitter of scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from hedgerow._types import Indices
from hedgerow.exceptions import DataError, ParameterError

Split = tuple[Indices, Indices]


def split_rows(cv: Any, X: Any, y: Any, groups: Any, *, n_rows: int, stratify: bool) -> list[Split]:
    """Return the rows of each fold: training set and holdout."""
    if isinstance(cv, type):
        raise ParameterError(f"cv={cv.__name__} is a class; write cv={cv.__name__}().")
    target = None if y is None else np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    everything = np.arange(n_rows)
    try:
        splitter = _splitter(cv, target, stratify, keep_groups=groups is not None)
        splits = [
            (everything[train], everything[holdout])
            for train, holdout in splitter.split(X, target, groups)
        ]
    except (ValueError, IndexError) as error:
        raise ParameterError(f"cv: {error}") from error
    if not splits:
        raise ParameterError(f"cv={cv!r} has no folds.")
    for number, split in enumerate(splits, 1):
        if not all(map(len, split)):
            raise ParameterError(f"cv: the training set or the holdout of fold {number} is empty.")
    return splits


def _splitter(cv: Any, target: Any, stratify: bool, *, keep_groups: bool) -> Any:
    """Return scikit-learn's splitter for `cv`; for a number, one that keeps groups together."""
    splitter = check_cv(cv, target, classifier=stratify)
    is_number = cv is None or isinstance(cv, int | np.integer)
    if not (keep_groups and is_number):
        return splitter
    kind = StratifiedGroupKFold if isinstance(splitter, StratifiedKFold) else GroupKFold
    return kind(splitter.get_n_splits())


def require_weights(splits: list[Split], weights: NDArray[np.float64] | None) -> None:
    """Refuse weights that are all zero in a training set or a holdout."""
    if weights is None:
        return
    for number, (train, holdout) in enumerate(splits, 1):
        if not (weights[train].any() and weights[holdout].any()):
            raise DataError(
                f"sample_weight is zero in the whole training set or holdout of fold {number}."
            )
