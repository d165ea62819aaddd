"""User-defined losses in a fit: a function that returns derivatives, or a formula (`hr.Loss`).

What user code returns is checked here, before a trainer sees it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.losses.base import BaseLoss, read_only, total_slope
from hedgerow._boosting.losses.best_constant import Total, stationary_constants
from hedgerow._boosting.losses.formula.loss import Loss
from hedgerow._collective import workers
from hedgerow._links import Link
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CustomLoss(BaseLoss):
    """A user-defined function (y, raw_scores[, sample_weight]) → (gradient, hessian).

    On several workers, each calls it for its own rows.

    Scores start at the constant at which the gradients sum to 0: the minimum, if no hessian is
    negative.
    """

    name = "custom"

    def __init__(
        self, function: Callable[..., Any], link: Link, n_outputs: int, metric: str
    ) -> None:
        self.function, self.takes_weights = with_weights(function)
        self.link = link
        self.n_outputs = n_outputs
        self.metric = metric

    def for_targets(self, n_targets: int) -> CustomLoss:
        """Return the same loss for several columns of y, all passed in one call."""
        multi_output = copy.copy(self)
        multi_output.n_outputs = multi_output.n_targets = n_targets
        return multi_output

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants at which the gradients sum to 0; 0 where they do everywhere."""
        return self.base_score_given(np.zeros((self.n_outputs, target.shape[-1])), target, weights)

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants beside an offset at which the gradients sum to 0."""

        def total(constants: Floats) -> Total:
            scores = offset + constants[:, np.newaxis]
            gradient = hessian = None
            try:
                with np.errstate(all="ignore"):  # far out, a function may overflow
                    gradient, hessian = self.gradients(target, scores, weights)
            except ParameterError:
                if not constants.any():
                    raise
            if workers().any(gradient is None) or gradient is None or hessian is None:
                nan = np.full(self.n_outputs, np.nan)
                return Total(np.inf, nan, nan, nan)
            return total_slope(gradient, hessian)

        return stationary_constants(total, np.zeros(self.n_outputs))

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Call the function for scores (K, n); return gradient and hessian, both (K, n)."""
        raw_scores = scores[0].copy() if self.n_outputs == 1 else scores.T.copy()
        returned = self.function(read_only(target.T), raw_scores, read_only(weights))
        gradient, hessian = _checked_pair(returned, raw_scores.shape)
        if weights is not None and not self.takes_weights:
            gradient, hessian = gradient * weights, hessian * weights
        return gradient, hessian


class FormulaLoss(BaseLoss):
    """A `Loss` with the link and the number of outputs that it has in this fit.

    Attributes
    ----------
    is_piecewise_linear : array of bool
        For each output, whether its hessian was 0 in the last gradients: the values of its leaves
        are then found by a search.
    """

    name = "custom"

    def __init__(self, loss: Loss, link: Link, n_outputs: int, *, is_classification: bool) -> None:
        self.loss = loss
        self.link = link
        self.n_outputs = n_outputs
        self.metric = loss.name
        self.is_piecewise_linear = np.zeros(n_outputs, bool)
        self._is_classification = is_classification
        self._is_checked = False

    @classmethod
    def for_regression(cls, loss: Loss) -> FormulaLoss:
        """Return the loss of a regressor."""
        n_outputs, link = loss.n_outputs or 1, loss.link or "identity"
        if link == "softmax" and n_outputs == 1:
            raise ParameterError(
                f"loss={loss!r}: link='softmax' needs n_outputs >= 2, the number of scores."
            )
        return cls(loss, link, n_outputs, is_classification=False)

    @classmethod
    def for_classification(cls, loss: Loss, log_loss: BaseLoss) -> FormulaLoss:
        """Return the loss of a classifier; it has the outputs of the log loss."""
        links = ("softmax",) if log_loss.n_outputs > 1 else ("sigmoid", "half_sigmoid")
        if loss.link is not None and loss.link not in links:
            raise ParameterError(
                f"loss={loss!r}: its link must be {' or '.join(map(repr, links))} with these "
                "classes, so that scores correspond to probabilities. Leave it out."
            )
        if loss.n_outputs not in (None, log_loss.n_outputs):
            raise ParameterError(
                f"loss={loss!r}: with these classes n_outputs must be {log_loss.n_outputs}. Leave "
                "it out."
            )
        link = loss.link or log_loss.link
        return cls(loss, link, log_loss.n_outputs, is_classification=True)

    def for_targets(self, n_targets: int) -> FormulaLoss:
        """Return the same loss for several columns of y, all passed in one call."""
        n_outputs = self.loss.n_outputs or n_targets
        if self._is_classification and n_outputs != n_targets:
            raise ParameterError(
                f"loss={self.loss!r}: with {n_targets} columns of labels, n_outputs must be "
                f"{n_targets}. Leave it out."
            )
        is_classification = self._is_classification
        multi_output = FormulaLoss(
            self.loss, self.link, n_outputs, is_classification=is_classification
        )
        multi_output.n_targets = n_targets
        return multi_output

    @property
    def predicts_targets(self) -> bool:
        """Whether predictions can be compared with the target."""
        return self._is_classification or self.n_outputs == self.n_targets

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants that minimise the loss."""
        return self.loss.base_score(self._target(target), weights, n_outputs=self.n_outputs)

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants beside an offset that minimise the loss."""
        return self.loss.base_score(
            self._target(target), weights, n_outputs=self.n_outputs, offset=self._by_row(offset)
        )

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian at scores (K, n), both (K, n); the first time, check them."""
        y, f = self._target(target), self._by_row(scores)
        if not self._is_checked:
            self.loss.check(y, f)
            self._is_checked = True
        gradient, second = self.loss.derivatives(y, f)
        hessian, self.is_piecewise_linear = self.loss.hessian_from(gradient, second)
        if weights is None:
            return gradient, hessian
        return gradient * weights, hessian * weights

    def slopes(self, target: Floats, scores: Floats, output: int) -> Floats:
        """Return the derivatives with respect to one of the scores (K, n); they may be NaN."""
        return self.loss.slopes(self._target(target), self._by_row(scores), output)

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean loss of targets and scores (n, K): the default metric."""
        f = scores[:, 0] if self.n_outputs == 1 else scores
        return self.loss.mean(self._target(target.T), f, weights)

    def _target(self, target: Floats) -> NDArray[Any]:
        """Return the target as the formula takes it: by row, classes as integers."""
        return target.T.astype(np.intp) if self._is_classification else target.T

    def _by_row(self, scores: Floats) -> Floats:
        return scores[0] if self.n_outputs == 1 else scores.T


def with_weights(
    function: Callable[..., Any], argument: str = "loss"
) -> tuple[Callable[[Any, Any, Any], Any], bool]:
    """Return a user-defined function with three arguments, and whether it uses the third.

    The third is sample_weight, which a function may take by name, by position, or not at all.
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
        instance = (
            f" Pass an instance, {name}(…), not the class." if isinstance(function, type) else ""
        )
        raise ParameterError(
            f"{argument}: {name!r} takes {takes} argument(s), but is called with (y, scores "
            f"or prediction[, sample_weight]).{instance}"
        )


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C have no signature
        return {}


def _checked_pair(returned: Any, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ParameterError(
            f"loss: the function must return (gradient, hessian), not {type(returned).__name__}."
        )
    gradient = _checked("gradient", returned[0], shape)
    hessian = _checked("hessian", returned[1], shape)
    if hessian.min(initial=0.0) < 0.0:
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
