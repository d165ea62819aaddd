"""One interface to every kind of table: a shape, names, and columns read one at a time.

Arrays, sparse matrices, data frames (pandas, Polars, Arrow and whatever else narwhals reads) and
records (rows as dicts from column name to value, as in JSON) differ only here. Data is copied only
if necessary. Numbers keep their dtype, with a mask if a data frame stores missing values
separately; strings are encoded by the library that holds them, which has its own fast encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Number
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from hedgerow._data.columns import (
    ColumnTypeError,
    Label,
    LabelColumn,
    NumericColumn,
    array_kind_error,
    dates_error,
    dense_column,
    is_native,
    labelled,
    native_numbers,
    read_array,
    read_objects,
)
from hedgerow._data.gpu_arrays import copy_to_host, is_on_gpu
from hedgerow._data.names import Names, column_label, listed, read_names
from hedgerow._data.sparse import SparseLayouts, plain_rows, sound
from hedgerow._params import short_repr
from hedgerow._peers import library_of
from hedgerow._threads import effective_n_jobs
from hedgerow.exceptions import DataError

# Row numbers have 32 bits in the kernels.
MOST_ROWS = 2**32 - 1
# Size, in values, up to which a table is simply copied: 64 KiB of float32.
_SMALL = 1 << 14
# Rows among which most categories occur: often no others need to be looked at.
_FIRST_ROWS = 4096
# Rows from which threads encode strings side by side: the threads are started for this.
_MANY_ROWS = 20_000
# Arrow types that do not support row selection.
_UNUSUAL = ("string_view", "binary_view", "run_end_encoded")
# How a lazy table is computed, by the library's name in narwhals.
_COMPUTED = {
    "POLARS": "collect()",
    "DASK": "compute()",
    "DUCKDB": "df() or pl()",
    "IBIS": "to_pyarrow()",
    "PYSPARK": "toPandas()",
}
# What to do with one dimension.
_ARRAY = (
    "Reshape your data: X.reshape(-1, 1) turns an array into one column, X.reshape(1, -1) into one "
    "row."
)
_COLUMN = "X.to_frame() turns a series into a table of one column."
_SERIES = f"For one row of a table, use table.iloc[[0]] or the dict X.to_dict(). {_COLUMN}"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table as passed: `read(j)` reads a column; `dense` or `sparse` is the matrix, if any.

    `strings` are the columns whose strings have to be encoded, which takes time.
    """

    n_rows: int
    n_features: int
    names: Names | None
    read: Callable[[int], NumericColumn | LabelColumn]
    dense: NDArray[Any] | None = None
    sparse: SparseLayouts | None = None
    strings: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        require_columns(self.n_rows, self.n_features)

    def columns(
        self, positions: Iterable[int], n_jobs: int | None
    ) -> Iterator[NumericColumn | LabelColumn]:
        """Read columns; threads encode those of strings side by side, if there are many rows."""
        positions = list(positions)
        encoded = [j for j in positions if j in self.strings]
        n_threads = min(len(encoded), effective_n_jobs(n_jobs))
        if n_threads <= 1 or self.n_rows < _MANY_ROWS:
            yield from map(self.read, positions)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            reading = {j: pool.submit(self.read, j) for j in encoded}
            for j in positions:
                yield reading[j].result() if j in reading else self.read(j)


def require_columns(n_rows: int, n_features: int) -> None:
    """Refuse a table without columns."""
    if n_features == 0:
        shape = f"(shape=({n_rows}, {n_features}))"
        raise DataError(f"X has 0 feature(s) {shape} while a minimum of 1 is required.")


