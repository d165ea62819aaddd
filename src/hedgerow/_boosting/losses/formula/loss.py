"""`Loss`: a loss written as a formula, whose derivatives are found and not given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow._autodiff import Derivatives, derivatives
from hedgerow._boosting.losses.formula.best_constant import Total, best_constant
from hedgerow._boosting.losses.formula.check import check_derivatives, check_rows
from hedgerow._params import COUNT, NOTHING, Options, Parameter, ParameterKind, any_of
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Curvature = Literal["absolute", "clipped", "constant"]
Link = Literal["identity", "log", "sigmoid", "half_sigmoid", "softmax"]

# A hessian that is 0 in more than this part of the rows that have a gradient is no scale for steps.
STRAIGHT_PART = 0.5
# A constant that is so large beside those it was looked for from is one of a loss without minimum.
RUNAWAY = 1e15

_PARAMETERS = (
    Parameter(
        "function", None, ParameterKind("a function (y, f) -> loss of every row", callable), ""
    ),
    Parameter("link", None, any_of(Options(get_args(Link)), NOTHING), ""),
    Parameter("n_outputs", None, any_of(COUNT, NOTHING), ""),
    Parameter("curvature", "absolute", Options(get_args(Curvature)), ""),
    Parameter(
        "name", None, any_of(ParameterKind("a str", lambda v: isinstance(v, str)), NOTHING), ""
    ),
)


class Loss:
    """A loss written in NumPy, to boost with: gradient and hessian come from the formula.

    The function gets the target and the raw scores and returns the loss of every row. It is called
    with arrays that carry derivatives, and may do with them what NumPy does entry by entry:
    arithmetic, powers, comparisons, `numpy.exp`, `numpy.log1p`, `numpy.logaddexp`, `numpy.maximum`,
    `numpy.where` and the like, the functions of `scipy.special` that losses are made of
    (``expit``, ``log_expit``, ``gammaln``, ``xlogy``, ``log_ndtr``, ``huber`` …), indexing, and
    sums, means, maxima and ``numpy.logaddexp.reduce`` over the scores of a row. What has no known
    derivative is refused by name.

    Before the first round of a fit, derivatives are compared with differences of the loss itself,
    and it is seen that the loss of a row is made from its own scores and is the same when asked for
    again.

    Parameters
    ----------
    function : callable (y, f) -> array of shape (n,)
        The loss. ``y`` is the target (class numbers 0 … K−1 of a classifier), ``f`` the raw scores:
        shape (n,) for one score a row, (n, K) for K. Other arrays of the training rows may be used
        in it; but evaluation sets have rows of their own, for which such arrays do not fit.
    link : {"identity", "log", "sigmoid", "half_sigmoid", "softmax"}, optional
        What leads from a score to a prediction: the prediction is the score, e to its power, and so
        on. None is "identity" of a regressor, "sigmoid" or "softmax" of a classifier.
    n_outputs : int, optional
        Scores of a row. None is one or, of a classifier of more than two classes, one for each.
    curvature : {"absolute", "clipped", "constant"}
        What a hessian becomes where it is negative, as in losses that care little about what is far
        off: its absolute value, by which steps are as long as the loss is bent, or 0. "constant" is
        1 in all rows: plain gradient boosting. Where a loss is straight, as absolute values are,
        there is no hessian to go by: if it is 0 in most of the rows that have a gradient, every row
        gets the mean of the others, or 1 if there are none, and the best value of each leaf is
        searched.
    name : str, optional
        What messages and histories call it. None is the function's name, or "loss" of a lambda.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> cauchy = hr.Loss(lambda y, f: np.log1p((y - f) ** 2))
    >>> gradient, hessian = cauchy.gradients(np.array([0.0, 3.0]), np.array([1.0, 1.0]))
    >>> gradient
    array([ 1. , -0.8])
    """

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        *,
        link: Link | None = None,
        n_outputs: int | None = None,
        curvature: Curvature = "absolute",
        name: str | None = None,
    ) -> None:
        self.function = function
        self.link = link
        self.n_outputs = n_outputs
        self.curvature = curvature
        self.name = _name_of(function) if name is None else name
        self.__qualname__ = self.name  # which model files keep of a function
        given = (function, link, n_outputs, curvature, name)
        for parameter, value in zip(_PARAMETERS, given, strict=True):
            parameter.check(value)

    def __repr__(self) -> str:
        options: dict[str, Any] = {"link": self.link, "n_outputs": self.n_outputs}
        if self.curvature != "absolute":
            options["curvature"] = self.curvature
        told = "".join(f", {key}={value!r}" for key, value in options.items() if value is not None)
        return f"Loss({self.name}{told})"

    def __call__(self, y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
        """Return what `gradients` does: a loss is a function of the kind that boosting takes."""
        return self.gradients(y, f)

    def loss(self, y: ArrayLike, f: ArrayLike) -> Floats:
        """Return the loss of every row, shape (n,)."""
        y, f = np.asarray(y), _scores(f)
        return self._checked(self._evaluated(y, f), f)

    def gradient(self, y: ArrayLike, f: ArrayLike) -> Floats:
        """Return the derivatives by the scores, in the shape of f."""
        return self.gradients(y, f)[0]

    def hessian(self, y: ArrayLike, f: ArrayLike) -> Floats:
        """Return the second derivatives, none of them negative, in the shape of f."""
        return self.gradients(y, f)[1]

    def gradients(self, y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
        """Return gradient and hessian, both in the shape of f.

        The hessian holds the second derivatives twice by the same score, and none of them is
        negative: see `curvature`.
        """
        f = _scores(f)
        gradient, second = self.derivatives(np.asarray(y), f)
        hessian, _ = self.hessian_from(gradient, second)
        return _as_given(gradient, f), _as_given(hessian, f)

    def check(self, y: ArrayLike, f: ArrayLike) -> None:
        """Raise `ParameterError` unless derivatives are those of the loss, row by row."""
        y, f = np.asarray(y), _scores(f)
        value = partial(self._evaluated, y)
        check_rows(value, f)
        check_derivatives(value, f, *self.derivatives(y, f))

    def base_score(
        self, y: ArrayLike, sample_weight: ArrayLike | None = None, *, n_outputs: int | None = None
    ) -> Floats:
        """Return the constant scores, shape (K,), at which the sum of the loss is smallest."""
        y = np.asarray(y)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        n_outputs = n_outputs or self.n_outputs or 1
        relative = weights / weights.max()
        candidates = _candidates(y, relative, n_outputs)
        constants = best_constant(lambda at: self._total(y, relative, at), candidates)
        if constants is None:
            raise ParameterError(
                f"loss: {self.name} is NaN or infinite at the constant scores 0, the mean and the "
                "median of y, so there is nowhere to start from."
            )
        if np.abs(constants).max() > RUNAWAY * (1.0 + np.abs(candidates).max()):
            raise ParameterError(
                f"loss: {self.name} has no minimum: it still falls at the constant score "
                f"{constants[np.abs(constants).argmax()]:.2g}. Has it the wrong sign?"
            )
        return constants

    def mean(self, y: ArrayLike, f: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the rows' losses."""
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(np.average(self.loss(y, f), weights=weights))

    def derivatives(self, y: NDArray[Any], f: Floats) -> tuple[Floats, Floats]:
        """Return the first and second derivatives as they are, both of shape (K, n)."""
        found = self._differentiated(y, f)
        self._checked(self._shaped(found.value, len(f)), f)
        if not found.first.any() and not found.second.any():
            raise ParameterError(
                f"loss: {self.name} has a gradient of 0 in every row: it does not depend on f, or "
                "only through steps."
            )
        for what, derivative in (("gradient", found.first), ("hessian", found.second)):
            _require_finite(f"the {what} of {self.name}", derivative, f)
        return found.first, found.second

    def slopes(self, y: NDArray[Any], f: Floats, output: int) -> Floats:
        """Return the first derivatives by one of the scores, which may not be finite."""
        return self._differentiated(y, f, by=output).first[0]

    def hessian_from(self, gradient: Floats, second: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return hessians to divide by, from first and second derivatives, all (K, n).

        Also tell of each output whether its loss is straight, so that its hessian was made up.
        """
        if self.curvature == "constant":
            return np.ones_like(second), np.zeros(len(second), bool)
        hessian = np.abs(second) if self.curvature == "absolute" else np.maximum(second, 0.0)
        straight = _are_straight(gradient, hessian)
        for output in np.flatnonzero(straight).tolist():
            bent = hessian[output][hessian[output] > 0.0]
            hessian[output] = bent.mean() if len(bent) else 1.0
        return hessian, straight

    def _total(self, y: NDArray[Any], weights: Floats, at: Floats) -> Total:
        f = np.full(len(y), at[0]) if len(at) == 1 else np.tile(at, (len(y), 1))
        found = self._differentiated(y, f)
        value = self._shaped(found.value, len(y))
        with np.errstate(all="ignore"):
            return Total(
                float((weights * value).sum()),
                (weights * found.first).sum(axis=1),
                (weights * found.second).sum(axis=1),
                np.abs(weights * found.first).sum(axis=1),
            )

    def _differentiated(self, y: NDArray[Any], f: Floats, by: int | None = None) -> Derivatives:
        y, f = _read_only(y), _read_only(f)
        return derivatives(lambda scores: self.function(y, scores), f, by)

    def _evaluated(self, y: NDArray[Any], f: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return self._shaped(self.function(_read_only(y), _read_only(f)), len(f))

    def _shaped(self, returned: Any, n_rows: int) -> Floats:
        """Return what the function returned as floats, one for each row, or say what is wrong."""
        value = np.asarray(returned)
        if value.dtype.kind not in "fiub":
            raise ParameterError(f"loss: {self.name} returned {value.dtype}, not numbers.")
        if value.shape != (n_rows,):
            raise ParameterError(
                f"loss: {self.name} returned shape {value.shape}; it must be ({n_rows},), a loss "
                f"for each row. {_advice(value.shape, n_rows)}"
            )
        return value.astype(np.float64, copy=False)

    def _checked(self, value: Floats, f: Floats) -> Floats:
        _require_finite(self.name, value[None], f)
        return value


def _are_straight(gradient: Floats, hessian: Floats) -> NDArray[np.bool_]:
    """Tell of each output whether hessians vanish where there are gradients; both are (K, n)."""
    pulls = gradient != 0.0
    lacking = pulls & (hessian == 0.0)
    straight: NDArray[np.bool_] = lacking.sum(axis=1) > STRAIGHT_PART * pulls.sum(axis=1)
    return straight


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "loss" if name == "<lambda>" else name


def _scores(f: ArrayLike) -> Floats:
    scores = np.asarray(f, dtype=np.float64)
    if scores.ndim not in (1, 2):
        raise ParameterError(f"f has shape {scores.shape}; it must be (n,) or (n, K).")
    return scores


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _as_given(by_output: Floats, f: Floats) -> Floats:
    """Return derivatives (K, n) in the shape of the scores."""
    return by_output[0] if f.ndim == 1 else by_output.T


def _require_finite(what: str, by_output: Floats, f: Floats) -> None:
    if np.isfinite(by_output).all():
        return
    output, row = np.argwhere(~np.isfinite(by_output))[0]
    raise ParameterError(
        f"loss: {what} is {by_output[output, row]} in row {row}, where f is {f[row]}."
    )


def _advice(shape: tuple[int, ...], n_rows: int) -> str:
    if shape == ():
        return "Leave out the mean or sum over the rows."
    if len(shape) == 2 and shape[0] == n_rows:
        return "Sum over axis 1."
    return "Leave the rows as they are."


def _candidates(y: NDArray[Any], weights: Floats, n_outputs: int) -> list[Floats]:
    """Return constants to start from: zeros, and the mean and the median of the target."""
    zeros = np.zeros(n_outputs)
    if y.dtype.kind not in "fiub":
        return [zeros]
    if y.ndim == 2:
        fits = y.shape[1] == n_outputs
        columns = [_mean(column, weights) for column in y.T]
        return [zeros, *([np.array(columns)] if fits else [])]
    centres = [_mean(y, weights), float(np.median(y))]
    alone = [centre * np.eye(n_outputs)[k] for centre in centres for k in range(n_outputs)]
    return [zeros, *(np.full(n_outputs, centre) for centre in centres), *alone]


def _mean(values: NDArray[Any], weights: Floats) -> float:
    if (weights == 1.0).all():
        return float(values.mean())
    return float((weights * values).sum() / weights.sum())
