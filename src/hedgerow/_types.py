"""Types that the whole library shares. This module imports nothing of the library."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# Indices as NumPy returns them, for example from np.flatnonzero.
Indices = NDArray[np.intp]
# Row numbers as kernels take and return them.
RowNumbers = NDArray[np.int64]
# What a fit adds to an estimator, by name.
Attributes = dict[str, Any]


class SklearnEstimator(Protocol):
    """An estimator in scikit-learn's sense, of this library or another."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the estimator to a table and its target."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""


class Snapshot:
    """An object that is pickled and copied as it is at one moment.

    Objects that compute attributes when they are first needed change while other threads use them,
    and Python refuses to write a dictionary that changes.
    """

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()
