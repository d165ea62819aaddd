"""`TableSchema`, what `fit` learns about columns, and `Table`, the columns of a checked table.

A schema has plain values throughout, so that it is the same after a trip through JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import BinSource
from hedgerow._data.columns import (
    CategoricalColumn,
    Label,
    LabelColumn,
    LabelKind,
    NumericColumn,
    RowSelection,
    dense_column,
    has_infinity,
    refuse_infinite,
    refuse_infinite_column,
)
from hedgerow._data.names import (
    Names,
    are_positions,
    column_index,
    column_label,
    names_from_json,
    names_to_json,
)
from hedgerow._data.sources import Source
from hedgerow._data.sparse import SparseLayouts
from hedgerow._types import Snapshot
from hedgerow.exceptions import DataError, ParameterError

CategoryBins = Mapping[int, NDArray[Any]] | Sequence[NDArray[Any] | None]

# Rows of a dense block: 32 MB with 1,000 columns of float32.
_BLOCK_ROWS = 8192
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_LABEL_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Categories(Snapshot):
    """The categories of one column, sorted; a code is a position in `values`."""

    kind: LabelKind
    values: tuple[Label, ...]

    @cached_property
    def code(self) -> dict[Label, int]:
        """Code of each category. Numbers compare by value: 1, 1.0 and True are one category."""
        return {value: i for i, value in enumerate(self.values)}

    def match(self, column: LabelColumn) -> NDArray[np.int32]:
        """Translate codes of the column's labels into codes of these categories."""
        unknown = len(self.values)
        translation = [self.code.get(label, unknown) for label in column.labels]
        new_codes = np.array([*translation, -1], np.int32)  # the last is for code −1
        return new_codes.take(column.codes, mode="wrap")


@dataclass(frozen=True)
class TableSchema(Snapshot):
    """Columns of the table of `fit`; `categories` has an entry for each categorical one."""

    n_features: int
    feature_names: Names | None
    categories: Mapping[int, Categories]

    @cached_property
    def has_no_names(self) -> bool:
        """Return whether columns are identified by position, which may be their name as well."""
        return self.feature_names is None or are_positions(self.feature_names)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Mark the categorical columns."""
        return np.isin(np.arange(self.n_features), list(self.categories))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON values."""
        return {
            "n_features": self.n_features,
            "feature_names": names_to_json(self.feature_names),
            "categories": [
                {"feature": j, "kind": c.kind, "values": list(c.values)}
                for j, c in sorted(self.categories.items())
            ],
        }

    @classmethod
    def from_dict(cls, stored: Any) -> TableSchema:
        """Read the output of `to_dict`; anything unexpected raises DataError."""
        _require_keys(stored, {"n_features", "feature_names", "categories"}, "schema")
        n_features = stored["n_features"]
        if type(n_features) is not int or n_features < 1:
            raise DataError("schema: n_features is not a positive integer.")
        names = names_from_json(stored["feature_names"], n_features)
        if not isinstance(stored["categories"], list):
            raise DataError("schema: categories is not a list.")
        categories: dict[int, Categories] = {}
        for entry in stored["categories"]:
            _require_keys(entry, {"feature", "kind", "values"}, "schema: categories")
            j = entry["feature"]
            if type(j) is not int or not 0 <= j < n_features or j in categories:
                raise DataError(f"schema: categories refer to an invalid column {j!r}.")
            categories[j] = _read_categories(entry["kind"], entry["values"])
        return cls(n_features, names, categories)


def chosen_columns(
    categorical_features: Any, names: Names | None, n_features: int
) -> tuple[NDArray[np.bool_], bool]:
    """Mark the columns in `categorical_features`; also return whether dtypes may add others."""
    mask = np.zeros(n_features, bool)
    if categorical_features is None:
        return mask, False
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return mask, True
        raise ParameterError(
            f"categorical_features={categorical_features!r} is not allowed: use 'auto', None, "
            "or a list of column names, of column indices, or of a boolean for every column."
        )
    selection = list(categorical_features)
    if selection and all(isinstance(w, bool | np.bool_) for w in selection):
        if len(selection) != n_features:
            raise ParameterError(
                f"categorical_features is a mask of {len(selection)} values, but X has "
                f"{n_features} columns."
            )
        return np.array(selection, bool), True
    for w in selection:
        mask[column_index(w, names, n_features, "categorical_features", "or a mask")] = True
    return mask, True


