"""Links: what raw scores mean as predictions and as probabilities."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hedgerow import _native
from hedgerow._types import Floats

Link = Literal["identity", "log", "sigmoid", "half_sigmoid", "margin", "softmax", "sorted"]


def prediction_of(scores: Floats, link: Link, n_threads: int = 1) -> Floats:
    """Return what raw scores (n, K) mean: a number a row, or (n, K) of them if K is more than 1."""
    prediction = scores[:, 0].copy() if scores.shape[1] == 1 else scores.copy()
    if link == "softmax":
        _native.softmax_inplace(prediction, n_threads)
    elif link in ("sigmoid", "half_sigmoid"):
        prediction *= 1.0 if link == "sigmoid" else 2.0
        _native.sigmoid_inplace(prediction, n_threads)
    elif link == "log":
        _native.exp_inplace(prediction.reshape(-1))
    elif link == "margin":  # ±1 become 1 and 0, so that ½ lies between the classes
        prediction = 0.5 * (prediction + 1.0)
    elif link == "sorted":
        prediction.sort(axis=1)
    return prediction


def class_probabilities(scores: Floats, link: Link, n_threads: int = 1) -> Floats:
    """Return the probability of each class, (n, K), from scores (n, 1) or (n, K).

    For multilabel y it is P(class 1) of each label.
    """
    return both_classes(prediction_of(scores, link, n_threads))


def both_classes(p: Floats) -> Floats:
    """Return (n, 2) for the probabilities (n,) of class 1 of two, and any others as they are."""
    if p.ndim == 2:
        return p
    both = np.empty((len(p), 2))
    both[:, 1] = p
    np.subtract(1.0, p, out=both[:, 0])
    return both
