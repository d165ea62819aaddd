"""Explanations of a classifier as those of its positive class.

With two classes, models score the second one; the first one's log-odds are their negative, and its
probability is the complement. With more, each class has its own score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hedgerow.explain import PartialDependence, ShapValues


def mirror_of(unit: str) -> float:
    """Return the sum of the scores of two classes."""
    return 1.0 if unit == "probability" else 0.0


def shap_of_class(explained: ShapValues, classes: Sequence[str], k: int) -> ShapValues:
    """Return the Shapley values of the score of class k, if the model has one."""
    n_outputs = len(explained.output_names)
    if n_outputs == 1 and len(classes) == 2 and k == 0:
        return replace(
            explained,
            values=-explained.values,
            base_values=mirror_of(explained.unit) - explained.base_values,
            output_names=(classes[0],),
        )
    if n_outputs == 1 or n_outputs != len(classes):
        return explained
    return replace(
        explained,
        values=explained.values[..., k],
        base_values=explained.base_values[:, k],
        output_names=(explained.output_names[k],),
    )


def effect_of_class(result: PartialDependence, classes: Sequence[str], k: int) -> PartialDependence:
    """Return a partial dependence of class k alone of two, or with its curve first."""
    assert result.average is not None
    n_outputs = len(result.output_names)
    if n_outputs == 1 and len(classes) == 2 and k == 0:
        mean = mirror_of(result.unit) - result.average
        return replace(result, average=mean, output_names=(classes[0],))
    if n_outputs == 1 or n_outputs != len(classes):
        return result
    order = [k, *np.delete(np.arange(n_outputs), k).tolist()]
    names = tuple(result.output_names[place] for place in order)
    return replace(result, average=result.average[..., order], output_names=names)
