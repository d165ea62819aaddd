"""Tables for estimators of any make: checked, brought into the order of `fit`, but not converted.

Bags, committees and stagewise models hand tables on to base estimators, which alone know how to
read them. What they all need is checked here: rows and columns, names, and that a sparse matrix is
sound before rows are taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from hedgerow._data.frames import with_usual_columns
from hedgerow._data.names import (
    COLUMN_NAMES,
    Names,
    column_order,
    fitted_names,
    labels_of,
    name_attributes,
    read_names,
)
from hedgerow._data.records import are_records, as_data_frame, refuse_single_row
from hedgerow._data.sources import (
    as_frame,
    refuse_no_table,
    require_columns,
    require_rows,
)
from hedgerow._data.sparse import sound
from hedgerow.exceptions import DataError

_AS_IT_IS: dict[str, Any] = {
    "accept_sparse": ["csr", "csc"],
    "dtype": None,
    "ensure_all_finite": False,
    "ensure_min_samples": 0,
    "ensure_min_features": 0,
}


class FittedColumns(Protocol):
    """A fitted estimator, as far as its columns go. One that was fitted to texts has none."""

    n_features_in_: int


def learn_columns(X: Any) -> tuple[Any, dict[str, Any]]:
    """Check the table of a `fit`; also return scikit-learn's attributes about its columns."""
    refuse_single_row(X)
    X, names = _checked(X)
    require_columns(*X.shape)
    require_rows(*X.shape)
    return _acceptable(X, names), {"n_features_in_": X.shape[1]} | name_attributes(names)


def known_columns(estimator: FittedColumns) -> dict[str, Any]:
    """Return the attributes about the columns of the last `fit`."""
    known = {"n_features_in_", "feature_names_in_", COLUMN_NAMES}
    return {name: value for name, value in vars(estimator).items() if name in known}


def check_columns(estimator: FittedColumns, X: Any) -> Any:
    """Check that a table has the columns of the one of `fit`, and give it with these in order."""
    X, names = _checked(X)
    require_columns(*X.shape)
    learned, n_features = fitted_names(estimator), estimator.n_features_in_
    order = column_order(learned, names, n_features, X.shape[1], type(estimator).__name__)
    X = X if isinstance(order, range) else _in_order(X, order)
    return X if names is None else _acceptable(X, learned or names)


def learn_anything(X: Any) -> tuple[Any, dict[str, Any]]:
    """Check what base estimators may read in their own way, such as a list of texts."""
    if _is_frame(X):
        return learn_columns(X)
    refuse_no_table(X)
    X = sound(X)
    holder = BaseEstimator()
    validate_data(holder, X, skip_check_array=True)
    return X, dict(vars(holder))


def check_anything(estimator: FittedColumns, X: Any) -> Any:
    """Check that what base estimators read in their own way has the columns of `fit`, if any."""
    knows_columns = hasattr(estimator, "n_features_in_")  # not of a fit to texts, or to dicts
    if knows_columns and (_is_frame(X) or are_records(X)):
        return check_columns(estimator, X)
    if type(X) is dict:
        X = [X]
    refuse_no_table(X)
    X = sound(X)
    if knows_columns:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return X


def _is_frame(X: Any) -> bool:
    return nw.dependencies.is_into_dataframe(X) and not isinstance(X, np.ndarray)


def _checked(X: Any) -> tuple[Any, Names | None]:
    """Let data frames be; turn lists and the like into arrays, and rows of names into a frame."""
    if are_records(X):
        X = as_data_frame(X)
    if nw.dependencies.is_pandas_dataframe(X):
        return with_usual_columns(X), read_names(X.columns.tolist())
    frame = as_frame(X)
    if frame is not None:
        return frame.to_native(), read_names(frame.columns)
    refuse_no_table(X)
    try:
        return check_array(sound(X), **_AS_IT_IS), None
    except ValueError as error:
        raise DataError(str(error)) from error


def _acceptable(X: Any, names: Names | None) -> Any:
    """Give columns that are named by strings and by others strings, as scikit-learn wants it."""
    strings = [isinstance(name, str) for name in names or ()]
    is_mixed = any(strings) and not all(strings)
    return X.set_axis(list(labels_of(names, len(strings))), axis=1) if is_mixed else X


def _in_order(X: Any, order: Sequence[int]) -> Any:
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:, list(order)]
    frame = nw.from_native(X)
    return frame.select([frame.columns[j] for j in order]).to_native()
