"""Distances: their names and parameters, and the space in which kernels compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isinf
from typing import Any

import numpy as np
import scipy.sparse

from hedgerow import _native
from hedgerow._params import Number
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

_SAME = {
    "l2": "euclidean",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "infinity": "chebyshev",
}
_KINDS = ("euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "gower")
METRICS = (*_KINDS, "precomputed", *_SAME)
FUNCTION = "function"  # the name of a metric that has none
# What `metric_params` may say of each metric.
_PARAMS: Mapping[str, tuple[str, ...]] = {
    "minkowski": ("p",),
    "gower": ("w", "categorical_features"),
}
# Powers of differences up to 2^(_HIGH / p) can be added up; differences as small as 2^(_LOW / p)
# are far from the smallest number whose power is not 0.
_HIGH, _LOW = 900, -600
_LARGEST = 1000


@dataclass(frozen=True)
class Metric:
    """A distance: one of the kinds and the power of its sum, a function, or given by a matrix."""

    name: str
    p: float = 2.0
    function: Callable[..., Any] | None = None
    function_params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> int:
        """The kernels' number of it."""
        return _KINDS.index(self.name)

    @property
    def has_products(self) -> bool:
        """Whether products of rows tell distances: rows may then be those of a sparse matrix."""
        return self.name in ("euclidean", "cosine")

    @property
    def is_given(self) -> bool:
        """Whether nothing is known of it but the distances themselves."""
        return self.name in ("precomputed", FUNCTION)

    @property
    def has_powers(self) -> bool:
        """Whether distances are sums of powers, or of the largest, of the numbers as they are."""
        return self.name in ("euclidean", "manhattan", "chebyshev", "minkowski")

    @property
    def sharp_from(self) -> float:
        """A distance from which on no power that matters to it is too small for a float64."""
        return float(np.ldexp(1.0, int(_LOW / self.p)))

    @property
    def is_of_numbers(self) -> bool:
        """Whether rows must be numbers without gaps."""
        return self.name != "gower"

    @property
    def words(self) -> str:
        """What messages say that something does not have."""
        given = {
            "precomputed": "place in a matrix of distances",
            FUNCTION: "distance by a function",
        }
        return given.get(self.name, f"{self.name} distance")

    @property
    def params(self) -> dict[str, Any]:
        """What scikit-learn calls the effective parameters."""
        return {"p": self.p} if self.name == "minkowski" else dict(self.function_params)


def chosen_metric(
    chosen: str | Callable[..., Any], p: float, params: Mapping[str, Any] | None
) -> Metric:
    """Return the metric that an estimator's parameters mean."""
    params = {} if params is None else params
    if callable(chosen):
        return Metric(FUNCTION, function=chosen, function_params=params)
    name = _SAME.get(chosen, chosen)
    allowed = _PARAMS.get(name, ())
    for key in params:
        if key not in allowed:
            raise ParameterError(
                f"metric_params names {key!r}, which the metric {name!r} does not have; "
                f"allowed: {', '.join(allowed) or 'none'}."
            )
    if name == "minkowski":
        return _minkowski(params.get("p", p))
    return Metric(name, {"manhattan": 1.0, "chebyshev": 1.0}.get(name, 2.0))


def _minkowski(p: Any) -> Metric:
    if p not in Number(0, open_low=True) and not (isinstance(p, float) and p == inf):
        raise ParameterError(f"metric_params: p={p!r} is not allowed; it must be a number > 0.")
    if isinf(p):
        return Metric("chebyshev", 1.0)
    return Metric({1: "manhattan", 2: "euclidean"}.get(p, "minkowski"), float(p))


def unit_rows(rows: Any, threads: int) -> Any:
    """Divide each row by its norm, whatever its scale; a row of zeros stays."""
    if scipy.sparse.issparse(rows):
        values = np.empty(rows.nnz)
        _native.unit_rows(rows.data, rows.indptr.astype(np.int64), values, threads)
        return scipy.sparse.csr_array((values, rows.indices, rows.indptr), rows.shape)
    n, d = rows.shape
    units = np.empty((n, d))
    starts = np.arange(0, n * d + 1, d, dtype=np.int64)
    _native.unit_rows(rows.ravel(), starts, units.ravel(), threads)
    return units


@dataclass(frozen=True)
class Extent:
    """How far numbers reach: their size and, in the widest column, their spread, halved."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, rows: Any) -> Extent:
        """Look at the rows of a matrix."""
        if scipy.sparse.issparse(rows):
            low, high = rows.min(axis=0).toarray(), rows.max(axis=0).toarray()
            return cls(low.ravel(), high.ravel())
        return cls(rows.min(axis=0), rows.max(axis=0))

    def joined(self, other: Extent) -> Extent:
        """Reach as far as both."""
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def exponent(self, metric: Metric) -> int:
        """Return e so that numbers times 2^e have distances that are neither infinite nor lost.

        It is 0 unless it must not be. Powers of two change no digit.
        """
        _, spread = np.frexp((self.high / 2 - self.low / 2).max())
        high, low = int(_HIGH / metric.p), int(_LOW / metric.p)
        if spread >= high:
            return high - int(spread)
        if spread > low:  # as of 0, too
            return 0
        _, largest = np.frexp(max(np.abs(self.high).max(), np.abs(self.low).max()))
        return max(0, min(-int(spread), _LARGEST - int(largest)))
