"""The table of metrics, their parameters, and the preparation of numbers for the kernels.

A new metric is a row of `SPECS` here and a functor with a row of `kMetrics` in
`native/neighbors/distances.hpp`; kernels find it by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isinf
from typing import Any

import numpy as np
import scipy.sparse

from hedgerow import _native
from hedgerow._data.columns import CategoricalColumn
from hedgerow._data.intake import Table, TableSchema
from hedgerow._params import Number
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

# Powers of differences up to 2^(_HIGH / p) can be summed without overflow; differences as small as
# 2^(_LOW / p) are far from underflow.
_HIGH, _LOW = 900, -600
_MAX_EXPONENT = 1000


@dataclass(frozen=True)
class MetricSpec:
    """One row of the table of metrics; the kernels have a row of the same name (distances.hpp).

    Attributes
    ----------
    aliases : tuple of str
        Other names.
    params : tuple of str
        Allowed keys of `metric_params`.
    p : float
        The power in which distances are summed, for scaling large and small numbers.
    sums_powers : bool
        Whether a distance is a sum of powers of differences, or their maximum.
    supports_sparse : bool
        Whether rows may be sparse: distances follow from products of rows, or are the entries.
    supports_mixed : bool
        Whether rows may have categories and missing values.
    is_opaque : bool
        Whether nothing is known about distances but their values: all are examined.
    """

    aliases: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    p: float = 2.0
    sums_powers: bool = False
    supports_sparse: bool = False
    supports_mixed: bool = False
    is_opaque: bool = False


FUNCTION = "function"  # the name of a user-defined function
SPECS: Mapping[str, MetricSpec] = {
    "euclidean": MetricSpec(("l2",), sums_powers=True, supports_sparse=True),
    "manhattan": MetricSpec(("l1", "cityblock"), p=1.0, sums_powers=True),
    "chebyshev": MetricSpec(("infinity",), p=1.0, sums_powers=True),
    "minkowski": MetricSpec(params=("p",), sums_powers=True),
    "cosine": MetricSpec(supports_sparse=True),
    "gower": MetricSpec(params=("w", "categorical_features"), supports_mixed=True),
    "precomputed": MetricSpec(supports_sparse=True, is_opaque=True),
    FUNCTION: MetricSpec(is_opaque=True),
}
_NAME_OF_ALIAS = {alias: name for name, spec in SPECS.items() for alias in spec.aliases}
METRICS = (*(name for name in SPECS if name != FUNCTION), *_NAME_OF_ALIAS)


@dataclass(frozen=True)
class DistanceMetric:
    """A metric of the table with its power, or a user-defined function."""

    name: str
    p: float = 2.0
    function: Callable[..., Any] | None = None
    function_params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> MetricSpec:
        """The row of the table."""
        return SPECS[self.name]

    @property
    def requires_numbers(self) -> bool:
        """Whether rows must be numbers without missing values."""
        return not self.spec.supports_mixed

    @property
    def min_accurate_distance(self) -> float:
        """A distance from which on no power that contributes to it underflows."""
        return float(np.ldexp(1.0, int(_LOW / self.p)))

    @property
    def description(self) -> str:
        """What error messages call it."""
        return "a user-defined metric" if self.name == FUNCTION else f"metric={self.name!r}"

    @property
    def params(self) -> dict[str, Any]:
        """The effective parameters, in scikit-learn's terms."""
        return {"p": self.p} if self.name == "minkowski" else dict(self.function_params)


def resolve_metric(
    metric: str | Callable[..., Any], p: float, params: Mapping[str, Any] | None
) -> DistanceMetric:
    """Return the metric that an estimator's parameters select."""
    params = {} if params is None else params
    if callable(metric):
        return DistanceMetric(FUNCTION, function=metric, function_params=params)
    name = _NAME_OF_ALIAS.get(metric, metric)
    spec = SPECS[name]
    for key in params:
        if key not in spec.params:
            raise ParameterError(
                f"metric_params: the metric {name!r} has no parameter {key!r}; "
                f"allowed: {', '.join(spec.params) or 'none'}."
            )
    return _minkowski(params.get("p", p)) if name == "minkowski" else DistanceMetric(name, spec.p)