def _require_keys(stored: Any, keys: set[str], what: str) -> None:
    if not isinstance(stored, dict) or set(stored) != keys:
        raise DataError(f"{what}: expected exactly the fields {', '.join(sorted(keys))}.")


def _read_categories(kind: Any, values: Any) -> Categories:
    if kind not in get_args(LabelKind) or not isinstance(values, list):
        raise DataError("schema: categories have an unknown kind, or are not a list.")
    if not all(type(v) in _LABEL_TYPES[kind] for v in values):
        raise DataError(f"schema: a category is not a {kind}.")
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        raise DataError("schema: a category is not finite.")
    if any(not a < b for a, b in pairwise(values)):
        raise DataError("schema: categories are not distinct and sorted.")
    return Categories(kind, tuple(values))


class Table:
    """Columns, in the order of the schema.

    Attributes
    ----------
    n_rows, n_features : int
    names : tuple, or None
    dense : ndarray of shape (n_rows, n_features), or None
        The table as one array of booleans, integers or floats, with any strides, if it was passed
        as one and no column is categorical. Not a copy.
    sparse : SparseLayouts, or None
        The table, if it was passed as a sparse matrix and no column is categorical.
    """

    __slots__ = ("_columns", "dense", "n_features", "n_rows", "names", "sparse")

    def __init__(
        self,
        names: Names | None,
        *,
        dense: NDArray[Any] | None = None,
        sparse: SparseLayouts | None = None,
        columns: Sequence[NumericColumn | CategoricalColumn] = (),
    ) -> None:
        self.names = names
        self.dense = dense
        self.sparse = sparse
        whole = dense if sparse is None else sparse.matrix
        self._columns = columns if whole is None else ()
        if whole is not None:
            self.n_rows, self.n_features = whole.shape
        else:
            first = columns[0]
            codes_or_values = first.codes if isinstance(first, CategoricalColumn) else first.values
            self.n_rows, self.n_features = len(codes_or_values), len(columns)

    @property
    def shared_bins(self) -> BinSource | None:
        """Bins that several fits share: none for a plain table."""
        return None

    @property
    def on_gpu(self) -> Any:
        """The numbers, if they are on a GPU; None if they are on the host."""
        return None

    def own_matrix(self, category_bins: CategoryBins) -> NDArray[Any] | None:  # noqa: ARG002
        """Return the matrix of `as_matrix`, if this kind of table has a faster way to build it."""
        return None

    @property
    def is_streamed(self) -> bool:
        """Whether not all numbers are in memory at once: trees read the rows from their bins."""
        return False

    @property
    def reads_columns(self) -> bool:
        """Whether columns are read from files when they are needed, by `batches`."""
        return False

    def pieces(self, *, drops: bool = False) -> Iterator[tuple[int, Table]]:  # noqa: ARG002
        """Yield tables of some rows, each with its first row: all rows at once.

        `drops` if the table is not needed any more.
        """
        yield 0, self

    def batches(self) -> Iterator[tuple[slice, Table]]:
        """Yield tables of some columns and which these are: all at once if they are in memory."""
        yield slice(0, self.n_features), self

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of some columns, without names."""
        return Table(None, columns=[self.column(j) for j in features])

    def with_columns(
        self, replaced: Mapping[int, NumericColumn], added: Sequence[NumericColumn]
    ) -> Table:
        """Return a table with some columns replaced and others added, without names."""
        columns = [replaced.get(j) or self.column(j) for j in range(self.n_features)]
        return Table(None, columns=[*columns, *added])

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Return column j: a view where possible, with zeros filled in if sparse."""
        if self.dense is not None:
            return NumericColumn(self.dense[:, j])
        if self.sparse is not None:
            return NumericColumn(dense_column(self.sparse.csc, j))
        return self._columns[j]

    def take(self, rows: RowSelection) -> Table:
        """Return a table of some rows: a slice, indices, or a mask."""
        if self.dense is not None:
            return Table(self.names, dense=self.dense[rows])
        if self.sparse is not None:
            return Table(self.names, sparse=self.sparse.take(rows))
        return Table(self.names, columns=[column.take(rows) for column in self._columns])


