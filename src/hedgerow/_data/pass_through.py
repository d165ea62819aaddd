"""Tables that are passed through to base estimators: checked and reordered, but not converted.

Bagging, AdaBoost and stagewise boosting pass tables on to base estimators, which alone know how to
read them. Common checks are made here: rows and columns, names, and that the indices of a sparse
matrix are valid before rows are selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import validate_data

from hedgerow._data.gpu_arrays import on_host
from hedgerow._data.names import (
    COLUMN_NAMES,
    Names,
    column_order,
    fitted_names,
    labels_of,
    name_attributes,
    read_names,
)
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.sources import (
    are_records,
    as_data_frame,
    as_frame,
    is_empty_list,
    refuse_no_table,
    refuse_single_row,
    require_columns,
    require_rows,
    with_usual_columns,
)
from hedgerow._data.sparse import sound
from hedgerow._types import Indices
from hedgerow.exceptions import DataError

_NO_CONVERSION: dict[str, Any] = {
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
    """Check the table of a `fit`; also return scikit-learn's attributes for its columns."""
    refuse_single_row(X)
    X, names = _checked(X)
    require_columns(*X.shape)
    require_rows(*X.shape)
    return _acceptable(X, names), {"n_features_in_": X.shape[1]} | name_attributes(names)


def fitted_columns(estimator: FittedColumns) -> dict[str, Any]:
    """Return the attributes that describe the columns of the last `fit`."""
    names = {"n_features_in_", "feature_names_in_", COLUMN_NAMES}
    return {name: value for name, value in vars(estimator).items() if name in names}


def check_columns(estimator: FittedColumns, X: Any) -> Any:
    """Check that a table has the columns of `fit`, and return it with the columns in that order."""
    X = _with_columns(estimator, X)
    X, names = _checked(X)
    require_columns(*X.shape)
    learned, n_features = fitted_names(estimator), estimator.n_features_in_
    order = column_order(learned, names, n_features, X.shape[1], type(estimator).__name__)
    X = X if isinstance(order, range) else _in_order(X, order)
    return X if names is None else _acceptable(X, learned or names)


def _with_columns(estimator: FittedColumns, X: Any) -> Any:
    """Return an empty list of records, which names no columns, as a table of those of `fit`."""
    if not is_empty_list(X):
        return X
    names, empty = fitted_names(estimator), np.empty((0, estimator.n_features_in_))
    if names is None:
        return empty
    pandas = import_module("pandas")
    return pandas.DataFrame(empty, columns=pandas.Index(names, tupleize_cols=False))


def take_rows(array: Any, rows: Indices) -> Any:
    """Return some rows of an array, table or list, with the same type."""
    if isinstance(array, np.ndarray):
        return array[rows]
    if isinstance(array, ParquetTable):
        return array.take(rows)
    native = nw.from_native(with_usual_columns(array), allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    return _safe_indexing(array, rows)


def learn_anything(X: Any) -> tuple[Any, dict[str, Any]]:
    """Check an X that only the base estimator understands, such as a list of texts."""
    if _is_frame(X):
        return learn_columns(X)
    refuse_no_table(X)
    X = sound(X)
    holder = BaseEstimator()
    validate_data(holder, X, skip_check_array=True)
    return X, dict(vars(holder))


def check_anything(estimator: FittedColumns, X: Any) -> Any:
    """Check that an X for the base estimator has the columns of `fit`, if it has columns."""
    has_columns = hasattr(estimator, "n_features_in_")  # not after a fit to texts or dicts
    X = _with_columns(estimator, X) if has_columns else X
    if has_columns and (_is_frame(X) or are_records(X)):
        return check_columns(estimator, X)
    if type(X) is dict:
        X = [X]
    refuse_no_table(X)
    X = sound(X)
    if has_columns:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return X


def _is_frame(X: Any) -> bool:
    return nw.dependencies.is_into_dataframe(X) and not isinstance(X, np.ndarray)


def _checked(X: Any) -> tuple[Any, Names | None]:
    """Keep data frames; convert lists and the like to arrays, and records to a data frame."""
    X = on_host(X)
    if are_records(X):
        X = as_data_frame(X)
    if nw.dependencies.is_pandas_dataframe(X):
        return with_usual_columns(X), read_names(X.columns.tolist())
    frame = as_frame(X)
    if frame is not None:
        return frame.to_native(), read_names(frame.columns)
    refuse_no_table(X)
    try:
        return check_array(sound(X), **_NO_CONVERSION), None
    except ValueError as error:
        raise DataError(str(error)) from error


def _acceptable(X: Any, names: Names | None) -> Any:
    """Rename columns to strings if only some names are strings, as scikit-learn requires."""
    strings = [isinstance(name, str) for name in names or ()]
    is_mixed = any(strings) and not all(strings)
    return X.set_axis(list(labels_of(names, len(strings))), axis=1) if is_mixed else X


def _in_order(X: Any, order: Sequence[int]) -> Any:
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:, list(order)]
    frame = nw.from_native(X)
    return frame.select([frame.columns[j] for j in order]).to_native()