def _minkowski(p: Any) -> DistanceMetric:
    if p not in Number(0, open_low=True) and not (isinstance(p, float) and p == inf):
        raise ParameterError(f"metric_params: p={p!r} is not allowed; it must be a number > 0.")
    if isinf(p):
        return DistanceMetric("chebyshev", 1.0)
    return DistanceMetric({1: "manhattan", 2: "euclidean"}.get(p, "minkowski"), float(p))


def unit_rows(rows: Any, threads: int) -> Any:
    """Divide each row by its norm, without overflow or underflow; a row of zeros is unchanged."""
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
    """The smallest and largest value of each column."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, rows: Any) -> Extent:
        """Return the extent of the rows of a matrix."""
        if scipy.sparse.issparse(rows):
            low, high = rows.min(axis=0).toarray(), rows.max(axis=0).toarray()
            return cls(low.ravel(), high.ravel())
        return cls(rows.min(axis=0), rows.max(axis=0))

    def joined(self, other: Extent) -> Extent:
        """Return the extent of both."""
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def exponent(self, metric: DistanceMetric) -> int:
        """Return e so that distances of numbers times 2^e neither overflow nor underflow.

        It is 0 whenever possible. Multiplying by a power of two is exact.
        """
        _, spread = np.frexp((self.high / 2 - self.low / 2).max())
        high, low = int(_HIGH / metric.p), int(_LOW / metric.p)
        if spread >= high:
            return high - int(spread)
        if spread > low:  # also for a spread of 0
            return 0
        _, largest = np.frexp(max(np.abs(self.high).max(), np.abs(self.low).max()))
        return max(0, min(-int(spread), _MAX_EXPONENT - int(largest)))


@dataclass(frozen=True)
class GowerColumns:
    """The weight of each column for Gower's distance, and 1 / range.

    A numeric column contributes |difference| / range, with the range of the training set. A column
    that is categorical, or constant in training, contributes 0 if the values are equal and else 1;
    its 1 / range is 0.
    """

    weights: Floats
    inverse_ranges: Floats

    @classmethod
    def learn(cls, rows: Floats, schema: TableSchema, params: Mapping[str, Any]) -> GowerColumns:
        """Compute the ranges of the training set."""
        present = ~np.isnan(rows)
        high = np.max(rows, axis=0, initial=-np.inf, where=present)
        low = np.min(rows, axis=0, initial=np.inf, where=present)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            inverse = 1.0 / (high - low)
        inverse[~np.isfinite(inverse) | (high <= low) | schema.is_categorical] = 0.0
        return cls(_weights(params.get("w"), schema.n_features), inverse)


def _weights(weights_param: Any, n_features: int) -> Floats:
    if weights_param is None:
        return np.ones(n_features)
    try:
        weights = np.array(weights_param, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"metric_params: w={weights_param!r} is not a list of numbers."
        ) from error
    if weights.shape != (n_features,):
        raise ParameterError(
            f"metric_params: w has shape {weights.shape}, but X has {n_features} columns."
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
        raise ParameterError("metric_params: w must be finite and nonnegative, and not all 0.")
    return weights


def mixed_matrix(table: Table) -> Floats:
    """Return a table as float64, with codes for categories and NaN for missing values."""
    matrix = np.empty((table.n_rows, table.n_features))
    for j in range(table.n_features):
        column = table.column(j)
        if isinstance(column, CategoricalColumn):
            matrix[:, j] = column.codes
            matrix[column.codes < 0, j] = np.nan
        else:
            matrix[:, j] = column.values
            matrix[column.is_missing(), j] = np.nan
    return matrix
