"""The classes of y, as models keep them: of one column, or of several columns of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The classes of y; of several columns of labels, a list of the classes of each.
Classes = NDArray[Any] | list[NDArray[Any]]


def labels_of(classes: list[NDArray[Any]], has_label: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the classes of each column, (n_rows, n_columns)."""
    columns = zip(classes, has_label.T.astype(np.intp), strict=True)
    return np.column_stack([of_column[index] for of_column, index in columns])