def has_rows(X: Any) -> bool:
    """Return whether a table has any rows."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return not hasattr(X, "__len__") or len(X) > 0
    return bool(shape[0] > 0)


def require_rows(n_rows: int, n_features: int) -> None:
    """Refuse a table without rows, or with more than can be numbered."""
    if n_rows == 0:
        shape = f"(shape=({n_rows}, {n_features}))"
        raise DataError(f"X has 0 sample(s) {shape} while a minimum of 1 is required.")
    refuse_more_rows(n_rows, MOST_ROWS, "any estimator")


def refuse_more_rows(n_rows: int, most: int, learner: str) -> None:
    """Refuse a table with more rows than a learner can have."""
    if n_rows > most:
        raise DataError(
            f"X has {n_rows:,} rows, but {learner} is limited to {most:,}. Use a sample of the "
            "rows, or merge identical rows and set their sample_weight."
        )


def open_table(X: Any, n_jobs: int | None = 1) -> Source:
    """Recognise the type of a table and open it; `n_jobs` threads validate a sparse one."""
    if isinstance(X, np.ndarray):
        return _open_array(X)
    if scipy.sparse.issparse(X):
        return _open_sparse(X, n_jobs)
    if nw.dependencies.is_pandas_dataframe(X):
        return _open_pandas(X)
    if are_records(X):
        return _open_records(X)
    refuse_no_table(X)
    frame = as_frame(X)
    return _open_array(as_array(X, "X")) if frame is None else _open_frame(frame)


def _open_records(X: Any) -> Source:
    raw_names, columns = read_records(X)
    names = read_names(raw_names)

    def read(j: int) -> NumericColumn | LabelColumn:
        return read_objects(list(columns[j]), column_label(names, j))

    return Source(len(columns[0]) if columns else 0, len(names), names, read)


def refuse_no_table(X: Any) -> None:
    """Raise for something that is plainly not a table."""
    if hasattr(X, "__hedgerow_files__"):
        raise ColumnTypeError(
            "X is a ParquetTable, which only gradient boosting, forests, decision trees and "
            "cross_validate read from its files. Read its rows into memory, as in "
            "table.sample(100_000).read()."
        )
    is_single = X is None or isinstance(X, Number) or getattr(X, "shape", None) == ()
    is_other = isinstance(X, str | bytes | PathLike | Mapping) and not scipy.sparse.issparse(X)
    if is_single or is_other:
        what = f"is {short_repr(X)}" if is_single else f"is a {type(X).__name__}"
        raise ColumnTypeError(
            f"X {what}. Pass a table: an array, a sparse matrix, or a data frame of pandas, Polars "
            "or Arrow."
        )
    library = library_of(X)
    if library is not None:
        raise ColumnTypeError(
            f"X is a {type(X).__name__} ({library}). Pass the array or data frame that it was "
            "created from, and y as the second argument: fit(X, y)."
        )


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Turn a list, or anything array-like, into an array; numbers beside strings stay numbers."""
    if not isinstance(values, np.ndarray) and is_on_gpu(values):
        return copy_to_host(values, name)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            array = np.asarray(values, dtype=object)
    except ValueError as error:
        raise DataError(f"{name} cannot be converted to an array: {error}") from error
    return array


def _open_array(X: NDArray[Any]) -> Source:
    mask = None
    if isinstance(X, np.ma.MaskedArray):
        X, mask = _split_masked(X)
    X = np.asarray(X)
    _require_two_dimensions(X.shape)
    if X.dtype.kind not in "biufOUT":
        raise array_kind_error(X.dtype, "X")

    def read(j: int) -> NumericColumn | LabelColumn:
        if mask is not None:
            return _masked_column(X[:, j], mask[:, j])
        return read_array(X[:, j], column_label(None, j))

    dense = X if mask is None and X.dtype.kind in "biuf" and is_native(X) else None
    return Source(X.shape[0], X.shape[1], None, read, dense=dense)


