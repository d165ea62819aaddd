"""The door for a user's own loss, whose results are checked before the trainer sees them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hedgerow._boosting.losses.base import Loss
from hedgerow._links import Link
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CustomLoss(Loss):
    """A user's function (y, raw_scores[, sample_weight]) → (gradient, hessian).

    Its scores start at the constant at which the gradients of all rows add up to 0, where the loss
    is least if its hessian is not negative.
    """

    name = "custom"

    def __init__(
        self, function: Callable[..., Any], link: Link, n_outputs: int, metric: str
    ) -> None:
        self.function, self.takes_weights = with_weights(function)
        self.link = link
        self.n_outputs = n_outputs
        self.metric = metric

    def of_targets(self, n_targets: int) -> CustomLoss:
        """Return the same loss for several columns of y, which the function gets all at once."""
        several = copy.copy(self)
        several.n_outputs = several.n_targets = n_targets
        return several

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants at which the gradients add up to 0; 0 where they do everywhere."""
        from hedgerow._boosting.losses.formula.best_constant import Total, level_constants

        n_rows = target.shape[-1]

        def total(constants: Floats) -> Total:
            scores = np.repeat(constants[:, np.newaxis], n_rows, axis=1)
            try:
                with np.errstate(all="ignore"):  # far out, a function may overflow
                    gradient, hessian = self.gradients(target, scores, weights)
            except ParameterError:
                if not constants.any():
                    raise
                nowhere = np.full(self.n_outputs, np.nan)
                return Total(np.inf, nowhere, nowhere, nowhere)
            sums = gradient.sum(axis=1), hessian.sum(axis=1), np.abs(gradient).sum(axis=1)
            return Total(0.0, *sums)

        return level_constants(total, self.n_outputs)

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Call the function on scores (K, n); its checked gradient and hessian, both (K, n)."""
        raw_scores = scores[0].copy() if self.n_outputs == 1 else scores.T.copy()
        returned = self.function(read_only(target.T), raw_scores, read_only(weights))
        gradient, hessian = _checked_pair(returned, raw_scores.shape)
        if weights is not None and not self.takes_weights:
            gradient, hessian = gradient * weights, hessian * weights
        return gradient, hessian


def read_only(array: Floats | None) -> Floats | None:
    """Return a view that a user's function cannot write to: the array may be the caller's own."""
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def with_weights(
    function: Callable[..., Any], argument: str = "loss"
) -> tuple[Callable[[Any, Any, Any], Any], bool]:
    """Return a user's function as one of three arguments, and whether it uses the third.

    The third is sample_weight, which a function may take by that name, by position, or not at all.
    """
    parameters = _parameters(function)
    _require_two_arguments(function, parameters, argument)
    if "sample_weight" in parameters:
        return lambda y, scores, weights: function(y, scores, sample_weight=weights), True
    required = [p for p in parameters.values() if p.default is p.empty and p.kind in BY_POSITION]
    if len(required) >= 3:
        return function, True
    return lambda y, scores, _: function(y, scores), False


def _require_two_arguments(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], argument: str
) -> None:
    several = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values())
    takes = sum(p.kind in BY_POSITION for p in parameters.values())
    if parameters and not several and takes < 2:
        name = getattr(function, "__name__", function)
        instance = f" Write {name}(…), an instance." if isinstance(function, type) else ""
        raise ParameterError(
            f"{argument}: {name!r} takes {takes} argument(s), but is called as (y, scores or "
            f"prediction[, sample_weight]).{instance}"
        )


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C tell nothing about themselves
        return {}


def _checked_pair(returned: Any, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ParameterError(
            f"loss: the function must return (gradient, hessian), not {type(returned).__name__}."
        )
    gradient = _checked("gradient", returned[0], shape)
    hessian = _checked("hessian", returned[1], shape)
    if hessian.min() < 0.0:
        raise ParameterError("loss: the function returned a negative hessian.")
    return gradient, hessian


def _checked(what: str, returned: Any, shape: tuple[int, ...]) -> Floats:
    """Return the array as contiguous float64 of shape (K, n), or say what is wrong with it."""
    array = np.asarray(returned)
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"loss: the function's {what} has dtype {array.dtype}, not numbers.")
    if array.shape != shape:
        raise ParameterError(
            f"loss: the function's {what} has shape {array.shape}; raw_scores has {shape}."
        )
    if not np.isfinite(array).all():
        raise ParameterError(f"loss: the function's {what} has NaN or infinite values.")
    by_output = array.reshape(1, -1) if array.ndim == 1 else array.T
    return np.ascontiguousarray(by_output, dtype=np.float64)
