"""Samples with the same number of rows from each class, for imbalanced targets.

The rows of a class are sampled with replacement. "balanced" divides the size of a bootstrap sample
among the classes; "undersample" takes as many rows of each class as the rarest class has (balanced
random forests: Chen, Liaw and Breiman, 2004), and "oversample" as many as the most frequent class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._tree.cart import BootstrapSamples
from hedgerow.exceptions import DataError, ParameterError

CLASS_SAMPLES = ("balanced", "undersample", "oversample")
_MOST_REPEATS = 1 << 15  # a row may be in a sample 2¹⁶ − 1 times


def samples_by_class(bootstrap: Any) -> bool:
    """Return whether a value of `bootstrap` samples each class by itself."""
    return isinstance(bootstrap, str)


def with_classes(
    sampling: BootstrapSamples, bootstrap: str, outputs: Outputs, y: NDArray[Any]
) -> BootstrapSamples:
    """Return samples that draw from the classes of y, which are class numbers (n_rows, 1)."""
    assert isinstance(outputs, ClassOutputs)  # regressors have no such values of `bootstrap`
    if not outputs.is_single:
        raise ParameterError(
            f"bootstrap={bootstrap!r} supports one output, but y has {len(outputs.classes)}."
        )
    row_class = y[:, 0].astype(np.uint16)
    counts = np.bincount(row_class, minlength=len(outputs.classes[0]))
    if not counts.all():
        without = outputs.classes[0].tolist()[counts.argmin()]
        raise DataError(
            f"bootstrap={bootstrap!r} samples rows of every class, but all rows of class "
            f"{without!r} have weight 0. Use bootstrap=True, or drop the class."
        )
    draws = _class_draws(bootstrap, counts, sampling.n_draws)
    repeats = draws / counts
    if repeats.max() > _MOST_REPEATS:
        rarest = outputs.classes[0][repeats.argmax()]
        raise DataError(
            f"bootstrap={bootstrap!r} would sample each row of class {rarest!r} about "
            f"{repeats.max():.0f} times; at most {_MOST_REPEATS} are possible. Use 'undersample'."
        )
    return replace(
        sampling, n_draws=int(draws.sum()), class_draws=tuple(draws.tolist()), row_class=row_class
    )


def have_same_classes(sampling: BootstrapSamples, other: BootstrapSamples) -> bool:
    """Return whether two samplings draw from the same rows of each class."""
    return _are_same(sampling.row_class, other.row_class)


def draws_from_same_rows(sampling: BootstrapSamples, other: BootstrapSamples) -> bool:
    """Return whether the same rows have weight, so that two samplings draw from them."""
    return _are_same(sampling.rows, other.rows)


def _are_same(mine: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
    return mine is theirs if mine is None or theirs is None else np.array_equal(mine, theirs)


def _class_draws(
    bootstrap: str, counts: NDArray[np.intp], n_draws: int
) -> NDArray[np.integer[Any]]:
    """Return the number of rows to draw from each class."""
    n_classes = len(counts)
    if bootstrap == "undersample":
        return np.full(n_classes, counts.min())
    if bootstrap == "oversample":
        return np.full(n_classes, counts.max())
    if n_draws < n_classes:
        raise ParameterError(
            f"max_samples: {n_draws} rows are fewer than the {n_classes} classes, from each of "
            "which bootstrap='balanced' samples at least one."
        )
    return n_draws // n_classes + (np.arange(n_classes) < n_draws % n_classes)
