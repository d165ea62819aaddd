"""Tables → datasets: the rows of a file, split into features, target, weights and groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow._cli.csv_file import ColumnKind, is_number
from hedgerow._cli.options import DataFiles, ParquetPaths, Reading, source_name
from hedgerow._cli.tables import SparseFile, read_file
from hedgerow._contract import internals
from hedgerow._data.names import listed
from hedgerow._spelling import near
from hedgerow._types import Indices
from hedgerow.exceptions import DataError, ParameterError

_NAMELESS = (
    "in SVMlight files columns have no names, and targets and queries have fields of their own."
)


@dataclass(frozen=True)
class Roles:
    """Names of the columns that are not features.

    `target_kind` is the kind of the target: "number", or "any" to infer it.
    """

    target: str | None = None
    event: str | None = None
    qid: str | None = None
    weights: str | None = None
    groups: str | None = None
    offset: str | None = None
    drop: tuple[str, ...] = ()
    drop_missing_target: bool = False
    target_kind: ColumnKind = "any"

    @property
    def by_option(self) -> dict[str, str]:
        """The columns that options name, except those to drop."""
        by_option = {
            "--target": self.target,
            "--event": self.event,
            "--qid": self.qid,
            "--weights": self.weights,
            "--groups": self.groups,
            "--offset": self.offset,
        }
        return {option: name for option, name in by_option.items() if name is not None}

    def kind_of(self, name: str) -> ColumnKind | None:
        """Return the kind of a column; None to infer it. Columns to drop stay text."""
        if name in self.drop:
            return "text"
        if name == self.target:
            return self.target_kind
        return "any" if name in self.names else None

    @property
    def names(self) -> list[str]:
        """The names of all these columns."""
        return [*self.by_option.values(), *self.drop]


@dataclass(frozen=True)
class LabeledDataset:
    """Rows with their targets; None for columns that the file does not have."""

    X: Any
    y: Any
    weights: Any = None
    groups: Any = None
    qid: Any = None
    offset: Any = None

    @property
    def of_predictions(self) -> dict[str, Any]:
        """The arguments of predictions, beside X."""
        return {} if self.offset is None else {"offset": self.offset}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def keep_together(self) -> Any:
        """The groups or queries whose rows a split keeps together."""
        return self.groups if self.qid is None else self.qid

    def take(self, rows: Indices) -> LabeledDataset:
        """Return some of the rows."""
        parts = (self.X, self.y, self.weights, self.groups, self.qid, self.offset)
        return LabeledDataset(*(None if part is None else _rows_of(part, rows) for part in parts))


def _rows_of(values: Any, rows: Indices) -> Any:
    if isinstance(values, hr.ParquetTable):
        return values.take(rows)
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


@dataclass(frozen=True)
class ExpectedColumns:
    """The columns that a file must have: those of a model, or of another dataset.

    `names` are the columns to use, in order; None uses all columns of a table without names.
    """

    names: list[str] | None
    kinds: Mapping[str, ColumnKind]
    n_features: int

    @classmethod
    def of_model(cls, model: Any, target: str | None = None) -> ExpectedColumns:
        """Return the columns that a model was trained on."""
        schema = getattr(internals(model).model(), "schema", None)
        kinds: dict[str, ColumnKind] = {}
        if schema is not None and schema.feature_names is not None:
            for j, name in enumerate(schema.feature_names):
                categories = schema.categories.get(j)
                is_text = categories is not None and categories.kind == "string"
                kinds[name] = "text" if is_text else "number"
        classes = getattr(model, "classes_", None)
        if target is not None and target not in kinds:
            are_texts = isinstance(classes, np.ndarray) and classes.dtype.kind in "UOT"
            kinds[target] = "text" if are_texts else "number"
        names = getattr(model, "feature_names_in_", None)
        return cls(None if names is None else list(names), kinds, model.n_features_in_)

    @classmethod
    def of_dataset(cls, dataset: LabeledDataset, target: str | None) -> ExpectedColumns:
        """Return the columns of another dataset."""
        if isinstance(dataset.X, hr.ParquetTable):
            kinds = {name: parquet_kind(dataset.X, name) for name in dataset.X.columns}
            return cls(list(dataset.X.columns), kinds, dataset.X.shape[1])
        if not isinstance(dataset.X, pd.DataFrame):
            return cls(None, {}, dataset.X.shape[1])
        kinds = {name: _kind_of(dataset.X[name]) for name in dataset.X.columns}
        if target is not None and isinstance(dataset.y, pd.Series):
            kinds[target] = _kind_of(dataset.y)
        return cls(list(dataset.X.columns), kinds, dataset.X.shape[1])

    def with_names(self, reading: Reading) -> Reading:
        """Add the column names to the reading options."""
        return reading if self.names is None else replace(reading, names=tuple(self.names))

    def kind_of(self, name: str) -> ColumnKind:
        """Return the kind of a column; columns that are not expected stay text."""
        return self.kinds.get(name, "text")

    def columns(self, table: Any, roles: Roles, source: str) -> Any:
        """Return the expected columns; others, such as a target, are ignored."""
        if self.names is None:
            return _features(table, roles, source)
        require_columns(table, self.names, source)
        return table[self.names]

    def rows(self, sparse: SparseFile, source: str) -> Any:
        """Return the rows of a table without column names."""
        if self.names is not None:
            raise DataError(f"{source} has no column {self.names[0]!r}: {_NAMELESS}")
        return sparse.X

    def require_kinds(self, table: Any, source: str) -> None:
        """Refuse text in numeric columns."""
        if isinstance(table, hr.ParquetTable):  # whose types `predict` checks
            return
        for name in [] if self.names is None else self.names:
            if self.kinds[name] == "number" and _kind_of(table[name]) == "text":
                example = table[name].dropna().iloc[0]
                raise DataError(
                    f"{source}, column {name!r} is text (such as {example!r}), but numeric in the "
                    "training data."
                )


def _kind_of(column: Any) -> ColumnKind:
    is_number = pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)
    return "number" if is_number or set(column.dropna()) <= {True, False} else "text"


def read_dataset(
    path: DataFiles, reading: Reading, roles: Roles, expected: ExpectedColumns | None = None
) -> LabeledDataset:
    """Read a training set or, with expected columns, a test set."""
    if isinstance(path, ParquetPaths):
        return _streamed_dataset(path, reading, roles, expected)
    table, source = _read_table(path, reading, roles, expected), source_name(path)
    if isinstance(table, SparseFile):
        return _sparse_dataset(table, roles, expected, source)
    table = _require_roles(table, roles, source)
    target, event = table[roles.target], _column(table, roles.event)
    return LabeledDataset(
        X=_features(table, roles, source)
        if expected is None
        else expected.columns(table, roles, source),
        y=target if event is None else pd.DataFrame({"event": _flags(event), "time": target}),
        weights=_column(table, roles.weights),
        groups=_column(table, roles.groups),
        qid=_column(table, roles.qid),
        offset=_column(table, roles.offset),
    )


def _streamed_dataset(
    paths: ParquetPaths, reading: Reading, roles: Roles, expected: ExpectedColumns | None
) -> LabeledDataset:
    """Open Parquet files; only the columns that are no features are read."""
    if roles.target is None:
        raise DataError(f"--target must name the column of {paths} to predict.")
    X = open_parquet(paths, reading, roles.names, expected)
    columns = {option: _read_one(X, name) for option, name in roles.by_option.items()}
    target = columns["--target"]
    rows = None
    if roles.drop_missing_target and target.notna().any():
        rows = np.flatnonzero(target.notna())
    event = columns.get("--event")
    dataset = LabeledDataset(
        X=X,
        y=target if event is None else pd.DataFrame({"event": _flags(event), "time": target}),
        weights=columns.get("--weights"),
        groups=columns.get("--groups"),
        qid=columns.get("--qid"),
        offset=columns.get("--offset"),
    )
    dataset = dataset if rows is None else dataset.take(rows)
    if pd.isna(dataset.y).to_numpy().any():
        raise DataError(
            f"{paths}, column {roles.target!r} (--target) has missing values. "
            "--drop-missing-target skips these rows."
        )
    return dataset


def open_parquet(
    paths: ParquetPaths,
    reading: Reading,
    no_features: Sequence[str],
    expected: ExpectedColumns | None,
) -> Any:
    """Open Parquet files as a table of the expected columns, or of all but some."""
    if reading.na or reading.header is not None or reading.kind not in (None, "parquet"):
        raise ParameterError(
            "--na, --header, --no-header and --format are for a file that is read into memory, but "
            f"{paths} are Parquet files that are read a few columns at a time."
        )
    whole = hr.ParquetTable(list(paths))
    names = [name for name in whole.columns if name not in no_features]
    if expected is not None and expected.names is not None:
        names = expected.names
    for name in no_features:
        whole.type_of(name, "column")
    return hr.ParquetTable(list(paths), columns=names)


def parquet_kind(table: Any, name: str) -> ColumnKind:
    """Return whether a column of Parquet files holds numbers or text."""
    text = str(table.type_of(name, "column"))
    return "text" if "string" in text else "number"


def _read_one(table: Any, name: str) -> Any:
    """Read a column that is no feature, as a series."""
    return pd.Series(table.read_column(name), name=name)


def _read_table(
    path: Path, reading: Reading, roles: Roles, expected: ExpectedColumns | None
) -> Any:
    """Read a table with the expected kinds of columns; other kinds are inferred."""

    def kind_of(name: str) -> ColumnKind | None:
        if expected is None:
            return roles.kind_of(name)
        is_unexpected = name in roles.names and name not in expected.kinds
        return roles.kind_of(name) if is_unexpected else expected.kind_of(name)

    if expected is None:
        return read_file(path, reading, kind_of)
    return read_file(path, expected.with_names(reading), kind_of, expected.n_features)


def read_features(
    path: DataFiles,
    reading: Reading,
    expected: ExpectedColumns,
    keep: str | None,
    offset: str | None = None,
) -> tuple[Any, Any, Any]:
    """Read rows to predict, a column to copy next to the predictions, unchanged, and offsets."""
    others = [name for name in (keep, offset) if name is not None]
    if isinstance(path, ParquetPaths):
        X = open_parquet(path, reading, others, expected)
        return X, *(None if name is None else _read_one(X, name) for name in (keep, offset))

    def kind_of(name: str) -> ColumnKind:
        return "number" if name == offset else expected.kind_of(name)

    table = read_file(path, expected.with_names(reading), kind_of, expected.n_features)
    source = source_name(path)
    if isinstance(table, SparseFile):
        if others:
            raise DataError(f"{source} has no column {others[0]!r}: {_NAMELESS}")
        return expected.rows(table, source), None, None
    require_columns(table, others, source)
    features = expected.columns(table, Roles(), source)
    return features, _column(table, keep), _column(table, offset)


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """Return a sentence that suggests the most similar of the allowed names, or lists them."""
    names = list(allowed)
    similar = next(iter(near(name, names)), None)
    if similar is not None:
        return f"Did you mean {similar!r}?"
    return f"There are {listed(names)}."


def require_columns(table: Any, names: Sequence[str], source: str) -> None:
    """Raise if the table lacks one of these columns."""
    for name in names:
        if name not in table.columns:
            names = list(map(str, table.columns))
            has_numbers = any(map(is_number, names))
            hint = " If its first line is not a header, use --no-header." if has_numbers else ""
            raise DataError(f"{source} has no column {name!r}. {suggestion(name, names)}{hint}")


def _require_roles(table: Any, roles: Roles, source: str) -> Any:
    """Return the rows to use; refuse columns that are absent, incomplete, or in two roles."""
    if roles.target is None:
        raise DataError(f"--target must name the column of {source} to predict.")
    require_columns(table, roles.names, source)
    if roles.drop_missing_target and table[roles.target].notna().any():
        table = table[table[roles.target].notna()].reset_index(drop=True)
    for option, name in roles.by_option.items():
        if option != "--target" and name == roles.target:
            raise DataError(f"--target and {option} both name column {name!r}.")
        is_missing = table[name].isna().to_numpy()
        if is_missing.all():
            raise DataError(f"{source}, column {name!r} ({option}) is empty.")
        if is_missing.any():
            hint = " --drop-missing-target skips these rows." if option == "--target" else ""
            raise DataError(
                f"{source}, column {name!r} ({option}) has missing values: {is_missing.sum():,} of "
                f"{len(is_missing):,} rows, the first is row {is_missing.argmax()}.{hint}"
            )
    return table


def _sparse_dataset(
    table: SparseFile, roles: Roles, expected: ExpectedColumns | None, source: str
) -> LabeledDataset:
    if roles.names:
        raise DataError(f"{source} has no column {roles.names[0]!r}: {_NAMELESS}")
    if np.isnan(table.y).any():
        raise DataError(f"{source} has no target in row {np.isnan(table.y).argmax()}.")
    X = table.X if expected is None else expected.rows(table, source)
    return LabeledDataset(X, table.y, qid=table.qid)


def _features(table: Any, roles: Roles, source: str) -> Any:
    features = table.drop(columns=roles.names)
    if features.shape[1] == 0:
        raise DataError(
            f"{source} has no features: no columns other than {', '.join(roles.names)}."
        )
    return features


def _column(table: Any, name: str | None) -> Any:
    return None if name is None else table[name]


def _flags(event: Any) -> Any:
    """Return whether events were observed, as booleans; files often have 1 and 0."""
    if not event.isin([0, 1]).all():
        raise DataError(
            f"--event: column {event.name!r} must be true or false (or 1 or 0) in every row: "
            "whether the event was observed."
        )
    return event.astype(bool)
