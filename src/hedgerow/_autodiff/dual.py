"""Dual arrays: NumPy arrays that carry derivatives through a user's function.

A `Dual` is an array with the first and second derivatives of each element with respect to the
scores of its row. Of the second derivatives only the diagonal is kept, because the diagonal of a
result depends on nothing else. NumPy dispatches its functions to a `Dual` (``__array_ufunc__``,
``__array_function__``), which looks them up in `UFUNCS`, `REDUCTIONS` and `FUNCTIONS`; so a loss is
plain NumPy code.

Most elements in a loss depend on one score only, and have one derivative: with K scores,
derivatives with respect to all of them would cost K times as much. The entry point is
`derivatives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from hedgerow._autodiff.rules import Derivative
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import ParameterError

Array = NDArray[Any]
Function = Callable[..., Any]

# The implementations for dual arrays, by NumPy's or SciPy's function; `functions.py` adds them.
UFUNCS: dict[Any, Function] = {}
REDUCTIONS: dict[Any, Function] = {}
FUNCTIONS: dict[Any, Function] = {}

# Maximum number of elements of a derivative (32 MB); larger ones are computed in several passes.
WIDEST = 2**22


class NotDifferentiableError(ParameterError, TypeError):
    """A function of the scores without a differentiation rule."""


class TooWideError(Exception):
    """Derivatives with respect to this many scores at a time would be too large."""


@dataclass(frozen=True)
class Directions:
    """The scores with respect to which a pass differentiates: some of a row's `n_outputs`."""

    n_rows: int
    n_outputs: int
    outputs: Indices

    def require_room_for(self, n_numbers: int) -> None:
        """Raise if derivatives do not fit into memory, but would for fewer scores at a time."""
        widest = max(WIDEST, 4 * self.n_rows * self.n_outputs)
        if len(self.outputs) > 1 and n_numbers * len(self.outputs) > widest:
            raise TooWideError


