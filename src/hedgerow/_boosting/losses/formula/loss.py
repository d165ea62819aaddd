"""`Loss`: a loss as a NumPy formula, differentiated automatically."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow._arithmetic import sum_of, sums_of_rows
from hedgerow._autodiff import Derivatives, derivatives
from hedgerow._boosting.losses.base import read_only, weighted_mean
from hedgerow._boosting.losses.best_constant import Total, best_constant
from hedgerow._boosting.losses.formula.check import check_derivatives, check_rows
from hedgerow._params import COUNT, NOTHING, Options, Parameter, ParameterKind, any_of
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Curvature = Literal["absolute", "clipped", "constant"]
Link = Literal["identity", "log", "sigmoid", "half_sigmoid", "softmax"]

# A loss is piecewise linear if the hessian is 0 in more than this fraction of the rows with a
# nonzero gradient.
LINEAR_FRACTION = 0.5
# A best constant larger than this multiple of the initial candidates: the loss has no minimum.
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
    """A user-defined loss as a NumPy formula, with automatic gradient and hessian.

    The function takes the target and the raw scores and returns the loss of every row. It is called
    with arrays that carry derivatives, and may use NumPy's elementwise functions: arithmetic,
    powers, comparisons, `numpy.exp`, `numpy.log1p`, `numpy.logaddexp`, `numpy.maximum`,
    `numpy.where` and so on, the functions of `scipy.special` that are common in losses
    (``expit``, ``log_expit``, ``gammaln``, ``xlogy``, ``log_ndtr``, ``huber`` …), indexing, and
    sums, means, maxima and ``numpy.logaddexp.reduce`` over the scores of a row. A function without
    a known derivative raises an error with its name.

    Before the first round of a fit, the derivatives are compared with finite differences of the
    loss; a check also ensures that the loss of a row depends only on its own scores and does not
    change when it is computed again.

    Parameters
    ----------
    function : callable (y, f) -> array of shape (n,)
        The loss. ``y`` is the target (for classifiers, class numbers 0 … K−1), ``f`` the raw
        scores: shape (n,) for one score per row, (n, K) for K. The function may use other arrays
        with an entry per training row, but then it does not work for evaluation sets, which have
        other rows.
    link : {"identity", "log", "sigmoid", "half_sigmoid", "softmax"}, optional
        The function from scores to predictions: with "identity" the prediction is the score, with
        "log" e^score, and so on. None is "identity" for regressors, and "sigmoid" or "softmax" for
        classifiers.
    n_outputs : int, optional
        Number of scores per row. None is one or, for a classifier with more than two classes, one
        per class.
    curvature : {"absolute", "clipped", "constant"}
        What replaces negative second derivatives, which losses that are robust to outliers have:
        their absolute value, or 0. With "constant" the hessian is 1 in all rows, for first-order
        gradient boosting. If the hessian is 0 in most of the rows with a nonzero gradient, as for
        absolute values, the loss is piecewise linear: every row gets the mean of the other
        hessians, or 1 if there are none, and a search finds the best value of each leaf.
    name : str, optional
        Name in messages and in ``evals_result_``. None is the function's name, or "loss" for a
        lambda.

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
        self.__qualname__ = self.name  # model files store it
        values = (function, link, n_outputs, curvature, name)
        for parameter, value in zip(_PARAMETERS, values, strict=True):
            parameter.check(value)

    def __repr__(self) -> str:
        options: dict[str, Any] = {"link": self.link, "n_outputs": self.n_outputs}
        if self.curvature != "absolute":
            options["curvature"] = self.curvature
        text = "".join(f", {key}={value!r}" for key, value in options.items() if value is not None)
        return f"Loss({self.name}{text})"

    def __call__(self, y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
        """Return gradient and hessian, so that a `Loss` is a loss function for any booster."""
        return self.gradients(y, f)

    def loss(self, y: ArrayLike, f: ArrayLike) -> Floats:
        """Return the loss of every row, shape (n,)."""
        y, f = np.asarray(y), _scores(f)
        return self._checked(self._evaluated(y, f), f)

    def gradient(self, y: ArrayLike, f: ArrayLike) -> Floats:
        """Return the first derivatives with respect to the scores, in the shape of f."""
        return self.gradients(y, f)[0]

    def hessian(self, y: ArrayLike, f: ArrayLike) -> Floats:
        """Return the nonnegative second derivatives, in the shape of f."""
        return self.gradients(y, f)[1]

    def gradients(self, y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
        """Return gradient and hessian, both in the shape of f.

        The hessian is the diagonal of the second derivatives, and is not negative: see
        `curvature`.
        """
        f = _scores(f)
        gradient, second = self.derivatives(np.asarray(y), f)
        hessian, _ = self.hessian_from(gradient, second)
        return _by_row(gradient, f), _by_row(hessian, f)

    def check(self, y: ArrayLike, f: ArrayLike) -> None:
        """Raise `ParameterError` if the derivatives are not those of the loss in every row."""
        y, f = np.asarray(y), _scores(f)
        value = partial(self._evaluated, y)
        check_rows(value, f)
        check_derivatives(value, f, *self.derivatives(y, f))

    def base_score(
        self,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_outputs: int | None = None,
        offset: ArrayLike | None = None,
    ) -> Floats:
        """Return the constant scores, shape (K,), that minimise the sum of the loss.

        If there is an offset, in the shape of the scores, the constants are added to it.
        """
        y = np.asarray(y)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        n_outputs = n_outputs or self.n_outputs or 1
        relative = weights / weights.max()
        candidates = _candidates(y, relative, n_outputs)
        added = None if offset is None else _scores(offset)
        constants = best_constant(lambda at: self._total(y, relative, at, added), candidates)
        if constants is None:
            raise ParameterError(
                f"loss: {self.name} is NaN or infinite at the constant scores 0, the mean and the "
                "median of y, so there is no initial score."
            )
        if np.abs(constants).max() > RUNAWAY * (1.0 + np.abs(candidates).max()):
            raise ParameterError(
                f"loss: {self.name} has no minimum: it still decreases at the constant score "
                f"{constants[np.abs(constants).argmax()]:.2g}. Is its sign wrong?"
            )
        return constants

    def mean(self, y: ArrayLike, f: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the rows' losses."""
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        return weighted_mean(self.loss(y, f), weights)

    def derivatives(self, y: NDArray[Any], f: Floats) -> tuple[Floats, Floats]:
        """Return the unmodified first and second derivatives, both of shape (K, n)."""
        result = self._differentiated(y, f)
        self._checked(self._shaped(result.value, len(f)), f)
        if not result.first.any() and not result.second.any():
            raise ParameterError(
                f"loss: {self.name} has a gradient of 0 in every row: it does not depend on f, or "
                "is piecewise constant."
            )
        for what, derivative in (("gradient", result.first), ("hessian", result.second)):
            _require_finite(f"the {what} of {self.name}", derivative, f)
        return result.first, result.second

    def slopes(self, y: NDArray[Any], f: Floats, output: int) -> Floats:
        """Return the first derivatives with respect to one score; they may be infinite or NaN."""
        return self._differentiated(y, f, by=output).first[0]

    def hessian_from(self, gradient: Floats, second: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return hessians from the derivatives (K, n), and which outputs are piecewise linear."""
        if self.curvature == "constant":
            return np.ones_like(second), np.zeros(len(second), bool)
        hessian = np.abs(second) if self.curvature == "absolute" else np.maximum(second, 0.0)
        is_linear = _are_piecewise_linear(gradient, hessian)
        for output in np.flatnonzero(is_linear).tolist():
            positive = hessian[output][hessian[output] > 0.0]
            hessian[output] = weighted_mean(positive, None) if len(positive) else 1.0
        return hessian, is_linear

    def _total(self, y: NDArray[Any], weights: Floats, at: Floats, offset: Floats | None) -> Total:
        f = np.full(len(y), at[0]) if len(at) == 1 else np.tile(at, (len(y), 1))
        f = f if offset is None else f + offset
        result = self._differentiated(y, f)
        value = self._shaped(result.value, len(y))
        with np.errstate(all="ignore"):
            return Total(
                sum_of(weights * value),
                sums_of_rows(weights * result.first),
                sums_of_rows(weights * result.second),
                sums_of_rows(np.abs(weights * result.first)),
            )

    def _differentiated(self, y: NDArray[Any], f: Floats, by: int | None = None) -> Derivatives:
        y, f = read_only(y), read_only(f)
        return derivatives(lambda scores: self.function(y, scores), f, by)

    def _evaluated(self, y: NDArray[Any], f: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return self._shaped(self.function(read_only(y), read_only(f)), len(f))

    def _shaped(self, returned: Any, n_rows: int) -> Floats:
        """Return the function's result as floats, one for each row, or raise if it is not that."""
        value = np.asarray(returned)
        if value.dtype.kind not in "fiub":
            raise ParameterError(f"loss: {self.name} returned {value.dtype}, not numbers.")
        if value.shape != (n_rows,):
            raise ParameterError(
                f"loss: {self.name} returned shape {value.shape}; it must be ({n_rows},), a loss "
                f"for each row. {_shape_hint(value.shape, n_rows)}"
            )
        return value.astype(np.float64, copy=False)

    def _checked(self, value: Floats, f: Floats) -> Floats:
        _require_finite(self.name, value[None], f)
        return value


def _are_piecewise_linear(gradient: Floats, hessian: Floats) -> NDArray[np.bool_]:
    """Return for each output whether hessians vanish where gradients do not; both are (K, n)."""
    has_slope = gradient != 0.0
    is_linear = has_slope & (hessian == 0.0)
    result: NDArray[np.bool_] = is_linear.sum(axis=1) > LINEAR_FRACTION * has_slope.sum(axis=1)
    return result


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "loss" if name == "<lambda>" else name


def _scores(f: ArrayLike) -> Floats:
    scores = np.asarray(f, dtype=np.float64)
    if scores.ndim not in (1, 2):
        raise ParameterError(f"f has shape {scores.shape}; it must be (n,) or (n, K).")
    return scores


def _by_row(by_output: Floats, f: Floats) -> Floats:
    """Return derivatives (K, n) in the shape of the scores."""
    return by_output[0] if f.ndim == 1 else by_output.T


def _require_finite(what: str, by_output: Floats, f: Floats) -> None:
    if np.isfinite(by_output).all():
        return
    output, row = np.argwhere(~np.isfinite(by_output))[0]
    raise ParameterError(
        f"loss: {what} is {by_output[output, row]} in row {row}, where f is {f[row]}."
    )


def _shape_hint(shape: tuple[int, ...], n_rows: int) -> str:
    if shape == ():
        return "Leave out the mean or sum over the rows."
    if len(shape) == 2 and shape[0] == n_rows:
        return "Sum over axis 1."
    return "It must not select or repeat rows."


def _candidates(y: NDArray[Any], weights: Floats, n_outputs: int) -> list[Floats]:
    """Return initial constants: zeros, and the mean and the median of the target."""
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
    return weighted_mean(np.asarray(values, np.float64), weights)
