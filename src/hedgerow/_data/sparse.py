"""Sparse tables: validation of their index arrays, for every function that accepts X; two layouts.

SciPy selects rows, converts and multiplies without checking the index arrays, so an invalid index
reads or writes outside the matrix. SciPy also caches whether indices are sorted, and the cache is
stale if the arrays were changed since then.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.columns import array_kind_error
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Snapshot
from hedgerow.exceptions import DataError

_COMPRESSED = ("csr", "csc", "bsr")


class SparseLayouts(Snapshot):
    """A valid sparse matrix, by rows and by columns; the layout that X does not have is made once.

    `matrix` has indices without duplicates, in CSR or CSC format. They are sorted, unless
    `is_sorted` is False: rows may then be in any order.
    """

    def __init__(self, matrix: Any, *, is_sorted: bool = True) -> None:
        self.matrix = matrix
        self.is_sorted = is_sorted

    @cached_property
    def csc(self) -> Any:
        """The table by columns."""
        return self.matrix.tocsc()

    @cached_property
    def csr(self) -> Any:
        """The table by rows, sorted."""
        return self.matrix.tocsr() if self.is_sorted else self.csc.tocsr()

    def rows_in_any_order(self, longest: int) -> tuple[Any, bool]:
        """Return the table by rows, and whether these are sorted.

        Rows that are not sorted stay as they are if they have at most `longest` entries on average.
        """
        if self.is_sorted or self.matrix.nnz > longest * self.matrix.shape[0]:
            return self.csr, True
        return self.matrix, False

    def columns(self, chosen: NDArray[np.intp]) -> NDArray[Any]:
        """Return some columns as a matrix of floats."""
        values = self.csc[:, chosen].toarray()
        return np.ascontiguousarray(values, np.result_type(np.float32, values.dtype))

    def take(self, rows: Any) -> SparseLayouts:
        """Return some of the rows: a slice, indices, or a mask."""
        taken = self.csr[rows]
        taken.sort_indices()
        return SparseLayouts(taken)


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix, or rows of one that share bins."""
    return scipy.sparse.issparse(X) or getattr(X, "sparse", None).__class__ is SparseLayouts


def sound(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix with validated indices; anything else is returned unchanged.

    The result shares the data of `X`, which is never changed, but none of its cached flags. The
    formats LIL and DOK are converted to CSR, the others keep their format.
    """
    if not scipy.sparse.issparse(X):
        return X
    if X.ndim != 2:
        raise DataError(
            f"{name} must have two dimensions, rows and columns, but its shape is {X.shape}."
        )
    if X.dtype.kind not in "biuf":
        raise array_kind_error(X.dtype, name)
    try:
        return _validated(X)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{name} is not a valid sparse matrix: {error}.") from error


def plain_rows(X: Any, n_jobs: int | None) -> SparseLayouts | None:
    """Return a CSR matrix of floats with the usual indices, validated by all threads at once.

    Return None for any other matrix, and for one that is invalid or has duplicates.
    """
    if X.format != "csr" or X.ndim != 2 or X.dtype not in (np.float32, np.float64):
        return None
    parts = (X.data, X.indices, X.indptr)
    if not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        return None
    if not all(part.flags.c_contiguous and part.flags.aligned for part in parts):
        return None
    if not (X.indices.dtype == X.indptr.dtype == np.int32 and len(X.indptr) == X.shape[0] + 1):
        return None
    if len(X.data) != len(X.indices) or not X.dtype.isnative:
        return None
    is_valid, is_sorted, is_unique = _native.examine_row_lists(
        X.indptr, X.indices, X.shape[1], effective_n_jobs(n_jobs)
    )
    if not (is_valid and is_unique):
        return None
    matrix = scipy.sparse.csr_array(parts, shape=X.shape)
    return SparseLayouts(matrix, is_sorted=is_sorted)


def sound_rows(X: Any, name: str = "X") -> Any:
    """Return a table, validated by `sound`, in a format that supports row selection."""
    X = sound(X, name)
    return X.tocsr() if scipy.sparse.issparse(X) and X.format not in ("csr", "csc") else X


def _validated(X: Any) -> Any:
    if X.format in _COMPRESSED:
        return _construct(X, X.format, (X.data, *_checked_compressed(X)))
    if X.format == "coo":
        return _construct(X, "coo", (X.data, _checked_coordinates(X)))
    if X.format == "lil":
        compressed = _construct(X, "csr", _compressed_lists(X))
        return sound(compressed)
    if X.format == "dia":
        return _construct(X, "dia", (X.data, X.offsets))  # SciPy validates all of it
    return X.tocoo().tocsr()


def _construct(X: Any, layout: str, parts: tuple[Any, ...]) -> Any:
    """Create a sparse matrix, or sparse array if X is one, without copying the parts."""
    kind = "array" if isinstance(X, scipy.sparse.sparray) else "matrix"
    return getattr(scipy.sparse, f"{layout}_{kind}")(parts, shape=X.shape, copy=False)


def _checked_compressed(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return indices and indptr, after checking that they stay within the matrix."""
    n_major, n_minor = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        n_major, n_minor = _in_blocks(X)
    elif X.data.ndim != 1:
        raise ValueError("data is not one-dimensional")
    indices, indptr = _integers(X.indices, "indices"), _integers(X.indptr, "indptr")
    if len(indptr) != n_major + 1:
        raise ValueError(f"indptr has {len(indptr)} entries, not {n_major + 1}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr does not increase from 0")
    if indptr[-1] > min(len(indices), len(X.data)) or len(indices) != len(X.data):
        raise ValueError(
            f"indptr ends at {indptr[-1]}, but there are {len(indices)} indices and "
            f"{len(X.data)} values"
        )
    _require_below(indices[: indptr[-1]], n_minor, "indices")
    return indices, indptr


def _in_blocks(X: Any) -> tuple[int, int]:
    """Return the number of block rows and block columns of a BSR matrix."""
    if X.data.ndim != 3 or 0 in X.data.shape[1:]:
        raise ValueError("data does not consist of blocks")
    (n_rows, n_columns), (height, width) = X.shape, X.data.shape[1:]
    if n_rows % height or n_columns % width:
        raise ValueError(f"blocks of {height} × {width} do not fill the shape {X.shape}")
    return n_rows // height, n_columns // width


def _checked_coordinates(X: Any) -> tuple[NDArray[Any], ...]:
    coordinates = tuple(
        _integers(index, f"indices of axis {axis}") for axis, index in enumerate(X.coords)
    )
    if len(coordinates) != 2 or {*map(len, coordinates)} != {len(X.data)}:
        raise ValueError("the numbers of row indices, column indices and values differ")
    for axis, index in enumerate(coordinates):
        _require_below(index, X.shape[axis], f"indices of axis {axis}")
    return coordinates


def _compressed_lists(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    lengths = list(map(len, X.rows))
    if lengths != list(map(len, X.data)):
        raise ValueError("the numbers of column indices and values differ")
    indices = list(chain.from_iterable(X.rows))
    return (
        np.array(list(chain.from_iterable(X.data)), X.dtype),
        np.array(indices) if indices else np.zeros(0, np.int64),
        np.cumsum([0, *lengths]),
    )


def _integers(index: Any, name: str) -> NDArray[Any]:
    index = np.asarray(index)
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise ValueError(f"{name} is not a one-dimensional array of integers")
    return index


def _require_below(index: NDArray[Any], limit: int, name: str) -> None:
    if len(index) and (index.min() < 0 or index.max() >= limit):
        raise ValueError(f"{name} are out of range: {index.min()} … {index.max()} of {limit}")