def finite_table(
    source: Source,
    names: Names | None,
    columns: list[NumericColumn | CategoricalColumn] | None = None,
    *,
    n_jobs: int | None,
) -> Table:
    """Create a table from columns, or from a source that is a matrix, and refuse infinities."""
    if columns is None:
        table = Table(names, dense=source.dense, sparse=source.sparse)
    else:
        table = Table(names, dense=_one_matrix(columns), columns=columns)
    if source.dense is not None:
        refuse_infinite(source.dense, lambda j: column_label(source.names, j), n_jobs)
    elif table.dense is not None:
        refuse_infinite(table.dense, lambda j: column_label(names, j), n_jobs)
    elif table.sparse is None or has_infinity(table.sparse.matrix.data, n_jobs):
        _refuse_infinite_columns(table, n_jobs)
    return table


def _refuse_infinite_columns(table: Table, n_jobs: int | None) -> None:
    for j in range(table.n_features):
        column, where = table.column(j), column_label(table.names, j)
        if isinstance(column, NumericColumn):
            refuse_infinite_column(column, where, n_jobs)


def _one_matrix(columns: Sequence[NumericColumn | CategoricalColumn]) -> NDArray[Any] | None:
    """Return the matrix of these columns if they already form one in memory, else None.

    A pandas frame created from an array is such a matrix, and then nothing needs to be copied.
    """
    arrays = [c.values for c in columns if isinstance(c, NumericColumn) and c.missing is None]
    if len(arrays) < len(columns) or arrays[0].base is None:
        return None
    first, addresses = arrays[0], [values.ctypes.data for values in arrays]
    step = addresses[1] - addresses[0] if len(arrays) > 1 else first.itemsize
    for j, values in enumerate(arrays):
        same_kind = values.dtype == first.dtype and values.strides == first.strides
        in_place = values.base is first.base and addresses[j] == addresses[0] + j * step
        if not (same_kind and in_place):
            return None
    shape, strides = (len(first), len(arrays)), (first.strides[0], step)
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)


def as_matrix(table: Table, category_bins: CategoryBins = ()) -> NDArray[Any]:
    """Return the table as the predictor expects it: floats, with NaN for missing values.

    A category is `category_bins[j][code]`. A float32 or float64 array is returned unchanged.
    Anything else is copied, to float32 if that holds every value exactly, else to float64;
    `iter_dense_blocks` copies at most a block at a time.
    """
    own = table.own_matrix(category_bins)
    if own is not None:
        return own
    if table.is_streamed:
        raise needs_matrix_error("This")
    dense = table.dense
    if dense is not None:
        return dense if dense.dtype in _FLOATS else dense.astype(float_for(dense))
    if table.sparse is not None:
        matrix = table.sparse.csr
        return np.ascontiguousarray(matrix.toarray().astype(float_for(matrix.data), copy=False))
    columns = [table.column(j) for j in range(table.n_features)]
    numbers = (c.values for c in columns if isinstance(c, NumericColumn))
    dtype = np.result_type(np.float32, *(float_for(values) for values in numbers))
    by_column = np.empty((table.n_features, table.n_rows), dtype)
    for own_row, j in zip(by_column, range(table.n_features), strict=True):
        column = columns[j]
        if isinstance(column, CategoricalColumn):
            bins = np.append(np.asarray(category_bins[j], dtype), dtype.type(np.nan))
            # Codes −1 (missing) and n (unknown) both wrap to the last entry.
            np.take(bins, column.codes, out=own_row, mode="wrap")
        else:
            own_row[:] = column.values
            if column.missing is not None:
                own_row[column.missing] = np.nan
    return by_column.T


def needs_matrix_error(what: str) -> DataError:
    """Return the error for something that needs all numbers of a table that is read from files."""
    return DataError(
        f"{what} needs the original values of all rows in memory, but X is a ParquetTable, which "
        "is read a few columns at a time. Read some of its rows into memory: "
        "table.sample(100_000).read()."
    )


def iter_dense_blocks(
    table: Table, category_bins: CategoryBins = (), block_rows: int = _BLOCK_ROWS
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first row, matrix) of each block of rows; all rows at once if no copy is needed."""
    if table.dense is not None and table.dense.dtype in _FLOATS:
        yield 0, table.dense
        return
    if table.sparse is not None:
        by_row = table.sparse.csr
        dtype = float_for(by_row.data)
        for start in range(0, table.n_rows, block_rows):
            yield start, by_row[start : start + block_rows].toarray().astype(dtype, copy=False)
        return
    for start in range(0, table.n_rows, block_rows):
        yield start, as_matrix(table.take(slice(start, start + block_rows)), category_bins)


def float_for(values: NDArray[Any]) -> np.dtype[Any]:
    """Choose float32 if it holds every value of the dtype exactly, else float64."""
    return np.result_type(np.float32, values.dtype)