def _split_masked(X: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Split a masked array into numbers and mask, or replace masked objects by None."""
    mask = np.ma.getmaskarray(X)
    if X.dtype.kind in "biuf":
        return X.data, mask
    objects = X.data.astype(object)
    objects[mask] = None
    return objects, None


def _masked_column(values: NDArray[Any], mask: NDArray[np.bool_]) -> NumericColumn:
    """Replace masked values by NaN (a mask may hide an infinity); integers keep the mask."""
    if values.dtype.kind != "f":
        return NumericColumn(native_numbers(values), mask)
    return NumericColumn(native_numbers(np.where(mask, values.dtype.type(np.nan), values)))


def _open_sparse(X: Any, n_jobs: int | None) -> Source:
    sparse = plain_rows(X, n_jobs) or _canonical(X)

    def read(j: int) -> NumericColumn:
        return NumericColumn(dense_column(sparse.csc, j))

    return Source(X.shape[0], X.shape[1], None, read, sparse=sparse)


def _canonical(X: Any) -> SparseLayouts:
    """Return a sparse matrix of any kind with valid and sorted indices, without duplicates."""
    matrix = sound(X).astype(_sparse_dtype(X.dtype), copy=False)
    if matrix.format != "csr" or not matrix.has_canonical_format:
        matrix = matrix.tocsc()
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if X.format == "csc" else matrix  # whose arrays are the caller's
        matrix.sum_duplicates()
    kind = scipy.sparse.csr_array if matrix.format == "csr" else scipy.sparse.csc_array
    parts = (np.ascontiguousarray(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    return SparseLayouts(kind(tuple(parts), shape=matrix.shape))


def _sparse_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to read a sparse matrix as: native, and one that SciPy can compute with."""
    if dtype.kind == "f" and dtype.itemsize == 2:
        return np.dtype(np.float32)
    return np.dtype(np.float64) if dtype.itemsize > 8 else dtype.newbyteorder("=")


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return X as a data frame, or None if it is something else."""
    if type(X).__name__ == "RecordBatch" and hasattr(X, "schema"):
        X = type(X.schema.empty_table()).from_batches([X])
    X = with_usual_columns(X)
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except DuplicateError:
        read_names(getattr(X, "column_names", None) or list(X.columns))
        raise
    if isinstance(frame, nw.LazyFrame):
        how = _COMPUTED.get(frame.implementation.name, "collect() or compute()")
        raise ColumnTypeError(
            f"X is a lazy table, which has not been computed yet: pass what its {how} returns."
        )
    if isinstance(frame, nw.Series):
        is_pandas = frame.implementation.is_pandas()
        _require_two_dimensions((len(frame),), _SERIES if is_pandas else _COLUMN)
    return frame if isinstance(frame, nw.DataFrame) else None


def _open_pandas(X: Any) -> Source:
    """Open a pandas frame by column position, since names may be of any type."""
    names = read_names(X.columns.tolist())
    X = with_usual_columns(X)
    matrix = _small_matrix(X)
    if matrix is not None:
        n_rows, n_columns = matrix.shape
        return Source(n_rows, n_columns, names, lambda j: NumericColumn(matrix[:, j]), matrix)

    def read(j: int) -> NumericColumn | LabelColumn:
        series, where = X.iloc[:, j], column_label(names, j)
        if isinstance(series.dtype, np.dtype):
            return read_array(series.to_numpy(), where)
        if series.dtype.name == "category":
            return replace(_labels_of_pandas(series, where), is_declared=True)
        return read_series(nw.from_native(series, series_only=True), where)

    strings = frozenset(j for j, dtype in enumerate(X.dtypes) if _is_of_strings(dtype))
    return Source(len(X), len(names), names, read, strings=strings)


def _is_of_strings(dtype: Any) -> bool:
    """Return whether a dtype of pandas holds strings, or anything."""
    return str(dtype).startswith(("object", "str", "large_string"))


def _small_matrix(X: Any) -> NDArray[Any] | None:
    """Return a small pandas frame of one numeric dtype as a matrix, otherwise None.

    To predict one row or a few, copying them costs far less than inspecting every column.
    """
    if not 0 < X.size <= _SMALL:
        return None
    dtypes = X.dtypes.tolist()
    numeric = all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes)
    if not numeric or any(dtype != dtypes[0] for dtype in dtypes):
        return None
    return native_numbers(X.to_numpy())


def _open_frame(frame: nw.DataFrame[Any]) -> Source:
    columns = frame.columns

    def read(j: int) -> NumericColumn | LabelColumn:
        return read_series(frame.get_column(columns[j]), column_label(names, j))

    names = read_names(columns)
    strings = frozenset(j for j, dtype in enumerate(frame.schema.values()) if dtype == nw.String)
    return Source(frame.shape[0], frame.shape[1], names, read, strings=strings)


def with_usual_columns(X: Any) -> Any:
    """Return an Arrow table without string views and runs, which do not support row selection."""
    if nw.dependencies.is_pandas_dataframe(X):
        return _with_usual_series(X)
    if not nw.dependencies.is_pyarrow_table(X):
        return X
    for j, field in enumerate(X.schema):
        if (new := _usual(X.column(j), str(field.type))) is not None:
            X = X.set_column(j, field.name, new)
    return X


def _with_usual_series(X: Any) -> Any:
    """Do the same for a pandas frame, whose columns may be Arrow's."""
    kinds = [None if isinstance(dtype, np.dtype) else str(dtype) for dtype in X.dtypes]
    unusual = [j for j, kind in enumerate(kinds) if kind and kind.startswith(_UNUSUAL)]
    if not unusual:
        return X
    X = X.copy(deep=False)
    for j in unusual:
        array = X.iloc[:, j].array
        arrow = array.__arrow_array__()
        X.isetitem(j, type(array)(_usual(arrow, str(arrow.type))))
    return X


def _usual(column: Any, kind: str) -> Any:
    """Return an Arrow column of an unusual layout in the usual one; None for any other."""
    if kind.startswith("run_end_encoded"):
        import pyarrow.compute

        column = pyarrow.compute.run_end_decode(column)
        again = _usual(column, str(column.type))
        return column if again is None else again
    if kind in ("string_view", "binary_view"):
        return column.cast("large_" + kind.removesuffix("_view"))
    return None


def read_series(series: nw.Series[Any], where: str) -> NumericColumn | LabelColumn:
    """Read a series of any dtype; `where` names it in errors."""
    native_dtype = getattr(series.to_native(), "dtype", None)
    if isinstance(native_dtype, np.dtype):
        return read_array(series.to_native().to_numpy(), where)
    dtype = series.dtype
    if dtype == nw.Object:
        return read_objects(series.to_list(), where)
    if dtype == nw.Decimal or dtype in (nw.Int128, nw.UInt128):
        series, dtype = series.cast(nw.Float64), nw.Float64()
    if dtype.is_integer() or dtype == nw.Boolean:
        return _whole_numbers(series)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return replace(_labels(series, where), is_declared=dtype != nw.String)
    if dtype.is_temporal():
        raise dates_error(where, str(dtype))
    if dtype.is_nested() or dtype == nw.Binary:
        raise ColumnTypeError(
            f"{where} has the type {dtype}, but an argument must be a string or a number. "
            "Expand it into separate columns, or drop it."
        )
    return read_array(series.to_numpy(), where)


def _whole_numbers(series: nw.Series[Any]) -> NumericColumn:
    """Keep the integer or boolean dtype, which has no NaN, and mark missing values in a mask."""
    missing = series.is_null().to_numpy() if series.null_count() else None
    if missing is not None:
        series = series.fill_null(False if series.dtype == nw.Boolean else 0)
    values = series.to_numpy()
    if values.dtype.kind == "O":  # as nullable integers in older versions of pandas
        values = np.array(values.tolist())
    return NumericColumn(values, missing)


def _labels(series: nw.Series[Any], where: str) -> LabelColumn:
    """Encode strings or categories with the library that holds them."""
    native = series.to_native()
    if series.implementation.is_polars():
        return labelled(*_encode_polars(series, native), where)
    if series.implementation.is_pyarrow():
        return labelled(*_encode_arrow(series, native), where)
    return _labels_of_pandas(native, where)


def _labels_of_pandas(series: Any, where: str) -> LabelColumn:
    """Encode a pandas series; one of categories that are strings is encoded already."""
    if series.dtype.name == "category":
        labels = series.array.categories.tolist()
        if set(map(type, labels)) == {str}:
            return _occurring(series.array.codes, labels)
    codes, distinct = series.factorize()
    return labelled(np.asarray(codes), distinct.tolist(), where)


def _occurring(codes: NDArray[Any], labels: list[Label]) -> LabelColumn:
    """Return a column without the labels that no row has."""
    occurs = np.zeros(len(labels) + 1, bool)  # the last stands for code −1, missing
    for rows in (slice(_FIRST_ROWS), slice(_FIRST_ROWS, None)):
        if not occurs[:-1].all():
            occurs[codes[rows]] = True
    if not occurs[:-1].all():
        kept = np.flatnonzero(occurs[:-1]).tolist()
        new_code = np.full(len(occurs), -1, np.int32)
        new_code[kept] = np.arange(len(kept))
        codes, labels = new_code[codes], [labels[k] for k in kept]
    return LabelColumn(codes, labels, "string")


def _encode_polars(series: nw.Series[Any], native: Any) -> tuple[NDArray[Any], list[str]]:
    """Cast to an Enum of the strings that occur; a Categorical may have many more."""
    polars = series.__native_namespace__()
    distinct = native.drop_nulls().unique().cast(polars.String)
    codes = native.cast(polars.Enum(distinct)).to_physical().cast(polars.Int32).fill_null(-1)
    return codes.to_numpy(), distinct.to_list()


def _encode_arrow(series: nw.Series[Any], native: Any) -> tuple[NDArray[Any], list[Any]]:
    arrow = series.__native_namespace__()
    encoded = native if arrow.types.is_dictionary(native.type) else native.dictionary_encode()
    encoded = encoded.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast(arrow.int32()).fill_null(-1)
    return codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def _require_two_dimensions(shape: tuple[int, ...], advice: str = _ARRAY) -> None:
    if len(shape) != 2:
        raise DataError(
            f"X must have two dimensions, rows and columns, but its shape is {shape}."
            + (f" {advice}" if len(shape) == 1 else "")
        )


def are_records(X: Any) -> bool:
    """Return whether X is a dict, which is one row, or a list of dicts."""
    return type(X) is dict or (type(X) is list and bool(X) and isinstance(X[0], Mapping))


def is_empty_list(X: Any) -> bool:
    """Return whether X is a list of records, or of rows, without any."""
    return type(X) is list and not X


def read_records(X: Any) -> tuple[list[Any], Sequence[Sequence[Any]]]:
    """Return the column names and the values of each column."""
    if not (X if type(X) is dict else X[0]):
        raise DataError("X is an empty dict: a row needs a value for each column of fit.")
    if type(X) is dict:
        _refuse_columns(X)
        return list(X), [(value,) for value in X.values()]
    names = list(X[0])
    for i, row in enumerate(X):
        if not isinstance(row, Mapping):
            raise DataError(f"X is a list of dicts, but row {i} has the type {type(row).__name__}.")
        if row.keys() != X[0].keys():
            raise _other_names_error(i, row, names)
    return names, [[row[name] for row in X] for name in names]


def refuse_single_row(X: Any) -> None:
    """Refuse a dict as the table of a `fit`."""
    if type(X) is dict:
        raise ColumnTypeError(
            "X is a dict, which is one row. Pass a list of dicts to fit; convert a dict of columns "
            "to a data frame: pd.DataFrame(X)."
        )


def as_data_frame(X: Any) -> Any:
    """Convert records to a data frame, for estimators that do not accept dicts."""
    names, columns = read_records(X)
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ColumnTypeError(
            "X contains dicts, which are converted to a pandas data frame here, but pandas is not "
            "installed. Pass a data frame of another library, or an array."
        ) from None
    frame = pandas.DataFrame(dict(enumerate(columns)))
    return frame.set_axis(pandas.Index(names, tupleize_cols=False), axis=1)


def _other_names_error(i: int, row: Mapping[Any, Any], names: list[Any]) -> DataError:
    missing = [name for name in names if name not in row]
    extra = [name for name in row if name not in names]
    return DataError(
        f"X: row {i} has different names from row 0."
        + (f" It has no {listed(missing)}: use None for a missing value." if missing else "")
        + (f" Row 0 has no {listed(extra)}." if extra else "")
    )


def _refuse_columns(X: Mapping[Any, Any]) -> None:
    """Refuse a dict of columns."""
    for name, value in X.items():
        if isinstance(value, list | tuple | np.ndarray) or hasattr(value, "to_list"):
            raise ColumnTypeError(
                f"X is a dict, which is read as one row, but {name!r} is a "
                f"{type(value).__name__}. Convert columns to a data frame: pd.DataFrame(X)."
            )
