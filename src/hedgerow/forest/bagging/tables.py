"""Tables for estimators of any make: checked but not converted, and taken apart as they are."""

from __future__ import annotations

from copy import copy
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from hedgerow.data.sparse import sound
from hedgerow.exceptions import DataError

_COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


def learn_columns(estimator: Any, X: Any) -> tuple[Any, dict[str, Any]]:
    """Check the table of a `fit`; also return scikit-learn's attributes about its columns."""
    scratch = copy(estimator)  # scikit-learn writes them onto the estimator, which may be too early
    X = _checked(scratch, X, reset=True)
    known = vars(scratch)
    return X, {name: known[name] for name in _COLUMN_ATTRIBUTES if name in known}


def check_columns(estimator: Any, X: Any) -> Any:
    """Check that a table has the columns of the one that the estimator was fitted on."""
    return _checked(estimator, X, reset=False)


def _checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Let data frames be; turn lists and the like into arrays."""
    is_frame = _as_frame(X) is not None
    if is_frame and 0 in X.shape:
        raise DataError(f"X has shape {X.shape}; there must be a row and a column at least.")
    options = {"accept_sparse": ["csr", "csc"], "dtype": None, "ensure_all_finite": False}
    try:
        return validate_data(
            estimator,
            sound(X),
            reset=reset,
            skip_check_array=is_frame,
            **({} if is_frame else options),
        )
    except ValueError as error:
        raise DataError(str(error)) from error


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
