"""`ParquetTable`: Parquet files as an X that is never in memory as a whole."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow._data.names import listed
from hedgerow._data.parquet_files import ParquetFiles
from hedgerow._data.streamed_table import ColumnWriter, RowsInOrder
from hedgerow._progress import progress
from hedgerow.exceptions import DataError, ParameterError

PathsOrGlob = str | PathLike[str] | Sequence[str | PathLike[str]]

_ENDINGS = (".parquet", ".pq", ".parq")
_TEXT = (".csv", ".csv.gz", ".tsv", ".txt")


class ParquetTable:
    """Parquet files as one table, which `fit`, `predict` and other methods accept as X.

    The table is read a few columns at a time, and only the binned values, a byte each, are kept in
    memory. The model is the same, bit for bit, as one fitted to the same rows in memory. Gradient
    boosting, forests and decision trees can be fitted to it, except with options that need the
    original numbers: ``splitter="exact"``, ``linear_leaves=True`` and ``feature_combinations``.

    Parameters
    ----------
    paths : str, path-like, or sequence of these
        A file, a pattern such as ``"data/*.parquet"``, a folder, or a list of files. The files of a
        pattern or folder are in natural order (``part-2`` before ``part-10``), those of a list in
        the order of the list; rows are numbered consecutively through all files. All files must
        have the same columns and types. Files must not change while the table is in use.
    target : str or list of str, optional
        The column of y; a list for several outputs, or for event and time. ``fit(table)`` needs it.
    weight : str, optional
        The column of sample weights.
    groups : str, optional
        The column of groups, as in `fit`; for a ranker, the column of queries.
    offset : str or list of str, optional
        The column of offsets, which gradient boosting adds to scores, in fits and predictions; a
        list if a row has several scores.
    columns : list of str, optional
        The features; by default all columns but those above. Columns in which pandas stores an
        index are left out.

    Attributes
    ----------
    paths : list of str
        The files.
    n_rows : int
        The number of rows.
    columns : tuple of str
        The features.
    shape : tuple
        Rows and features.

    Raises
    ------
    DataError
        If no file matches, or files are damaged, or differ in their columns or types.
    ImportError
        If PyArrow is not installed: ``pip install pyarrow``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> table = hr.ParquetTable("data/*.parquet", target="y")  # doctest: +SKIP
    >>> model = hr.GradientBoostingRegressor().fit(table)  # doctest: +SKIP
    >>> hr.predict_parquet(model, table, "predictions.parquet")  # doctest: +SKIP
    """

    def __init__(
        self,
        paths: PathsOrGlob,
        *,
        target: str | Sequence[str] | None = None,
        weight: str | None = None,
        groups: str | None = None,
        offset: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._set(ParquetFiles(find_files(paths)), target, weight, groups, offset, columns)

    def _set(
        self,
        files: ParquetFiles,
        target: str | Sequence[str] | None,
        weight: str | None,
        groups: str | None,
        offset: str | Sequence[str] | None,
        columns: Sequence[str] | None,
    ) -> None:
        self._files = files
        self._rows: NDArray[np.intp] | None = None
        self.target, self.weight, self.groups, self.offset = target, weight, groups, offset
        roles = _roles(target=target, weight=weight, groups=groups, offset=offset)
        for argument, name in roles:
            files.position(name, argument)
        others = {name for _, name in roles}
        if columns is None:
            ignored = others | files.index_columns
            columns = [name for name in files.names if name not in ignored]
        elif isinstance(columns, Sequence) and len(columns) == 0:
            raise ParameterError("columns=[] is not allowed; a table needs at least one feature.")
        self.columns = _checked_columns(columns, others)
        if not self.columns:
            raise DataError(f"{files.paths[0]} has no columns besides {listed(sorted(others))}.")
        self._positions = [files.position(name, "columns") for name in self.columns]

    @classmethod
    def from_csv(
        cls,
        paths: PathsOrGlob,
        *,
        to: str | PathLike[str] | None = None,
        target: str | Sequence[str] | None = None,
        weight: str | None = None,
        groups: str | None = None,
        offset: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str = ",",
        verbose: int = 0,
    ) -> Self:
        """Convert CSV files to Parquet, block by block, and open the result.

        A column has the first type that fits all of its values: integer, float, boolean, or else
        text. Missing values are those of `pandas.read_csv`. The CSV files are read twice, first to
        determine the types, and are not changed.

        Parameters
        ----------
        paths : str, path-like, or sequence of these
            CSV files with a header line, which may be compressed by gzip (``.csv.gz``); specified
            as for `ParquetTable`.
        to : str or path-like, optional
            The folder for the Parquet files, one for each CSV file; it is created if necessary, and
            no file in it is replaced. By default a temporary folder (in the folder of the
            environment variable TMPDIR), which is removed with the table.
        target, weight, groups, offset, columns :
            As for `ParquetTable`.
        delimiter : str
            The character between values.
        verbose : int
            1 shows progress.
        """
        from hedgerow._data.csv_conversion import convert_csv

        sources = find_files(paths, _TEXT)
        converted, kept = convert_csv(sources, to, delimiter, verbose)
        table = cls.__new__(cls)
        cls._set(table, ParquetFiles(converted, kept), target, weight, groups, offset, columns)
        return table

    @property
    def paths(self) -> list[str]:
        """The files, in the order of their rows."""
        return self._files.paths

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._files.n_rows if self._rows is None else len(self._rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.n_rows, len(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        n = len(self.paths)
        files = self.paths[0] if n == 1 else f"{n} files, {self.paths[0]} …"
        return f"ParquetTable({files}: {self.n_rows:,} rows, {len(self.columns)} features)"

    def take(self, rows: Any) -> ParquetTable:
        """Return a table of some rows: indices, a slice or a mask. Nothing is read."""
        view = object.__new__(type(self))
        vars(view).update(vars(self))
        whole = np.arange(self._files.n_rows) if self._rows is None else self._rows
        try:
            view._rows = whole[rows if isinstance(rows, slice) else np.asarray(rows)]
        except IndexError as error:
            raise DataError(f"rows: {error}.") from error
        if view._rows.ndim != 1:
            raise DataError("rows must be a slice, or an array of indices or of booleans.")
        return view

    def without_roles(self) -> ParquetTable:
        """Return the features alone: a table without target, weights, groups and offset."""
        view = object.__new__(type(self))
        vars(view).update(vars(self) | dict.fromkeys(("target", "weight", "groups", "offset")))
        return view

    def head(self, n_rows: int = 1000) -> ParquetTable:
        """Return a table of the first rows."""
        _require_count(n_rows)
        return self.take(slice(0, n_rows))

    def sample(self, n_rows: int, random_state: int = 0) -> ParquetTable:
        """Return a table of random rows, in their order; all rows if there are fewer."""
        _require_count(n_rows)
        if n_rows >= self.n_rows:
            return self
        chosen = np.random.RandomState(random_state).permutation(self.n_rows)[:n_rows]
        return self.take(np.sort(chosen))

    def read(self) -> Any:
        """Read the features of all rows into memory, as an Arrow table."""
        import pyarrow as pa

        parts, places = [], []
        for place, batch in self.batches():
            parts.append(batch)
            places.append(np.r_[place])
        if not parts:
            return self._empty()
        table = pa.concat_tables(parts, promote_options="default").unify_dictionaries()
        if self._rows is None:
            return table
        return table.take(np.argsort(np.concatenate(places), kind="stable"))

    def batches(self, extra: Sequence[str] = ()) -> Iterator[tuple[Any, Any]]:
        """Yield blocks of rows: their position (a slice or indices), and an Arrow table of them.

        `extra` are columns to add to the features.
        """
        import pyarrow as pa

        columns = [*self._positions]
        columns += [
            j for name in extra if (j := self._files.position(name, "extra")) not in columns
        ]
        selection = None if self._rows is None else RowsInOrder(self._rows)
        for first, batch in self._files.batches(columns, selection):
            table, place = pa.Table.from_batches([batch]), slice(first, first + batch.num_rows)
            if selection is not None:
                rows, place = selection.within(first, batch.num_rows)
                if not len(rows):
                    continue
                table = table.take(rows)
            yield place, table

    def blocks_in_order(self, extra: Sequence[str] = ()) -> Iterator[Any]:
        """Yield blocks of rows as Arrow tables, in order; without rows, a single empty table."""
        if self._rows is not None and len(self._rows) > 1 and (np.diff(self._rows) < 0).any():
            raise DataError("the rows of the ParquetTable must be in the order of its files.")
        is_empty = True
        for _, batch in self.batches(extra):
            is_empty = False
            yield batch
        if is_empty:
            yield self._empty(extra)

    def _empty(self, extra: Sequence[str] = ()) -> Any:
        import pyarrow as pa

        names = list(dict.fromkeys([*self.columns, *extra]))
        return pa.schema([self._files.schema.field(name) for name in names]).empty_table()

    def type_of(self, name: Any, argument: str) -> Any:
        """Return the Arrow type of a column; raise an error if the files do not have it."""
        return self._files.schema.field(self._files.position(name, argument)).type

    def computed(
        self, function: Callable[..., NDArray[Any]], verbose: int = 0, *by_row: NDArray[Any]
    ) -> NDArray[Any]:
        """Return an array with an entry for each row, computed from blocks of rows.

        `by_row` are further arguments of the function, with an entry for each row.
        """
        result: NDArray[Any] | None = None
        with progress(verbose, self.n_rows, unit="row", title="reading rows") as display:
            done = 0
            for place, batch in self.batches():
                values = function(batch, *(array[place] for array in by_row))
                if result is None:
                    result = np.empty((self.n_rows, *values.shape[1:]), values.dtype)
                result[place] = values
                done += len(values)
                if display is not None:
                    display.show(done)
        return function(self.read(), *by_row) if result is None else result

    def read_target(self) -> Any:
        """Read y: an array, or an Arrow table if it has several columns; None without a target."""
        if self.target is None or isinstance(self.target, str):
            return self._read_role(self.target)
        import pyarrow as pa

        return pa.table({name: pa.array(self._read_role(name)) for name in self.target})

    def read_weight(self) -> Any:
        """Read the sample weights; None without a column of weights."""
        return self._read_role(self.weight)

    def read_offset(self) -> Any:
        """Read the offset: an array, (n_rows, n_columns) if it has several; None without one."""
        if self.offset is None or isinstance(self.offset, str):
            return self._read_role(self.offset)
        return np.column_stack([self.read_column(name) for name in self.offset])

    def read_groups(self) -> Any:
        """Read the group of each row; None without a column of groups."""
        return self._read_role(self.groups)

    def _read_role(self, name: str | None) -> NDArray[Any] | None:
        return None if name is None else self.read_column(name)

    def column_for_fit(self, name: str) -> Any:
        """Read a column in the form that fits use: an array, or strings as an Arrow dictionary."""
        column = self._read_column(self._files.position(name, "columns"))
        if isinstance(column, NumericColumn):
            return self._numbers(column)
        import pyarrow as pa

        codes = pa.array(column.codes, mask=column.codes < 0)
        labels = pa.array([str(label) for label in column.labels], pa.string())
        if column.kind != "string":
            labels = pa.array(column.labels)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, labels)])

    def read_column(self, name: str) -> NDArray[Any]:
        """Read any column of the files: numbers with NaN, or strings with None if missing."""
        column = self._read_column(self._files.position(name, "columns"))
        if isinstance(column, LabelColumn):
            labels = np.empty(len(column.labels) + 1, object)
            labels[:-1] = column.labels
            return labels[column.codes]
        return self._numbers(column)

    def _numbers(self, column: NumericColumn) -> NDArray[Any]:
        if column.missing is None:
            return column.values
        values = column.values.astype(np.float64)
        values[column.missing] = np.nan
        return values

    def _read_column(self, position: int) -> NumericColumn | LabelColumn:
        selection = None if self._rows is None else RowsInOrder(self._rows)
        if isinstance(self._files.kind(position), LabelColumn):
            return read_labels(self._files, position, self.n_rows, selection)
        writer = ColumnWriter(self.n_rows)
        for first, (block,) in self._files.blocks([position], selection):
            writer.add(block, first, selection)
        column = writer.column()
        assert isinstance(column, NumericColumn)
        return column

    def __hedgerow_files__(self) -> tuple[ParquetFiles, list[int], NDArray[np.intp] | None]:
        """Return what the intake reads: files, positions of the features, and rows."""
        return self._files, self._positions, self._rows


def read_labels(
    files: ParquetFiles,
    position: int,
    n_rows: int,
    selection: RowsInOrder | None,
    as_labels: Any = None,
) -> LabelColumn:
    """Read a column of strings or categories: codes into the labels that occur in these rows.

    `as_labels` turns a block of numbers into labels, if the column holds numbers.
    """
    codes = np.empty(n_rows, np.int32)
    code: dict[Any, int] = {}
    kind = None
    for first, (block,) in files.blocks([position], selection):
        labels = block if as_labels is None else as_labels(block)
        own, places = labels.codes, slice(first, first + len(labels.codes))
        if selection is not None:
            rows, places = selection.within(first, len(own))
            own = own[rows]
        used = np.bincount(own + 1, minlength=len(labels.labels) + 1)[1:] > 0
        translation = np.full(len(labels.labels) + 1, -1, np.int32)
        for at in np.flatnonzero(used).tolist():
            translation[at] = code.setdefault(labels.labels[at], len(code))
            kind = labels.kind
        codes[places] = translation[own]
    if kind is None:
        empty = files.kind(position)
        kind = empty.kind if isinstance(empty, LabelColumn) else "number"
    return LabelColumn(codes, list(code), kind, files.is_declared(position))


def find_files(paths: PathsOrGlob, endings: tuple[str, ...] = _ENDINGS) -> list[str]:
    """Return the files of a path, pattern, folder, or list of paths, in their order."""
    if isinstance(paths, str | PathLike):
        return _of_one(_as_text(paths), endings)
    if not isinstance(paths, Sequence) or not paths:
        raise ParameterError(
            f"paths={paths!r} is not allowed; it must be a file, a pattern such as "
            "'data/*.parquet', a folder, or a list of files."
        )
    found = [file for path in paths for file in _of_one(_as_text(path), endings)]
    seen: set[str] = set()
    for file in found:
        if os.path.realpath(file) in seen:
            raise DataError(f"paths: {file} is listed twice.")
        seen.add(os.path.realpath(file))
    return found


def _as_text(path: Any) -> str:
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"paths: {path!r} is not a file name.")
    text = os.fspath(path)
    if not isinstance(text, str) or "\0" in text:
        raise ParameterError(f"paths: {path!r} is not a file name.")
    return text


def _of_one(path: str, endings: tuple[str, ...]) -> list[str]:
    if "://" in path:
        raise ParameterError(
            f"paths={path!r} is a URL, but only local files are read. Download "
            "them, or mount the store as a folder."
        )
    if Path(path).is_dir():
        return _of_folder(path, endings)
    if Path(path).exists():
        _refuse_other_format(path, endings)
        return [path]
    matches = sorted(glob.glob(path, recursive=True), key=natural_order)  # noqa: PTH207
    files = [match for match in matches if Path(match).is_file()]
    if not files:
        raise DataError(
            f"paths={path!r} matches no file."
            if glob.has_magic(path)
            else f"paths={path!r}: there is no such file."
        )
    for file in files:
        _refuse_other_format(file, endings)
    return files


def _of_folder(path: str, endings: tuple[str, ...]) -> list[str]:
    entries = sorted(os.listdir(path), key=natural_order)  # noqa: PTH208
    parts = [name for name in entries if "=" in name and Path(path, name).is_dir()]
    if parts:
        pattern = str(Path(path, "**", "*" + endings[0]))
        raise DataError(
            f"paths={path!r} is partitioned by folders ({listed(parts, 3)}), whose names contain a "
            "column that the files lack; such datasets are not supported. Write the column into "
            f"the files, or leave it out with a pattern: {pattern!r}."
        )
    files = [str(Path(path, name)) for name in entries if name.lower().endswith(endings)]
    if not files:
        raise DataError(f"paths={path!r} is a folder without files that end in {endings[0]}.")
    return files


def _refuse_other_format(path: str, endings: tuple[str, ...]) -> None:
    if endings is _ENDINGS and path.lower().endswith(_TEXT):
        raise DataError(
            f"{path} is a text file, not Parquet. Convert it: ParquetTable.from_csv({path!r}, …)."
        )


def natural_order(path: str) -> list[Any]:
    """Return the key by which names are sorted: numbers in them by value, part-2 before part-10."""
    parts = re.split(r"([0-9]+)", path)
    numbers = [(int(part), part) for part in parts[1::2]]
    return [each for pair in zip(parts[::2], [*numbers, (0, "")], strict=True) for each in pair]


def _require_count(n_rows: Any) -> None:
    if not isinstance(n_rows, int | np.integer) or isinstance(n_rows, bool) or n_rows < 0:
        raise ParameterError(f"n_rows={n_rows!r} is not allowed; it must be an int >= 0.")


def _roles(**named: str | Sequence[str] | None) -> list[tuple[str, str]]:
    """Return the columns that are no features, with their arguments; refuse one in two roles."""
    roles: list[tuple[str, str]] = []
    for argument, names in named.items():
        is_list = isinstance(names, Sequence) and not isinstance(names, str)
        several: Any = names if is_list and argument in ("target", "offset") else [names]
        roles += [(argument, name) for name in several if name is not None]
    by_name: dict[Any, str] = {}
    for argument, name in roles:
        if not isinstance(name, str):
            raise ParameterError(f"{argument}={name!r} is not allowed; it must be a column name.")
        if name in by_name:
            raise ParameterError(f"{by_name[name]} and {argument} both name column {name!r}.")
        by_name[name] = argument
    return roles


def _checked_columns(columns: Any, others: set[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise ParameterError(
            f"columns={columns!r} is not allowed; it must be a list of column names."
        )
    names = list(columns)
    for name in names:
        if name in others:
            raise ParameterError(
                f"columns: {name!r} is the target, the weights, the groups or the offset, not a "
                "feature."
            )
        if names.count(name) > 1:
            raise ParameterError(f"columns: {name!r} is listed twice.")
    return tuple(names)
