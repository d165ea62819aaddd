"""NumPy's functions of dual arrays: elementwise ones by the chain rule, then array functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from hedgerow._autodiff.dual import (
    FUNCTIONS,
    REDUCTIONS,
    UFUNCS,
    Array,
    Dual,
    Function,
    alike,
    narrowed,
    plus,
    rearranged,
    refuse,
    spread,
    times,
    value_of,
    with_axes,
)
from hedgerow._autodiff.rules import (
    BINARY,
    SELECTIONS,
    UNARY,
    WITHOUT_DERIVATIVE,
    Derivative,
)

MOVING = (
    *(np.reshape, np.ravel, np.transpose, np.moveaxis, np.swapaxes, np.expand_dims, np.squeeze),
    *(np.take, np.take_along_axis, np.flip, np.roll, np.repeat, np.tile, np.broadcast_to),
)
JOINING = (np.stack, np.concatenate, np.column_stack, np.hstack, np.vstack)
ARRAYS_WITHOUT_DERIVATIVE = (
    *(np.argmax, np.argmin, np.argsort, np.any, np.all, np.isclose, np.round),
    *(np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like, np.empty_like),
)


def chained(x: Dual, value: Array, first: Derivative, second: Derivative) -> Dual:
    """Return g(x) from its value and the derivatives of g: (g∘x)″ = g″ x′² + g′ x″."""
    x = with_axes(x, value.ndim)
    return Dual(
        value,
        times(first, x.first),
        plus(times(second, times(x.first, x.first)), times(first, x.second)),
        x.output,
        x.directions,
    )


def _unary(ufunc: Any, x: Dual) -> Dual:
    value = ufunc(x.value)
    return chained(x, value, *UNARY[ufunc](x.value, value))


def _binary(ufunc: Any, a: Any, b: Any) -> Dual:
    """Return g(a, b), one or both of which have derivatives."""
    u, v = value_of(a), value_of(b)
    # The operator squares where the exponent is 2; np.power would take a logarithm.
    value = operator.pow(u, v) if ufunc is np.power else ufunc(u, v)
    by_a, by_b = BINARY[ufunc].by_a, BINARY[ufunc].by_b
    if isinstance(a, Dual) and by_a is None:
        refuse(f"{ufunc.__name__} with scores in its first argument")
    if isinstance(b, Dual) and by_b is None:
        refuse(f"{ufunc.__name__} with scores in its second argument")
    if not isinstance(b, Dual):
        return chained(a, value, *by_a(u, v, value))  # type: ignore[misc]
    if not isinstance(a, Dual):
        return chained(b, value, *by_b(u, v, value))  # type: ignore[misc]
    (a, b), output = alike((a, b), value)
    along_a = chained(a, value, *by_a(u, v, value))  # type: ignore[misc]
    along_b = chained(b, value, *by_b(u, v, value))  # type: ignore[misc]
    mixed = times(BINARY[ufunc].mixed(u, v, value), times(a.first, b.first))
    second = plus(plus(along_a.second, along_b.second), times(2.0, mixed))
    return Dual(value, plus(along_a.first, along_b.first), second, output, a.directions)


def _selection(ufunc: Any, a: Any, b: Any) -> Dual:
    """Return the maximum or minimum; where both are equal, with the mean of the derivatives."""
    value = ufunc(value_of(a), value_of(b))
    from_a, from_b = value == value_of(a), value == value_of(b)
    chosen = selected(from_a, a, b)
    tied = from_a & from_b
    if tied.any():
        chosen = selected(tied, 0.5 * (a + b), chosen)
    return Dual(value, chosen.first, chosen.second, chosen.output, chosen.directions)


def selected(condition: Any, a: Any, b: Any) -> Dual:
    """Return a where the condition holds, b elsewhere; one or both have derivatives."""
    condition = np.asarray(value_of(condition), bool)
    value = np.where(condition, value_of(a), value_of(b))
    duals, output = alike([x for x in (a, b) if isinstance(x, Dual)], value)
    duals = [with_axes(x, value.ndim) for x in duals]
    first, second = (
        _either(condition, *_sides(a, b, [getattr(x, name) for x in duals]))
        for name in ("first", "second")
    )
    return Dual(value, first, second, output, duals[0].directions)


def _sides(a: Any, b: Any, derivatives: list[Derivative]) -> tuple[Derivative, Derivative]:
    """Return the derivatives of those of two arrays that have any."""
    if isinstance(a, Dual) and isinstance(b, Dual):
        return derivatives[0], derivatives[1]
    return (derivatives[0], None) if isinstance(a, Dual) else (None, derivatives[0])


def _either(condition: Array, a: Derivative, b: Derivative) -> Derivative:
    if a is None and b is None:
        return None
    return np.where(condition, 0.0 if a is None else a, 0.0 if b is None else b)


def _matmul(a: Any, b: Any) -> Any:
    """Return a @ b for scores (n, K) times an array that has no derivatives."""
    if isinstance(b, Dual) or np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        refuse("@", "(a * b).sum(axis=1) multiplies row by row")
    b = np.asarray(b)
    rows = b if b.ndim == 2 else b[:, None]
    result = reduce(operator.add, (a[:, k : k + 1] * row for k, row in enumerate(rows)))
    return result if b.ndim == 2 else result[:, 0]


def _on_values(function: Function, *inputs: Any, **options: Any) -> Any:
    """Apply a function without derivative, such as np.argmax, to the elements alone."""
    return function(*map(value_of, inputs), **options)


UFUNCS[np.matmul] = _matmul
for functions, how in (
    (UNARY, _unary),
    (BINARY, _binary),
    (SELECTIONS, _selection),
    (WITHOUT_DERIVATIVE, _on_values),
):
    for ufunc in functions:
        UFUNCS[ufunc] = partial(how, ufunc)


def _moving(function: Function) -> Function:
    """Return a function of one array that rearranges its elements, for dual arrays."""

    def apply(x: Any, *inputs: Any, **options: Any) -> Dual:
        if not isinstance(x, Dual):
            refuse(f"np.{function.__name__} with scores in an argument other than the first")
        return rearranged(x, lambda array: function(array, *inputs, **options))

    return apply


def _joining(function: Function) -> Function:
    """Return a function that joins a list of arrays, for dual arrays."""

    def apply(parts: Sequence[Any], **options: Any) -> Dual:
        arrays = [x if isinstance(x, Dual) else np.asarray(x) for x in parts]
        return _joined(arrays, lambda these: function(these, **options))

    return apply


def _joined(parts: Sequence[Any], join: Callable[[Sequence[Array]], Array]) -> Dual:
    duals = [x for x in parts if isinstance(x, Dual)]
    directions = duals[0].directions
    value = join([value_of(x) for x in parts])
    if all(x.output is not None for x in duals):
        first, second = (join([_full(x, name) for x in parts]) for name in ("first", "second"))
        return Dual(value, first, second, narrowed(join(list(map(_output_of, parts)))), directions)
    parts = [spread(x) if isinstance(x, Dual) else x for x in parts]
    first, second = (
        np.stack([join([_full(x, name, i) for x in parts]) for i in range(len(directions.outputs))])
        for name in ("first", "second")
    )
    return Dual(value, first, second, None, directions)


def _full(x: Any, name: str, direction: int | None = None) -> Array:
    """Return a derivative in full shape, for one score of a pass or for the only score."""
    derivative = getattr(x, name) if isinstance(x, Dual) else None
    if derivative is None:
        return np.zeros(np.shape(value_of(x)))
    return np.broadcast_to(derivative if direction is None else derivative[direction], x.shape)


def _output_of(x: Any) -> Array:
    output: Any = x.output if isinstance(x, Dual) else 0
    return np.broadcast_to(output, np.shape(value_of(x)))


def _sum(x: Dual, axis: Any = None, keepdims: bool = False) -> Dual:
    """Return the sum along an axis; along the axis of the scores it depends on all of them."""
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis) % x.ndim)
    value = x.value.sum(axis=axes, keepdims=keepdims)
    output = x.output
    if output is not None and axes == (x.ndim - 1,) and output.shape == x.shape[-1:]:
        return _sum_of_scores(x, value, keepdims)
    if output is not None and output.ndim:
        x, output = spread(x), None
    lead = 0 if output is not None else 1

    def total(derivative: Any) -> Derivative:
        if derivative is None:
            return None
        full = np.broadcast_to(derivative, (*np.shape(derivative)[:lead], *x.shape))
        return full.sum(axis=tuple(lead + a for a in axes), keepdims=keepdims)

    return Dual(value, total(x.first), total(x.second), output, x.directions)


def _sum_of_scores(x: Dual, value: Array, keepdims: bool) -> Dual:
    """Sum along a last axis whose elements depend on one score each, score by score."""

    def by_score(derivative: Derivative) -> Derivative:
        if derivative is None:
            return None
        full = np.broadcast_to(derivative, x.shape)
        result = np.empty((len(x.directions.outputs), *value.shape))
        for out, score in zip(result, x.directions.outputs, strict=True):
            places: Any = np.flatnonzero(x.output == score)
            if len(places) == 1:  # a view is enough
                places = slice(places[0], places[0] + 1)
            np.sum(full[..., places], axis=-1, keepdims=keepdims, out=out)
        return result

    return Dual(value, by_score(x.first), by_score(x.second), None, x.directions)


def _mean(x: Dual, axis: Any = None, keepdims: bool = False) -> Any:
    total = _sum(x, axis, keepdims)
    return total / (x.size / total.size)


def _extreme(place: Function, x: Dual, axis: Any = None, keepdims: bool = False) -> Dual:
    """Return the element at np.argmax or np.argmin along an axis."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    index = place(x.value, axis=axis, keepdims=True)
    result = rearranged(x, lambda array: np.take_along_axis(array, index, axis))
    return result if keepdims else result.squeeze(axis)


