"""How rows are held out to judge a model by: a part of them, in folds, or those of another file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from hedgerow._cli.dataset import LabeledDataset
from hedgerow._cli.output import count
from hedgerow._data.schema import listed
from hedgerow.exceptions import DataError

_WAY_OUT = "With --test-size 0 all rows are trained on."


def part_rows(
    dataset: LabeledDataset, part: float, seed: int, *, stratify: bool
) -> tuple[LabeledDataset, LabeledDataset]:
    """Return rows to fit to and rows to hold out.

    Rows of a query or a group stay together, and classes have the same part in both.
    """
    rows, together = np.arange(dataset.n_rows), dataset.keep_together
    if together is not None:
        _require_parts(pd.Series(together).nunique(), "group", part, at_least=1)
        splitter = GroupShuffleSplit(1, test_size=part, random_state=seed)
        train, test = next(splitter.split(rows, groups=together))
    else:
        n_classes = _count_classes(dataset.y) if stratify else 1
        _require_parts(len(rows), "row", part, at_least=n_classes)
        classes = dataset.y if stratify else None
        train, test = train_test_split(rows, test_size=part, random_state=seed, stratify=classes)
    return dataset.take(np.sort(train)), dataset.take(np.sort(test))


def _require_parts(number: int, thing: str, part: float, *, at_least: int) -> None:
    """Refuse a number of rows or groups of which one part would have too few."""
    held_out = math.ceil(part * number)  # as scikit-learn rounds
    if min(held_out, number - held_out) < at_least:
        raise DataError(
            f"rows cannot be held out: of {count(number, thing)}, {number - held_out:,} would "
            f"train and {held_out:,} judge, and both need {at_least} or more. {_WAY_OUT}"
        )


def _count_classes(y: Any) -> int:
    """Return how many classes there are; each needs two rows, to be in both parts."""
    sizes = pd.Series(y).value_counts()
    rare = sizes[sizes < 2].index
    if len(rare):
        have = f"{len(rare):,} classes have" if len(rare) > 1 else "a class has"
        raise DataError(
            f"rows cannot be held out: {have} one row only ({listed(list(map(str, rare)), 3)}). "
            + _WAY_OUT
        )
    return len(sizes)


def folds(n_folds: int, dataset: LabeledDataset, seed: int, *, stratify: bool) -> Any:
    """Return a splitter of shuffled rows, or of whole groups or queries."""
    together = dataset.keep_together
    if together is not None:
        _require_folds(n_folds, pd.Series(together).nunique(), "there are fewer groups")
    elif stratify:
        largest = pd.Series(dataset.y).value_counts().max()
        _require_folds(n_folds, largest, "every class has fewer rows")
    else:
        _require_folds(n_folds, dataset.n_rows, "there are fewer rows")
    shuffled = {"shuffle": True, "random_state": seed}
    if together is not None:
        return StratifiedGroupKFold(n_folds, **shuffled) if stratify else GroupKFold(n_folds)
    return StratifiedKFold(n_folds, **shuffled) if stratify else KFold(n_folds, **shuffled)


def _require_folds(n_folds: int, most: int, otherwise: str) -> None:
    if n_folds > most:
        raise DataError(f"--cv {n_folds}: {otherwise} ({most}).")
