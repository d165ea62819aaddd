"""Predictions and Shapley values of Dask collections, partition by partition.

The tasks of all partitions share the bytes of the model, which Dask sends to each worker once; a
worker unpickles them once and keeps the model by its digest.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow.dask._collections import (
    is_collection,
    partitions_of,
    read_dataset,
    require_two_dimensions,
)
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.explain import shap_values as local_shap_values

_MOST_MODELS = 8  # that a worker keeps
_MODELS: OrderedDict[str, Any] = OrderedDict()
_LOCK = Lock()


def predict(model: Any, X: Any, *, offset: Any = None) -> Any:
    """Return the predictions of a model for the rows of a Dask collection.

    Parameters
    ----------
    model : fitted estimator
        An estimator of `hedgerow.dask`, or any estimator of `hedgerow`.
    X : Dask DataFrame or Array
        The rows.
    offset : Dask Series, DataFrame or Array, optional
        Offsets, with the partitions of X, which gradient boosting adds to the scores.

    Returns
    -------
    Dask Series, DataFrame or Array
        With the partitions of X. For a DataFrame, a Series with the index of X, or a DataFrame if
        there are several outputs; for an Array, an Array.
    """
    return _by_partition(model, X, "predict", offset)


def predict_proba(model: Any, X: Any, *, offset: Any = None) -> Any:
    """Return the probability of each class for the rows of a Dask collection.

    Parameters
    ----------
    model : fitted classifier
        An estimator of `hedgerow.dask` or `hedgerow`.
    X : Dask DataFrame or Array
        The rows.
    offset : Dask Series, DataFrame or Array, optional
        As for `predict`.

    Returns
    -------
    Dask DataFrame or Array
        With the partitions of X. The columns of a DataFrame are the classes.
    """
    return _by_partition(model, X, "predict_proba", offset)


def shap_values(model: Any, X: Any) -> Any:
    """Return the Shapley values of each column for the rows of a Dask collection.

    Parameters
    ----------
    model : fitted estimator
        A tree ensemble of `hedgerow.dask` or `hedgerow`.
    X : Dask DataFrame or Array
        The rows.

    Returns
    -------
    Dask DataFrame or Array
        With the partitions of X: the ``values`` of `hedgerow.explain.shap_values`. For a DataFrame,
        a DataFrame with its columns and index, or an Array if the model has several outputs.
    """
    return _by_partition(model, X, "shap_values")


def local_model(model: Any) -> Any:
    """Return a fitted estimator of `hedgerow`."""
    to_local = getattr(model, "to_local", None)
    local = to_local() if to_local is not None else model
    if not isinstance(local, Estimator):
        raise ParameterError(
            f"model is a {type(model).__name__}; it must be a fitted estimator of hedgerow."
        )
    internals(local).model()  # which raises if it is not fitted
    return local


def _by_partition(model: Any, X: Any, method: str, offset: Any = None) -> Any:
    local = local_model(model)
    if not is_collection(X) or isinstance(X, dd.Series | dd.Index):
        raise DataError(
            f"X is a {type(X).__name__}; it must be a Dask DataFrame or Array. For a table in "
            f"memory, use the method of the local model, model.to_local().{method}(X)."
        )
    require_two_dimensions(X)
    if method == "predict_proba" and not hasattr(local, method):
        raise ParameterError(f"{type(local).__name__} has no predict_proba.")
    data = pickle.dumps(local, protocol=5)
    digest = hashlib.sha256(data).hexdigest()
    packed = dask.delayed(data, name=f"hedgerow-model-{digest[:32]}", traverse=False)
    if offset is not None:
        return _with_offset(local, X, offset, packed, digest, method)
    if isinstance(X, da.Array):
        return _of_array(local, X, packed, digest, method)
    return _of_frame(local, X, packed, digest, method)


# ---- arrays --------------------------------------------------------------------------------------


def _of_array(local: Any, X: da.Array, packed: Any, digest: str, method: str) -> da.Array:
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    example = _values(local, np.empty((0, X.shape[1]), X.dtype), method)
    shape: dict[str, Any] = {"drop_axis": 1}
    if example.ndim > 1:
        shape = {"chunks": (X.chunks[0], *((n,) for n in example.shape[1:]))}
    if example.ndim > 2:
        shape["new_axis"] = list(range(2, example.ndim))
    return X.map_blocks(_block, packed=packed, digest=digest, method=method, meta=example, **shape)


def _block(block: Any, packed: bytes, digest: str, method: str) -> NDArray[Any]:
    return _values(loaded(digest, packed), block, method)


# ---- data frames ---------------------------------------------------------------------------------


def _of_frame(local: Any, X: dd.DataFrame, packed: Any, digest: str, method: str) -> Any:
    example = _values(local, X._meta, method)  # noqa: SLF001  the empty table that Dask documents
    if example.ndim > 2:
        blocks = [
            da.from_delayed(
                dask.delayed(_block)(part, packed, digest, method),
                shape=(np.nan, *example.shape[1:]),
                meta=example,
            )
            for part in partitions_of(X)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)
    names = _column_names(local, example, method, list(X.columns))
    return X.map_partitions(
        _partition,
        packed,
        digest,
        method,
        names,
        meta=_with_index(example, X._meta.index, names),  # noqa: SLF001
        enforce_metadata=False,
    )


def _partition(part: pd.DataFrame, packed: bytes, digest: str, method: str, names: Any) -> Any:
    return _with_index(_values(loaded(digest, packed), part, method), part.index, names)


def _with_index(values: NDArray[Any], index: pd.Index, names: Any) -> Any:
    if values.ndim == 1:
        return pd.Series(values, index=index, name="prediction")
    return pd.DataFrame(values, index=index, columns=names)


def _column_names(local: Any, example: NDArray[Any], method: str, columns: list[Any]) -> Any:
    if example.ndim == 1:
        return None
    if method == "shap_values":
        return list(getattr(local, "feature_names_in_", columns))
    classes = getattr(local, "classes_", None)
    if method == "predict_proba" and isinstance(classes, np.ndarray):
        has_column_each = len(classes) == example.shape[1]
        return classes.tolist() if has_column_each else list(range(example.shape[1]))
    return list(range(example.shape[1]))


# ---- with an offset ------------------------------------------------------------------------------


def _with_offset(local: Any, X: Any, offset: Any, packed: Any, digest: str, method: str) -> Any:
    """Return predictions for pairs of partitions: of X, and of what is added to its scores."""
    data = read_dataset({"X": X, "offset": offset})
    pairs = list(zip(data.arguments["X"], data.arguments["offset"], strict=True))
    empty: Any = np.empty((0, X.shape[1]), X.dtype) if isinstance(X, da.Array) else X._meta  # noqa: SLF001
    example = _values(local, empty, method)
    of_pair = dask.delayed(_pair)
    if isinstance(X, da.Array):
        lengths: Sequence[float] = data.lengths or [np.nan] * len(pairs)
        blocks = [
            da.from_delayed(
                of_pair(*pair, packed, digest, method), (n, *example.shape[1:]), meta=example
            )
            for pair, n in zip(pairs, lengths, strict=True)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)
    names = _column_names(local, example, method, list(X.columns))
    return dd.from_delayed(
        [of_pair(*pair, packed, digest, method, names) for pair in pairs],
        meta=_with_index(example, empty.index, names),
        divisions=X.divisions,
        verify_meta=False,
    )


def _pair(
    part: Any, offset: Any, packed: bytes, digest: str, method: str, names: Any = None
) -> Any:
    values = np.asarray(getattr(loaded(digest, packed), method)(part, offset=offset))
    return _with_index(values, part.index, names) if isinstance(part, pd.DataFrame) else values


# ---- on the workers ------------------------------------------------------------------------------


def _values(model: Any, X: Any, method: str) -> NDArray[Any]:
    if method == "shap_values":
        return np.asarray(local_shap_values(model, X).values)
    function: Callable[[Any], Any] = getattr(model, method)
    values = function(X)
    if isinstance(values, list):
        raise ParameterError(
            f"{method} of {type(model).__name__} returns an array for each column of y, which "
            "cannot become the columns of one collection. Use predict, or map_partitions."
        )
    return np.asarray(values)


def loaded(digest: str, packed: bytes) -> Any:
    """Return the model with a digest; unpickle it if this process does not have it yet."""
    with _LOCK:
        if digest not in _MODELS:
            _MODELS[digest] = pickle.loads(packed)
        _MODELS.move_to_end(digest)
        while len(_MODELS) > _MOST_MODELS:
            _MODELS.popitem(last=False)
        return _MODELS[digest]
