"""Bins: a byte for each value of a table.

`Binner` learns where the bins of each feature end (`native/table/thresholds.cpp`) and maps tables
to bins (`native/table/binning.cpp`). Numbers: the bin of x is the number of thresholds below it, so
x ≤ thresholds[b] is bin ≤ b. Categories: a table from code to bin. Bin 255 is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sums_by_class
from hedgerow._collective import workers
from hedgerow._data.columns import has_whole_strides
from hedgerow._data.names import Names
from hedgerow._data.shared_thresholds import find_shared_thresholds
from hedgerow._data.sparse import SparseLayouts
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError, ModelFileError

MISSING_BIN = 255
MAX_BINS = 255
_MAX_WIDTH = 32
_COLUMN_BYTES = 264 * 16  # of a column's histogram (native/table/binned_view.hpp)
_CACHE_LINE = 64
# Codes of a joint column: in the many small nodes of a small table, clearing and summing up all of
# them takes longer than the histogram updates that they save.
_FEWEST_JOINT_CODES, _MOST_JOINT_CODES, _ROWS_PER_JOINT_CODE = 16, 256, 64


class BinnableTable(Protocol):
    """The part of a `Table` that binning uses: a 2-d array, a sparse table, or single columns."""

    names: Names | None
    n_rows: int
    n_features: int
    dense: NDArray[Any] | None
    sparse: SparseLayouts | None

    @property
    def shared_bins(self) -> BinSource | None:
        """Bins that are shared with other rows of the same table, if any."""

    @property
    def on_gpu(self) -> Any:
        """The numbers, if they are on a GPU; None if they are on the host."""

    @property
    def reads_columns(self) -> bool:
        """Whether columns are read when they are needed, by `batches`."""

    def batches(self) -> Iterator[tuple[slice, BinnableTable]]:
        """Yield tables in memory of some columns, and which these are."""

    def pieces(self, *, drops: bool = False) -> Iterator[tuple[int, BinnableTable]]:
        """Yield tables of some rows, each with its first row; `drops` them if not needed again."""

    def take(self, rows: NDArray[Any]) -> BinnableTable:
        """Return a table of some rows."""

    def column(self, j: int) -> Any:
        """Return column j, with `.values` and `.missing`, or with `.codes`."""


class BinSource(Protocol):
    """Bins that are learned once for several fits."""

    @property
    def binner(self) -> Binner:
        """The binner that learned them."""

    def binned(self, *, columns_only: bool, threads: int) -> BinnedMatrix:
        """Return the rows of the table in bins."""


@dataclass(frozen=True, eq=False)
class BinnedMatrix:
    """A table in bins, laid out twice; see docs/architecture.md for the fields.

    `by_row` starts on a cache line and may be read 64 bytes past its end. It is None if only
    `by_column` was requested. A pickle holds only `by_column`; the rest is rebuilt.
    """

    by_column: NDArray[np.uint8]
    by_row: NDArray[np.uint8] | None
    width: int
    n_bins: NDArray[np.int32]
    is_categorical: NDArray[np.bool_]
    threshold_values: NDArray[np.float64]
    threshold_starts: NDArray[np.int64]
    places: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.by_column.shape[1]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.by_column.shape[0]

    @property
    def n_entries(self) -> int:
        """Bins that are added up to the histograms of all rows; features may share a column."""
        return self.n_rows * (int(self.places[:, 0].max(initial=-1)) + 1)

    @property
    def n_bytes(self) -> int:
        """Bytes of the bins."""
        return self.by_column.nbytes + (0 if self.by_row is None else self.by_row.nbytes)

    @property
    def histogram_bytes(self) -> int:
        """Bytes of the histograms of a node, for trees of one output."""
        return _COLUMN_BYTES * (int(self.places[:, 0].max(initial=-1)) + 1)

    def __reduce__(self) -> tuple[Callable[..., BinnedMatrix], tuple[Any, ...]]:
        columns_only = self.by_row is None
        matrix = replace(self, by_row=None)
        return _rebuild, (
            tuple(getattr(matrix, f.name) for f in fields(matrix)),
            columns_only,
        )

    def take(self, rows: NDArray[np.intp], *, columns_only: bool = False) -> BinnedMatrix:
        """Return some of the rows."""
        by_column = self.by_column.take(rows, axis=1)
        by_row = None
        if self.by_row is not None and not columns_only:
            n_blocks, _, stride = self.by_row.shape
            by_row = empty_by_row(len(rows), n_blocks * self.width, self.width, stride)
            # With mode="clip", which is safe for valid indices, NumPy makes no copy of the result.
            self.by_row.take(rows, axis=1, out=by_row, mode="clip")
        return replace(self, by_column=by_column, by_row=by_row)

    def with_places(self, places: NDArray[np.int32], *, threads: int = 1) -> BinnedMatrix:
        """Rebuild `by_row` with each feature at its place."""
        n_columns = int(places[:, 0].max(initial=-1)) + 1
        width, stride = block_shape(n_columns)
        by_row = empty_by_row(self.n_rows, n_columns, width, stride)
        _native.interleave(self.by_column, by_row, places, width, threads)
        return replace(self, by_row=by_row, width=width, places=places)


@dataclass(frozen=True, eq=False)
class UnbinnedMatrix:
    """A dense table of floats that its engine maps to bins, with the bins.

    `on_device` holds the numbers as the engine reads them, if they have been copied for it.
    """

    table: BinnableTable
    n_bins: NDArray[np.int32]
    is_categorical: NDArray[np.bool_]
    threshold_values: NDArray[np.float64]
    threshold_starts: NDArray[np.int64]
    on_device: list[Any] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.table.n_features

    @property
    def numbers(self) -> NDArray[Any]:
        """The table."""
        assert self.table.dense is not None
        return self.table.dense


def is_array_of_floats(table: BinnableTable) -> bool:
    """Return whether a table is one array of floats in memory, which is not binned yet."""
    if table.on_gpu is not None:
        return True
    if table.dense is None or table.reads_columns or table.shared_bins is not None:
        return False
    return table.dense.dtype.kind == "f" and table.dense.dtype.itemsize in (4, 8)


def _rebuild(state: tuple[Any, ...], columns_only: bool) -> BinnedMatrix:
    matrix = BinnedMatrix(*state)
    return matrix if columns_only else matrix.with_places(matrix.places)


def own_columns(n_features: int) -> NDArray[np.int32]:
    """Return the places of features that share no column."""
    places = np.zeros((n_features, 5), np.int32)
    places[:, 0] = np.arange(n_features)
    places[:, 2] = -1
    return places


def block_shape(n_columns: int) -> tuple[int, int]:
    """Return the width and stride of `by_row`'s blocks.

    The stride is a power of two, so that no row straddles cache lines, if that adds at most a
    seventh; otherwise it is the next multiple of four.
    """
    n_blocks = -(-n_columns // _MAX_WIDTH)
    width = -(-n_columns // n_blocks)
    power = max(4, 1 << (width - 1).bit_length())
    return width, power if 7 * (power - width) <= width else -(-width // 4) * 4


def row_bytes(n_columns: int) -> int:
    """Return the bytes of a row in `by_row`."""
    width, stride = block_shape(n_columns)
    return -(-n_columns // width) * stride


def empty_by_row(n_rows: int, n_columns: int, width: int, stride: int) -> NDArray[np.uint8]:
    shape = (-(-n_columns // width), n_rows, stride)
    size = shape[0] * n_rows * stride
    memory = np.empty(size + 2 * _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size].reshape(shape)


class Binner:
    """Learns bins from one table and maps any table with the same columns to them.

    Parameters
    ----------
    max_bins : int
        Maximum number of bins of a feature, besides the one for missing values: 2 to 255.
    subsample_for_bin : int
        Number of rows used to estimate quantiles. They are chosen by a hash of the seed and the row
        index and are the same for every feature. If a feature has at most `max_bins` values in
        them, all rows are read, so that each value gets a bin, however rare it is.
    seed : int

    Attributes
    ----------
    is_categorical : bool array (n_features,)
    threshold_values, threshold_starts : float64 and int64 arrays
        Feature f's thresholds are `threshold_values[threshold_starts[f]:threshold_starts[f + 1]]`.
    category_values, category_starts : uint8 and int64 arrays
        Likewise, the bins of feature f's category codes.
    """

    STATE: ClassVar[dict[str, np.dtype[Any]]] = {
        "is_categorical": np.dtype(np.bool_),
        "threshold_values": np.dtype(np.float64),
        "threshold_starts": np.dtype(np.int64),
        "category_values": np.dtype(np.uint8),
        "category_starts": np.dtype(np.int64),
    }

    is_categorical: NDArray[np.bool_]
    threshold_values: NDArray[np.float64]
    threshold_starts: NDArray[np.int64]
    category_values: NDArray[np.uint8]
    category_starts: NDArray[np.int64]

    def __init__(
        self, *, max_bins: int = MAX_BINS, subsample_for_bin: int = 200_000, seed: int = 0
    ) -> None:
        self.max_bins = max_bins
        self.subsample_for_bin = subsample_for_bin
        self.seed = seed

    def fit(
        self,
        table: BinnableTable,
        sample_weight: NDArray[Any] | None = None,
        *,
        n_categories: Mapping[int, int] | None = None,
        thresholds: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None,
        categories_only: bool = False,
        threads: int = 1,
    ) -> Binner:
        """Learn the bins.

        `n_categories` is the number of categories of a categorical feature, which may be more than
        occur in its codes. `thresholds` of numeric features may be known. With `categories_only`
        each numeric feature has one bin. Shared bins of the table are reused.
        """
        if table.shared_bins is not None and not categories_only:
            vars(self).update(table.shared_bins.binner.to_dict())
            return self
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, np.float64)
        counts = n_categories or {}
        if table.reads_columns:
            self._fit_batches(table, weights, counts, None, threads)
            return self
        if thresholds is not None:
            self.threshold_values, self.threshold_starts = thresholds
        elif categories_only:
            self.threshold_values = np.empty(0)
            self.threshold_starts = np.zeros(table.n_features + 1, np.int64)
        else:
            with workers().phase("thresholds"):
                self._fit_thresholds(table, weights, threads)
        self._fit_categories(table, weights, counts)
        return self

    def _fit_batches(
        self,
        table: BinnableTable,
        weights: NDArray[np.float64] | None,
        n_categories: Mapping[int, int],
        by_column: NDArray[np.uint8] | None,
        threads: int,
    ) -> None:
        """Learn the bins of a few columns at a time; also map them, if there is a place for it."""
        parts = []
        for features, batch in table.batches():
            own = range(features.start, features.stop)
            counts = {f - own.start: n_categories[f] for f in own if f in n_categories}
            part = self._unfitted().fit(batch, weights, n_categories=counts, threads=threads)
            if by_column is not None:
                part.map_batch(batch, by_column[features], threads)
            parts.append(part)
            del batch  # before the next is read
        self.is_categorical = np.concatenate([part.is_categorical for part in parts])
        self.threshold_values, self.threshold_starts = _joined(
            [(part.threshold_values, part.threshold_starts) for part in parts]
        )
        self.category_values, self.category_starts = _joined(
            [(part.category_values, part.category_starts) for part in parts]
        )

    def _unfitted(self) -> Binner:
        return Binner(
            max_bins=self.max_bins, subsample_for_bin=self.subsample_for_bin, seed=self.seed
        )

    def _of_features(self, features: slice) -> Binner:
        """Return the bins of some features."""
        part = self._unfitted()
        part.is_categorical = self.is_categorical[features]
        part.threshold_values, part.threshold_starts = _part(
            self.threshold_values, self.threshold_starts, features
        )
        part.category_values, part.category_starts = _part(
            self.category_values, self.category_starts, features
        )
        return part

    def map_batch(self, batch: BinnableTable, by_column: NDArray[np.uint8], threads: int) -> None:
        """Map a table in memory to bins by column."""
        if not self._map(batch, by_column, None, threads):
            report_infinity(batch)

    def _fit_thresholds(
        self, table: BinnableTable, weights: NDArray[np.float64] | None, threads: int
    ) -> None:
        bins, n_sample, seed = self.max_bins, self.subsample_for_bin, self.seed
        if workers().size > 1:
            thresholds = find_shared_thresholds(
                table, weights, bins, n_sample, seed, threads, workers()
            )
        elif table.sparse is None:
            columns = _columns(table)
            thresholds = _native.find_thresholds(columns, weights, bins, n_sample, seed, threads)
        else:
            data, rows, starts = stored_values(table.sparse)
            thresholds = _native.find_sparse_thresholds(
                data, rows, starts, table.n_rows, weights, bins, n_sample, seed, threads
            )
        self.threshold_values, self.threshold_starts = thresholds

    def _fit_categories(
        self,
        table: BinnableTable,
        weights: NDArray[np.float64] | None,
        n_categories: Mapping[int, int],
    ) -> None:
        n_features, names, codes = table.n_features, table.names, _codes_by_feature(table)
        self.is_categorical = np.zeros(n_features, bool)
        self.is_categorical[list(codes)] = True
        self.category_starts = np.zeros(n_features + 1, np.int64)
        bins = []
        for f, feature_codes in codes.items():
            bins.append(_bins_of_categories(feature_codes, weights, n_categories.get(f, 0), self))
            if len(bins[-1]) > self.max_bins:
                where = f if names is None else repr(names[f])
                warn_user(
                    f"Column {where} has {len(bins[-1])} categories, more than "
                    f"max_bins={self.max_bins}, so the rarest categories share a bin.",
                )
            self.category_starts[f + 1] = len(bins[-1])
        np.cumsum(self.category_starts, out=self.category_starts)
        self.category_values = np.concatenate([np.empty(0, np.uint8), *bins])

    def transform(
        self,
        table: BinnableTable,
        *,
        columns_only: bool = False,
        drops: bool = False,
        threads: int = 1,
    ) -> BinnedMatrix:
        """Map a table to bins; `columns_only` omits `by_row`, which validation does not need.

        `drops` if nobody needs the rows of the table afterwards.
        """
        shared = table.shared_bins
        if shared is not None and shared.binner.threshold_values is self.threshold_values:
            return shared.binned(columns_only=columns_only, threads=threads)
        by_column = np.empty((table.n_features, table.n_rows), np.uint8)
        if table.reads_columns:
            for features, batch in table.batches():
                self._of_features(features).map_batch(batch, by_column[features], threads)
                del batch  # before the next is read
            binned = self._binned(by_column, None)
            return binned if columns_only else self.with_rows(binned, threads=threads)
        width, stride = block_shape(table.n_features)
        by_row = None
        if not columns_only and not self._has_joint_columns():
            by_row = empty_by_row(table.n_rows, table.n_features, width, stride)
        for first, piece in table.pieces(drops=drops):
            if not self._map(piece, by_column, by_row, threads, first):
                report_infinity(piece)
            del piece  # before the next is bound
        binned = self._binned(by_column, by_row)
        return binned if columns_only else self.with_rows(binned, threads=threads)

    def leave_unbinned(self, table: BinnableTable, *on_device: Any) -> UnbinnedMatrix:
        """Return a table of floats for an engine that maps it to these bins."""
        return UnbinnedMatrix(
            *(table, self.n_bins, self.is_categorical),
            *(self.threshold_values, self.threshold_starts, list(on_device)),
        )

    def _binned(
        self, by_column: NDArray[np.uint8], by_row: NDArray[np.uint8] | None
    ) -> BinnedMatrix:
        n_features = len(by_column)
        return BinnedMatrix(
            by_column,
            by_row,
            block_shape(n_features)[0],
            self.n_bins,
            self.is_categorical,
            self.threshold_values,
            self.threshold_starts,
            own_columns(n_features),
        )

    def with_rows(self, binned: BinnedMatrix, *, threads: int = 1) -> BinnedMatrix:
        """Return bins whose `by_row` has each feature at its place."""
        places = self._places(binned, threads)
        if binned.by_row is not None and np.array_equal(places, binned.places):
            return binned
        return binned.with_places(places, threads=threads)

    def _places(self, binned: BinnedMatrix, threads: int) -> NDArray[np.int32]:
        """Return where each feature is in `by_row`: bundled, joined with others, or alone."""
        places = own_columns(binned.n_features)
        if workers().size == 1:  # of several, each knows only whether its own rows are exclusive
            places = _native.bundle_features(
                binned.by_column, binned.n_bins, self.zero_bins()
            ).reshape(-1, 5)
        has_missing = workers().max(_native.find_missing(binned.by_column, threads))
        most_codes = workers().count(binned.n_rows) // _ROWS_PER_JOINT_CODE
        most_codes = min(max(most_codes, _FEWEST_JOINT_CODES), _MOST_JOINT_CODES)
        joined = _native.join_columns(places, binned.n_bins, has_missing, most_codes)
        return joined.reshape(-1, 5)

    def _has_joint_columns(self) -> bool:
        """Return whether two features have so few bins that they will share a column."""
        fewest = np.sort(self.n_bins)[:2]
        return len(fewest) == 2 and int(fewest.prod()) < MISSING_BIN

    def zero_bins(self) -> NDArray[np.int32]:
        """Return the bin of 0 in each feature, -1 for a categorical one."""
        negative = np.concatenate([[0], np.cumsum(self.threshold_values < 0)])
        bins = np.diff(negative[self.threshold_starts]).astype(np.int32)
        bins[self.is_categorical] = -1
        return bins

    def _map(
        self,
        table: BinnableTable,
        by_column: NDArray[np.uint8],
        by_row: NDArray[np.uint8] | None,
        threads: int,
        first_row: int = 0,
    ) -> bool:
        """Fill the layouts from a row on; return whether every value is finite or missing."""
        thresholds, starts = self.threshold_values, self.threshold_starts
        width, _ = block_shape(table.n_features)
        if table.sparse is not None:
            data, rows, columns = stored_values(table.sparse)
            return _native.map_sparse_to_bins(
                data, rows, columns, thresholds, starts, by_column, by_row, width, threads
            )
        bins, bin_starts = self.category_values, self.category_starts
        return _native.map_to_bins(
            *(_columns(table), thresholds, starts, bins, bin_starts, by_column, by_row, width),
            *(threads, first_row),
        )

    def fit_transform(
        self,
        table: BinnableTable,
        sample_weight: NDArray[Any] | None = None,
        *,
        n_categories: Mapping[int, int] | None = None,
        columns_only: bool = False,
        drops: bool = False,
        threads: int = 1,
    ) -> BinnedMatrix:
        """Learn the bins of a table and map it to them, in one pass if it is read from files."""
        if table.shared_bins is not None or not table.reads_columns:
            self.fit(table, sample_weight, n_categories=n_categories, threads=threads)
            return self.transform(table, columns_only=columns_only, drops=drops, threads=threads)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, np.float64)
        by_column = np.empty((table.n_features, table.n_rows), np.uint8)
        self._fit_batches(table, weights, n_categories or {}, by_column, threads)
        binned = self._binned(by_column, None)
        return binned if columns_only else self.with_rows(binned, threads=threads)

    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Value bins of each feature."""
        counts = np.diff(self.threshold_starts).astype(np.int32) + 1
        for f in np.flatnonzero(self.is_categorical).tolist():
            counts[f] = self._category_bins(f).max(initial=0) + 1
        return counts

    @property
    def thresholds(self) -> list[NDArray[np.float64]]:
        """Thresholds of each feature, increasing; none for a categorical one."""
        return np.split(self.threshold_values, self.threshold_starts[1:-1])

    @property
    def category_bins(self) -> list[NDArray[np.uint8] | None]:
        """The bin of each category code, for each categorical feature."""
        return [
            self._category_bins(f) if categorical else None
            for f, categorical in enumerate(self.is_categorical)
        ]

    def _category_bins(self, f: int) -> NDArray[np.uint8]:
        return self.category_values[self.category_starts[f] : self.category_starts[f + 1]]

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the learned bins as plain arrays."""
        return {name: getattr(self, name) for name in self.STATE}

    @classmethod
    def from_dict(cls, state: Mapping[str, NDArray[Any]]) -> Binner:
        """Create a binner from the arrays of `to_dict`, after checking them."""
        binner = cls()
        for name, dtype in cls.STATE.items():
            array = state.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise ModelFileError(f"the bins have no one-dimensional {dtype} array {name!r}")
            setattr(binner, name, np.ascontiguousarray(array))
        binner._check()
        return binner

    def _check(self) -> None:
        """Refuse arrays that would be unsafe for native code."""
        n_features = len(self.is_categorical)
        _check_starts("threshold_starts", self.threshold_starts, n_features, self.threshold_values)
        _check_starts("category_starts", self.category_starts, n_features, self.category_values)
        if (np.diff(self.threshold_starts) >= MAX_BINS).any():
            raise ModelFileError(f"a feature has more than {MAX_BINS - 1} thresholds")
        may_decrease = np.zeros(len(self.threshold_values) + 1, bool)
        may_decrease[self.threshold_starts] = True
        increases = self.threshold_values[1:] > self.threshold_values[:-1]
        if (
            not (increases | may_decrease[1:-1]).all()
            or not np.isfinite(self.threshold_values).all()
        ):
            raise ModelFileError("thresholds must be finite and increase")
        if (self.category_values == MISSING_BIN).any():
            raise ModelFileError(
                f"a category has the bin {MISSING_BIN}, which is reserved for missing values"
            )


def _joined(
    parts: Sequence[tuple[NDArray[Any], NDArray[np.int64]]],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Join the values of several groups of features, and where each feature's begin."""
    lengths = np.concatenate([np.diff(starts) for _, starts in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.concatenate([values for values, _ in parts]), starts


def _part(
    values: NDArray[Any], starts: NDArray[np.int64], features: slice
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the values of some features, and where each feature's begin."""
    own = starts[features.start : features.stop + 1]
    return values[own[0] : own[-1]], own - own[0]


# A table for native code: a 2-d array, or for each column (values, missing) or codes.
_Columns = NDArray[Any] | list[Any]


def _check_starts(
    name: str, starts: NDArray[np.int64], n_features: int, values: NDArray[Any]
) -> None:
    if (
        len(starts) != n_features + 1
        or starts[0] != 0
        or starts[-1] != len(values)
        or (starts[1:] < starts[:-1]).any()  # not np.diff, which may wrap around
    ):
        raise ModelFileError(f"{name} are not valid start positions for {n_features} features")


def _columns(table: BinnableTable) -> _Columns:
    if table.sparse is not None:
        return []
    if table.dense is not None and has_whole_strides(table.dense):
        return table.dense
    return [_native_column(table.column(j)) for j in range(table.n_features)]


def _native_column(column: Any) -> Any:
    codes = getattr(column, "codes", None)
    if codes is not None:
        return _with_whole_strides(codes)
    missing = column.missing
    return (
        _with_whole_strides(column.values),
        None if missing is None else _with_whole_strides(missing),
    )


def _with_whole_strides(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with strides of whole elements; only a field of a record needs a copy."""
    return array if has_whole_strides(array) else np.ascontiguousarray(array)


def stored_values(table: SparseLayouts) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return the values of a sparse table column by column, their rows, and where columns begin."""
    csc = table.csc
    return csc.data, csc.indices, csc.indptr.astype(np.int64, copy=False)


def _codes_by_feature(table: BinnableTable) -> dict[int, NDArray[np.int32]]:
    if table.on_gpu is not None or table.dense is not None or table.sparse is not None:
        return {}
    _, first = next(table.pieces())
    features = [f for f in range(table.n_features) if hasattr(first.column(f), "codes")]
    return {f: _with_whole_strides(table.column(f).codes) for f in features}


def _bins_of_categories(
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    n_categories: int,
    binner: Binner,
) -> NDArray[np.uint8]:
    """Return the bin of each category; if there are too many, the rarest share one."""
    n_categories = max(n_categories, int(workers().largest(codes.max(initial=-1))) + 1)
    if n_categories <= binner.max_bins:
        return np.arange(n_categories, dtype=np.uint8)
    weight = sums_by_class(codes + 1, weights, n_categories + 1)[1:]
    heaviest_first = np.argsort(-weight, kind="stable")
    frequent = np.sort(heaviest_first[: binner.max_bins - 1])
    bins = np.full(n_categories, len(frequent), np.uint8)
    bins[frequent] = np.arange(len(frequent))
    return bins


def report_infinity(table: BinnableTable) -> NoReturn:
    """Raise for the first row that holds an infinity, and its first such column."""
    row, j = min(
        (int(np.argmax(infinite)), j)
        for j in range(table.n_features)
        if (infinite := _infinite(table.column(j))).any()
    )
    where = j if table.names is None else repr(table.names[j])
    raise DataError(
        f"X, column {where} contains infinity (first in row {row}). Replace infinities with NaN, "
        "which means missing, or with a large finite number."
    )


def _infinite(column: Any) -> NDArray[np.bool_]:
    if hasattr(column, "codes"):
        return np.zeros(len(column.codes), bool)
    infinite: NDArray[np.bool_] = np.isinf(column.values)
    return infinite if column.missing is None else infinite & ~column.missing
