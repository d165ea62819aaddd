"""Partitions on a worker: what they hold, and the table that they become.

Partitions are not copied. A fit of gradient boosting takes them as they are, and drops each when it
is in bins; until then, some may be in a file. Where one table is needed, a partition of a data
frame is one array for each column, so that the columns of all partitions can be joined and dropped
one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hedgerow._data.pieced_table import RowPieces
from hedgerow.dask._spill import SpillFile, Stored
from hedgerow.exceptions import DataError

# Types of columns that may differ between partitions: all of them are numbers.
_NUMBERS = "iuf"
# A view keeps alive what it is a view of. It is copied if that is larger than its values by this.
_MOST_KEPT = 1.5


@dataclass(frozen=True)
class Layout:
    """The columns of a table, column or array: what partitions must agree on.

    Attributes
    ----------
    kind : {"frame", "series", "matrix", "vector", "sparse"}
        What a partition is.
    names : list
        The names of the columns; of an array, their numbers.
    dtypes : list of dtypes
        The dtype of each column; of an array, one for all.
    """

    kind: str
    names: list[Any]
    dtypes: list[Any]


@dataclass
class Piece:
    """The rows of one partition: a list of columns, or one array; in memory, or in a file."""

    layout: Layout
    n_rows: int
    parts: list[Any]
    stored: list[Stored] = field(default_factory=list)

    @property
    def n_bytes(self) -> int:
        """The memory of its values."""
        return sum(part.nbytes for part in self.parts)

    def store(self, file: SpillFile) -> None:
        """Move the rows to a file."""
        self.stored, self.parts = file.write(self.parts), []

    def load(self, file: SpillFile) -> None:
        """Read the rows again, if they are in the file."""
        if self.stored:
            self.parts = file.read(self.stored)

    @property
    def summary(self) -> tuple[Layout, int]:
        """What the other workers must know of it."""
        return self.layout, self.n_rows


def read_piece(part: Any, where: str) -> Piece:
    """Return a partition of a Dask collection as a piece; `where` names it in errors."""
    if isinstance(part, pd.DataFrame):
        columns = [part.iloc[:, j] for j in range(part.shape[1])]
        layout = Layout("frame", list(part.columns), [column.dtype for column in columns])
        return Piece(layout, len(part), _compact([_values(column) for column in columns]))
    if isinstance(part, pd.Series | pd.Index):
        layout = Layout("series", [part.name], [part.dtype])
        return Piece(layout, len(part), _compact([_values(part)]))
    if sp.issparse(part):
        matrix = sp.csr_matrix(part)
        names = list(range(matrix.shape[1]))
        return Piece(Layout("sparse", names, [matrix.dtype]), matrix.shape[0], [matrix])
    if isinstance(part, np.ndarray) and part.ndim in (1, 2):
        names = list(range(part.shape[1])) if part.ndim == 2 else []
        kind = "matrix" if part.ndim == 2 else "vector"
        return Piece(Layout(kind, names, [part.dtype]), len(part), _compact([part]))
    raise DataError(
        f"{where} is a {type(part).__name__}; partitions must be pandas data frames, NumPy arrays "
        "or SciPy sparse matrices."
    )


def _values(column: pd.Series | pd.Index) -> Any:
    """Return the values of a column, without a copy."""
    values = column.array
    return column.to_numpy() if isinstance(values, pd.arrays.NumpyExtensionArray) else values


def _compact(parts: list[Any]) -> list[Any]:
    """Copy arrays that are a small part of the memory that they keep alive, or not aligned.

    What another worker has sent begins anywhere in its message.
    """
    wholes = [_whole(part) for part in parts]
    used = Counter[int]()
    for part, whole in zip(parts, wholes, strict=True):
        if whole is not None:
            used[id(whole)] += part.nbytes
    return [
        part.copy()
        if whole is not None and whole.nbytes > _MOST_KEPT * used[id(whole)]
        else np.require(part, requirements="A")
        if isinstance(part, np.ndarray)
        else part
        for part, whole in zip(parts, wholes, strict=True)
    ]


def _whole(part: Any) -> NDArray[Any] | None:
    """Return the array that a view is a view of; None if it is none."""
    if not isinstance(part, np.ndarray):
        return None
    whole = part
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return None if whole is part else whole


# ---- what all partitions agree on ----------------------------------------------------------------


def common_layout(summaries: Sequence[tuple[Layout, int]], name: str) -> Layout:
    """Return the layout of all partitions of an argument; raise if they differ.

    Partitions without rows say nothing of dtypes: Dask makes them with any.
    """
    numbers = [i for i, (_, n_rows) in enumerate(summaries) if n_rows] or list(
        range(len(summaries))
    )
    first = summaries[numbers[0]][0]
    dtypes = list(first.dtypes)
    for number in numbers[1:]:
        layout = summaries[number][0]
        _require_columns(first, layout, name, numbers[0], number)
        for j, (known, dtype) in enumerate(zip(dtypes, layout.dtypes, strict=True)):
            merged = _merged(known, dtype)
            if merged is None:
                raise DataError(
                    f"{_column(first, name, j)} is {_text(known)} in partition {numbers[0]}, but "
                    f"{_text(dtype)} in partition {number}. Convert it to one type in all "
                    "partitions, for example with astype."
                )
            dtypes[j] = merged
    return Layout(first.kind, first.names, dtypes)


def _require_columns(first: Layout, layout: Layout, name: str, number: int, other: int) -> None:
    if first.kind != layout.kind:
        raise DataError(
            f"{name}: partition {number} is a {first.kind}, but partition {other} is a "
            f"{layout.kind}."
        )
    if first.names == layout.names:
        return
    if first.kind == "series":  # a name of no importance
        return
    if first.kind in ("matrix", "sparse"):
        raise DataError(
            f"{name} has {len(first.names)} columns in partition {number}, but "
            f"{len(layout.names)} in partition {other}."
        )
    only = [c for c in first.names if c not in layout.names]
    extra = [c for c in layout.names if c not in first.names]
    what = "in another order"
    if only or extra:
        what = f"without {only}" if only else f"with {extra} in addition"
    raise DataError(
        f"{name}: partition {other} has different columns from partition {number}: {what}."
    )


def _column(layout: Layout, name: str, j: int) -> str:
    return f"{name}, column {layout.names[j]!r}," if layout.kind == "frame" else name


def _text(dtype: Any) -> str:
    if isinstance(dtype, pd.CategoricalDtype):
        return f"category of {dtype.categories.dtype}"
    return str(dtype)


def _merged(known: Any, dtype: Any) -> Any:
    """Return a dtype for the values of both, None if there is none."""
    if known == dtype:
        return known
    if isinstance(known, np.dtype) and isinstance(dtype, np.dtype):
        both = known.kind in _NUMBERS and dtype.kind in _NUMBERS
        strings = known.kind == dtype.kind == "U"
        return np.result_type(known, dtype) if both or strings else None
    if isinstance(known, pd.CategoricalDtype) and isinstance(dtype, pd.CategoricalDtype):
        return _union(known, dtype)
    if isinstance(known, pd.StringDtype) and isinstance(dtype, pd.StringDtype):
        return known
    return None


def _union(known: pd.CategoricalDtype, dtype: pd.CategoricalDtype) -> Any:
    """Return the union of categories, in the order in which the partitions have them."""
    if len(known.categories) == 0 or len(dtype.categories) == 0:
        return dtype if len(known.categories) == 0 else known
    if known.categories.dtype.kind != dtype.categories.dtype.kind:
        return None
    categories = known.categories.append(dtype.categories.difference(known.categories, sort=False))
    return pd.CategoricalDtype(categories, ordered=False)


# ---- the rows of a worker ------------------------------------------------------------------------


def stack(
    pieces: list[Piece], layout: Layout, release: Callable[[], None] | None = None
) -> RowPieces:
    """Return the rows of all pieces as one X that is in pieces, and empty these.

    `release` gives back memory of rows that can be read again.
    """
    return RowPieces([_table(piece, layout) for piece in pieces if piece.n_rows], release)


def _table(piece: Piece, layout: Layout) -> Any:
    """Return a piece with the dtypes of all pieces."""
    parts, piece.parts = piece.parts, []
    if layout.kind == "frame":
        columns = [_as(dtype, part) for dtype, part in zip(layout.dtypes, parts, strict=True)]
        return _frame(columns, layout, piece.n_rows)
    return parts[0] if layout.kind == "sparse" else _as(layout.dtypes[0], parts[0])


def _as(dtype: Any, values: Any) -> Any:
    if isinstance(dtype, np.dtype):
        return np.asarray(values).astype(dtype, copy=False)
    return pd.Series(values, dtype=dtype, copy=False).array


def join(pieces: list[Piece], layout: Layout) -> Any:
    """Return the rows of all pieces as one table, and empty the pieces."""
    n_rows = sum(piece.n_rows for piece in pieces)
    if layout.kind == "frame":
        return _frame(list(_columns(pieces, layout, n_rows)), layout, n_rows)
    if layout.kind == "series":
        return pd.Series(next(_columns(pieces, layout, n_rows)), name=layout.names[0], copy=False)
    if layout.kind == "sparse":
        parts = [piece.parts.pop() for piece in pieces if piece.n_rows]
        empty = sp.csr_matrix((0, len(layout.names)), dtype=layout.dtypes[0])
        return sp.vstack([empty, *parts], format="csr", dtype=layout.dtypes[0])
    shape = (n_rows, len(layout.names)) if layout.kind == "matrix" else (n_rows,)
    return _filled(pieces, 0, np.empty(shape, layout.dtypes[0]))


def _columns(pieces: list[Piece], layout: Layout, n_rows: int) -> Iterator[Any]:
    for j, dtype in enumerate(layout.dtypes):
        if isinstance(dtype, np.dtype):
            yield _filled(pieces, j, np.empty(n_rows, dtype))
        else:
            yield _extension(pieces, j, dtype)


def _filled(pieces: list[Piece], j: int, out: Any) -> Any:
    """Copy column j of the pieces into an array, and drop it from each piece."""
    start = 0
    for piece in pieces:
        if piece.n_rows:
            out[start : start + piece.n_rows] = piece.parts[j]
            start += piece.n_rows
        piece.parts[j] = None
    return out


def _extension(pieces: list[Piece], j: int, dtype: Any) -> Any:
    parts = [pd.Series(piece.parts[j], dtype=dtype) for piece in pieces if piece.n_rows]
    for piece in pieces:
        piece.parts[j] = None
    return pd.concat([pd.Series([], dtype=dtype), *parts], ignore_index=True).array


def _frame(columns: list[Any], layout: Layout, n_rows: int) -> pd.DataFrame:
    index = pd.RangeIndex(n_rows)
    frame = pd.DataFrame(dict(enumerate(columns)), index=index, copy=False)
    frame.columns = pd.Index(layout.names)
    return frame
