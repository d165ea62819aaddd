"""Type aliases that the whole library shares. This module imports nothing of the library."""

from __future__ import annotations

from typing import Any

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
