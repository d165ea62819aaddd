"""`class_weight` → a weight for each class, or for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import sum_of
from hedgerow._data.target import require_moderate
from hedgerow._params import NOT_NEGATIVE
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


def class_weight_vector(
    class_weight: Any, classes: NDArray[Any], index: NDArray[Any], weights: Floats | None
) -> Floats:
    """Return a weight for each class, in the order of `classes`; `index` is each row's class."""
    if isinstance(class_weight, str):  # "balanced"
        totals = np.bincount(index, weights, minlength=len(classes))
        # A class without weight has no effect, whatever its factor.
        return sum_of(totals) / (len(classes) * np.where(totals > 0.0, totals, 1.0))
    by_class = np.ones(len(classes))
    index_of = {label: i for i, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in index_of]
    if unknown and len(class_weight) - len(unknown) < len(classes):
        raise ParameterError(
            f"class_weight names {unknown!r}; y has the classes {list(index_of)!r}."
        )
    for label, weight in class_weight.items():
        if weight not in NOT_NEGATIVE:
            raise ParameterError(f"class_weight[{label!r}]={weight!r} must be a number >= 0.")
        if label in index_of:
            by_class[index_of[label]] = weight
    return by_class


def weigh_by_class(
    class_weight: Any,
    classes: Sequence[NDArray[Any]],
    index: NDArray[np.int64],
    weights: Floats | None,
) -> Floats | None:
    """Return row weights times the weights of the rows' classes in every output.

    `class_weight` is "balanced", a dict, a list with a dict for each output, or None.
    """
    if class_weight is None:
        return weights
    by_output = class_weight if isinstance(class_weight, list) else [class_weight] * len(classes)
    if len(by_output) != len(classes):
        raise ParameterError(
            f"class_weight has {len(by_output)} dicts; y has {len(classes)} outputs."
        )
    product = np.ones(len(index)) if weights is None else weights
    for each, of_output, column in zip(by_output, classes, index.T, strict=True):
        product = product * class_weight_vector(each, of_output, column, weights)[column]
    if not product.any():
        raise ParameterError(f"class_weight={class_weight!r} leaves no row with a positive weight.")
    require_moderate(product, "class_weight times sample_weight")
    return product