def _product(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the product along an axis."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    result = reduce(operator.mul, np.moveaxis(x, axis, 0))
    return np.expand_dims(result, axis) if keepdims else result


def _log_sum_exp(x: Dual, axis: Any = 0, keepdims: bool = False) -> Any:
    """Return log Σ e^x along an axis, without overflow."""
    largest = x.value.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    exponentials: Any = np.exp(x - largest)
    total = np.log(_sum(exponentials, axis, keepdims=True)) + largest
    return total if keepdims else total.squeeze(axis)


def _cumsum(x: Dual, axis: Any = None) -> Dual:
    if axis is None:
        x, axis = x.reshape(-1), 0
    if x.output is None or x.output.ndim:
        x = spread(x)
    lead = 0 if x.output is not None else 1
    after = axis % x.ndim - x.ndim

    def added_up(derivative: Any) -> Any:
        if derivative is None:
            return None
        full = np.broadcast_to(derivative, (*np.shape(derivative)[:lead], *x.shape))
        return np.cumsum(full, axis=after)

    value = np.cumsum(x.value, axis)
    return Dual(value, added_up(x.first), added_up(x.second), x.output, x.directions)


def _diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        length = x.shape[axis]
        later, earlier = (
            np.take(x, np.arange(start, start + length - 1), axis=axis) for start in (1, 0)
        )
        x = later - earlier
    return x


def _sort(x: Dual, axis: int = -1) -> Dual:
    order = np.argsort(x.value, axis=axis, kind="stable")
    return rearranged(x, lambda array: np.take_along_axis(array, order, axis))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    if ord not in (None, 2) or np.ndim(axis) or axis is None:
        refuse(
            f"np.linalg.norm with ord={ord!r}, axis={axis!r}",
            "Only the 2-norm along one axis is supported",
        )
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, Dual) or isinstance(b, Dual):
        return selected(condition, a, b)
    return np.where(value_of(condition), a, b)


