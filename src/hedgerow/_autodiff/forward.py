"""`derivatives`: the value and derivatives of a function of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hedgerow._autodiff.dual import Directions, Dual, TooWideError, spread
from hedgerow._types import Floats, Indices

Function = Callable[[Any], Any]


class Derivatives(NamedTuple):
    """The value of a function of n rows of K scores, and its derivatives."""

    value: Any
    first: Floats
    second: Floats


def derivatives(function: Function, scores: Floats, by: int | None = None) -> Derivatives:
    """Differentiate a function of scores; NaN and infinities raise no warnings.

    Parameters
    ----------
    function : callable
        Takes scores and returns an array; it may be called several times if there are many scores.
    scores : array of shape (n,) or (n, K)
        The scores at which to differentiate.
    by : int, optional
        The only score to differentiate with respect to; K is then 1 in the result.

    Returns
    -------
    Derivatives
        The function's result; first and second derivatives with respect to each score, both of
        shape (K, …). The second derivatives are the diagonal.
    """
    n_outputs = 1 if scores.ndim == 1 else scores.shape[1]
    outputs = np.arange(n_outputs) if by is None else np.array([by])
    at_once = len(outputs)
    while True:
        try:
            with np.errstate(all="ignore"):
                return _in_passes(function, scores, outputs, at_once)
        except TooWideError:
            at_once = -(-at_once // 2)


def _in_passes(function: Function, scores: Floats, outputs: Indices, at_once: int) -> Derivatives:
    passes = [
        _one_pass(function, scores, outputs[k : k + at_once])
        for k in range(0, len(outputs), at_once)
    ]
    if len(passes) == 1:
        return passes[0]
    first, second = (np.concatenate(parts) for parts in list(zip(*passes, strict=True))[1:])
    return Derivatives(passes[0].value, first, second)


def _one_pass(function: Function, scores: Floats, outputs: Indices) -> Derivatives:
    own: Indices = np.array(0) if scores.ndim == 1 else np.arange(scores.shape[1])
    directions = Directions(len(scores), own.size, outputs)
    returned = function(Dual(scores, 1.0, None, own, directions))
    if not isinstance(returned, Dual):
        nothing = np.zeros((len(directions.outputs), *np.shape(returned)))
        return Derivatives(returned, nothing, nothing)
    shape = (len(directions.outputs), *returned.shape)
    by_all = returned if directions.n_outputs == 1 else spread(returned)
    return Derivatives(returned.value, _full(by_all.first, shape), _full(by_all.second, shape))


def _full(derivative: Any, shape: tuple[int, ...]) -> Floats:
    full = np.broadcast_to(0.0 if derivative is None else derivative, shape)
    return np.ascontiguousarray(full)
