"""Tables for estimators of any make, taken apart as they are."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table, or of an array of any rank, as the same kind of thing."""
    return _safe_indexing(X, rows)


def take_columns(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns of a table; in a data frame a repeated one gets a name of its own."""
    frame = _as_frame(X)
    if frame is None:
        return X[:, columns]
    known = [frame.columns[column] for column in columns]
    if not all(isinstance(name, str) for name in known):  # which only pandas allows
        return X.iloc[:, columns].set_axis(range(len(columns)), axis=1)
    repeats = [known[:place].count(name) for place, name in enumerate(known)]
    names = [f"{name}#{n + 1}" if n else name for name, n in zip(known, repeats, strict=True)]
    taken = [nw.nth(int(j)).alias(name) for j, name in zip(columns, names, strict=True)]
    return frame.select(taken).to_native()


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    frame = nw.from_native(X, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None