def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0.0) -> Any:
    chosen = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        chosen = _where(condition, choice, chosen)
    return chosen


def _clip(
    x: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,  # noqa: A002  NumPy's names
    max: Any = None,  # noqa: A002
) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


REDUCTIONS |= {
    np.add: lambda x, axis=0, keepdims=False: _sum(x, axis, keepdims),
    np.multiply: lambda x, axis=0, keepdims=False: _product(x, axis, keepdims),
    np.maximum: lambda x, axis=0, keepdims=False: _extreme(np.argmax, x, axis, keepdims),
    np.minimum: lambda x, axis=0, keepdims=False: _extreme(np.argmin, x, axis, keepdims),
    np.logaddexp: _log_sum_exp,
}
FUNCTIONS |= {
    np.sum: _sum,
    np.mean: _mean,
    np.prod: _product,
    np.cumsum: _cumsum,
    np.diff: _diff,
    np.sort: _sort,
    np.linalg.norm: _norm,
    np.where: _where,
    np.select: _select,
    np.clip: _clip,
    np.copy: lambda x: x,
    np.max: partial(_extreme, np.argmax),
    np.amax: partial(_extreme, np.argmax),
    np.min: partial(_extreme, np.argmin),
    np.amin: partial(_extreme, np.argmin),
}
FUNCTIONS |= {function: _moving(function) for function in MOVING}
FUNCTIONS |= {function: _joining(function) for function in JOINING}
FUNCTIONS |= {f: partial(_on_values, f) for f in ARRAYS_WITHOUT_DERIVATIVE}