class Dual(NDArrayOperatorsMixin):
    """An array and its derivatives.

    Attributes
    ----------
    value : array
        The elements, of any shape.
    first, second : array, float or None
        Derivatives, in a shape that broadcasts to that of `value`; None is 0.
    output : array of int, or None
        The score that each element depends on, in a shape that broadcasts likewise. None if
        elements depend on several: then derivatives have an additional first axis, the scores of
        `directions`.
    directions : Directions
    """

    __slots__ = ("directions", "first", "output", "second", "value")

    def __init__(
        self,
        value: Array,
        first: Derivative,
        second: Derivative,
        output: Indices | None,
        directions: Directions,
    ) -> None:
        self.value = value
        self.first = first
        self.second = second
        self.output = output
        self.directions = directions

    # NumPy's interface.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if options.get("out") is not None:
            refuse(f"{name} in place (out=, or as in a += b)", "Write a = a + b")
        if method == "reduce" and ufunc in REDUCTIONS:
            return _called(REDUCTIONS[ufunc], f"{name}.reduce", inputs, options)
        if method != "__call__" or ufunc not in UFUNCS:
            refuse(name if method == "__call__" else f"{name}.{method}")
        if options:
            refuse(f"{name} with {next(iter(options))}=", "np.where chooses between two arrays")
        return UFUNCS[ufunc](*inputs)

    def __array_function__(
        self, function: Any, _types: Any, inputs: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        if function not in FUNCTIONS:
            refuse(f"np.{function.__name__}")
        return _called(FUNCTIONS[function], f"np.{function.__name__}", inputs, options)

    # Attributes and methods of an array.

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the numbers."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """Axes of the numbers."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.value.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.value.dtype

    @property
    def T(self) -> Dual:  # noqa: N802  NumPy's name
        """The array with its axes in reverse order."""
        return rearranged(self, np.transpose)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Dual:
        return rearranged(self, lambda array: array[index])

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the sum along an axis."""
        return FUNCTIONS[np.sum](self, axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the mean along an axis."""
        return FUNCTIONS[np.mean](self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the largest number along an axis."""
        return FUNCTIONS[np.max](self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the smallest number along an axis."""
        return FUNCTIONS[np.min](self, axis, keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the product along an axis."""
        return FUNCTIONS[np.prod](self, axis, keepdims)

    def clip(self, min: Any = None, max: Any = None) -> Any:  # noqa: A002  NumPy's names
        """Return the numbers, clipped to two bounds."""
        return FUNCTIONS[np.clip](self, min, max)

    def reshape(self, *shape: Any) -> Dual:
        """Return the numbers in another shape."""
        return rearranged(self, lambda array: array.reshape(*shape))

    def squeeze(self, axis: Any = None) -> Dual:
        """Return the array without axes of length 1."""
        return rearranged(self, lambda array: array.squeeze(axis))

    def astype(self, dtype: Any) -> Dual:
        """Return the array itself, which is of floats and cannot become anything else."""
        if np.dtype(dtype).kind != "f":
            refuse(f"astype({dtype!r})", "np.floor and comparisons may be what you need")
        return self

    def copy(self) -> Dual:
        """Return the array itself: nothing can change it."""
        return self

    def __repr__(self) -> str:
        return f"<scores with derivatives, shape {self.shape}>"

    # Operations that would drop the derivatives.

    def __array__(self, *_args: Any, **_options: Any) -> NoReturn:
        refuse(
            "np.asarray, or a function that calls it, such as scipy.special.logsumexp,",
            "np.logaddexp.reduce(f, axis=1) is log Σ e^f, and "
            "np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True)) is the softmax",
        )

    def __float__(self) -> NoReturn:
        refuse(
            "float(), or a function of the math module,", "Use the NumPy function of the same name"
        )

    def __int__(self) -> NoReturn:
        refuse("int()")

    def __bool__(self) -> NoReturn:
        refuse("'if', 'and', 'or' or 'not'", "Use np.where(condition, a, b)")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        refuse("a[...] = b", "Use np.where(condition, a, b)")


def _called(function: Function, name: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    try:
        signature(function).bind(*inputs, **options)
    except TypeError:
        refuse(f"{name} with these arguments")
    return function(*inputs, **options)


def refuse(what: str, instead: str = "") -> NoReturn:
    """Raise that an operation is not supported, with an alternative."""
    elementwise, of_arrays = (
        ", ".join(sorted({function.__name__ for function in functions}))
        for functions in (UFUNCS, FUNCTIONS)
    )
    raise NotDifferentiableError(
        f"loss: {what} cannot be used on scores: it drops the derivatives, or its derivative is "
        f"not known. {instead + '. ' if instead else ''}Supported elementwise functions: "
        f"{elementwise}; array functions: {of_arrays}; indexing; np.logaddexp.reduce. A loss "
        "function that returns (gradient, hessian) itself may use any function."
    )


def value_of(x: Any) -> Any:
    """Return the elements without derivatives."""
    return x.value if isinstance(x, Dual) else x


# Arithmetic of derivatives, where None is 0.


def times(a: Derivative, b: Derivative) -> Derivative:
    """Return a · b."""
    if a is None or b is None:
        return None
    if isinstance(a, float) and a == 1.0:
        return b
    return a if isinstance(b, float) and b == 1.0 else a * b


def plus(a: Derivative, b: Derivative) -> Derivative:
    """Return a + b."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


# Which score elements depend on.


def narrowed(output: Indices) -> Indices:
    """Return indices without the leading axes along which they are constant."""
    while output.ndim and (output.strides[0] == 0 or (output == output[:1]).all()):
        output = output[0]
    return np.asarray(output)


def alike(duals: Sequence[Dual], value: Array) -> tuple[list[Dual], Indices | None]:
    """Return duals whose derivatives can be combined, and the output of the result."""
    output = duals[0].output
    if output is not None and all(_is_same(x.output, output) for x in duals):
        return list(duals), output
    duals[0].directions.require_room_for(value.size)
    return [with_axes(spread(x), value.ndim) for x in duals], None


def _is_same(a: Indices | None, b: Indices) -> bool:
    return a is b or (a is not None and np.array_equal(a, b))


def spread(x: Dual) -> Dual:
    """Return the array with derivatives with respect to every score of the pass."""
    if x.output is None:
        return x
    directions = x.directions
    directions.require_room_for(x.size)
    own = x.output == directions.outputs.reshape(-1, *[1] * x.ndim)

    def by_all(derivative: Derivative) -> Derivative:
        return None if derivative is None else np.where(own, derivative, 0.0)

    return Dual(x.value, by_all(x.first), by_all(x.second), None, directions)


def with_axes(x: Dual, ndim: int) -> Dual:
    """Return derivatives of an array with fewer axes so that they broadcast to `ndim` axes."""
    if x.output is not None or x.ndim == ndim:
        return x

    def widened(derivative: Any) -> Derivative:
        if derivative is None:
            return None
        new = [1] * (ndim - x.ndim)
        return derivative.reshape(len(derivative), *new, *derivative.shape[1:])

    return Dual(x.value, widened(x.first), widened(x.second), None, x.directions)


def rearranged(x: Dual, move: Callable[[Array], Array]) -> Dual:
    """Apply a function that only rearranges or selects elements."""

    def moved(derivative: Any) -> Derivative:
        if derivative is None or (x.output is not None and np.ndim(derivative) == 0):
            return derivative
        if x.output is not None:
            return move(np.broadcast_to(derivative, x.shape))
        return np.stack([move(np.broadcast_to(part, x.shape)) for part in derivative])

    output = x.output
    if output is not None and output.ndim:
        output = narrowed(move(np.broadcast_to(output, x.shape)))
    return Dual(move(x.value), moved(x.first), moved(x.second), output, x.directions)


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
