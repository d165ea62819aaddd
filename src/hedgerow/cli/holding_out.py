"""How rows are held out to judge a model by: a part of them, in folds, or those of another file."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from hedgerow.cli.examples import Examples
from hedgerow.exceptions import DataError


def part_rows(
    examples: Examples, part: float, seed: int, *, stratify: bool
) -> tuple[Examples, Examples]:
    """Return rows to fit to and rows to hold out.

    Rows of a query or a group stay together, and classes have the same part in both.
    """
    rows = np.arange(examples.n_rows)
    try:
        if examples.keep_together is not None:
            splitter = GroupShuffleSplit(1, test_size=part, random_state=seed)
            train, test = next(splitter.split(rows, groups=examples.keep_together))
        else:
            classes = examples.y if stratify else None
            train, test = train_test_split(
                rows, test_size=part, random_state=seed, stratify=classes
            )
    except ValueError as error:
        raise DataError(
            f"rows cannot be held out: {error} With --test-size 0 all rows are trained on."
        ) from error
    return examples.take(np.sort(train)), examples.take(np.sort(test))


def folds(n_folds: int, examples: Examples, seed: int, *, stratify: bool) -> Any:
    """Return a splitter of shuffled rows, or of whole groups or queries."""
    shuffled = {"shuffle": True, "random_state": seed}
    if examples.qid is not None or (examples.groups is not None and not stratify):
        return GroupKFold(n_folds)
    if examples.groups is not None:
        return StratifiedGroupKFold(n_folds, **shuffled)
    return StratifiedKFold(n_folds, **shuffled) if stratify else KFold(n_folds, **shuffled)
