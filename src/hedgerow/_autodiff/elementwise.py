"""Elementwise functions of dual arrays, by the chain rule."""

from __future__ import annotations

import operator
from functools import partial, reduce
from typing import Any

import numpy as np

from hedgerow._autodiff.dual import (
    UFUNCS,
    Array,
    Dual,
    alike,
    plus,
    refuse,
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


def _on_values(ufunc: Any, *inputs: Any) -> Any:
    return ufunc(*map(value_of, inputs))


UFUNCS[np.matmul] = _matmul
for functions, how in (
    (UNARY, _unary),
    (BINARY, _binary),
    (SELECTIONS, _selection),
    (WITHOUT_DERIVATIVE, _on_values),
):
    for ufunc in functions:
        UFUNCS[ufunc] = partial(how, ufunc)
