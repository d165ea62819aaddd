"""Splits of a dataset: into a training and a test set, or into folds."""

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
from hedgerow._data.names import listed
from hedgerow.exceptions import DataError

_HINT = "--test-size 0 trains on all rows."


def split_rows(
    dataset: LabeledDataset, test_size: float, seed: int, *, stratify: bool
) -> tuple[LabeledDataset, LabeledDataset]:
    """Return a training and a test set.

    Rows of a query or a group stay together. Classes are stratified.
    """
    rows, together = np.arange(dataset.n_rows), dataset.keep_together
    if together is not None:
        _require_size(pd.Series(together).nunique(), "group", test_size, at_least=1)
        splitter = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
        train, test = next(splitter.split(rows, groups=together))
    else:
        n_classes = _count_classes(dataset.y) if stratify else 1
        _require_size(len(rows), "row", test_size, at_least=n_classes)
        classes = dataset.y if stratify else None
        train, test = train_test_split(
            rows, test_size=test_size, random_state=seed, stratify=classes
        )
    return dataset.take(np.sort(train)), dataset.take(np.sort(test))


def _require_size(number: int, thing: str, test_size: float, *, at_least: int) -> None:
    """Refuse a number of rows or groups that is too small to be split."""
    n_test = math.ceil(test_size * number)  # as scikit-learn rounds
    if min(n_test, number - n_test) < at_least:
        raise DataError(
            f"{count(number, thing)} cannot be split: the training set would have "
            f"{number - n_test:,} and the test set {n_test:,}, and both need {at_least} or more. "
            + _HINT
        )


def _count_classes(y: Any) -> int:
    """Return the number of classes; each needs two rows, to be in both sets."""
    sizes = pd.Series(y).value_counts()
    rare = sizes[sizes < 2].index
    if len(rare):
        have = f"{len(rare):,} classes have" if len(rare) > 1 else "a class has"
        raise DataError(
            f"no stratified test set is possible: {have} only one row "
            f"({listed(list(map(str, rare)), 3)}). {_HINT}"
        )
    return len(sizes)


def folds(n_folds: int, dataset: LabeledDataset, seed: int, *, stratify: bool) -> Any:
    """Return a splitter of shuffled rows, or of whole groups or queries."""
    together, shuffled = dataset.keep_together, {"shuffle": True, "random_state": seed}
    if together is not None:
        most, otherwise = pd.Series(together).nunique(), "there are fewer groups"
    elif stratify:
        most, otherwise = pd.Series(dataset.y).value_counts().max(), "every class has fewer rows"
    else:
        most, otherwise = dataset.n_rows, "there are fewer rows"
    if n_folds > most:
        raise DataError(f"--cv {n_folds}: {otherwise} ({most}).")
    if together is not None:
        return StratifiedGroupKFold(n_folds, **shuffled) if stratify else GroupKFold(n_folds)
    return StratifiedKFold(n_folds, **shuffled) if stratify else KFold(n_folds, **shuffled)
