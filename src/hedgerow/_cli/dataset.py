"""Tables → datasets: the rows of a file, split into features, target, weights and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hedgerow._cli.cell_values import is_number
from hedgerow._cli.csv_file import ColumnKind
from hedgerow._cli.names import suggestion
from hedgerow._cli.options import Reading, source_name
from hedgerow._cli.tables import SparseFile, read_file
from hedgerow._contract import internals
from hedgerow._types import Indices
from hedgerow.exceptions import DataError

_NAMELESS = (
    "SVMlight files hold targets and queries in places of their own, and their columns have no "
    "names."
)


@dataclass(frozen=True)
class Roles:
    """Names of the columns that are no features, and what is asked of them.

    `target_kind` is what the target is read as: "any", whatever it is, or "number".
    """

    target: str | None = None
    event: str | None = None
    qid: str | None = None
    weights: str | None = None
    groups: str | None = None
    drop: tuple[str, ...] = ()
    drop_missing_target: bool = False
    target_kind: ColumnKind = "any"

    @property
    def by_option(self) -> dict[str, str]:
        """The columns that options name, but for those to drop."""
        named = {
            "--target": self.target,
            "--event": self.event,
            "--qid": self.qid,
            "--weights": self.weights,
            "--groups": self.groups,
        }
        return {option: name for option, name in named.items() if name is not None}

    def kind_of(self, name: str) -> ColumnKind | None:
        """Tell what to read a column as: those to drop as they stand, and others as they look."""
        if name in self.drop:
            return "text"
        if name == self.target:
            return self.target_kind
        return "any" if name in self.names else None

    @property
    def names(self) -> list[str]:
        """All of them that are given."""
        return [*self.by_option.values(), *self.drop]


@dataclass(frozen=True)
class LabeledDataset:
    """Rows with their targets; None for what the file does not have."""

    X: Any
    y: Any
    weights: Any = None
    groups: Any = None
    qid: Any = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def keep_together(self) -> Any:
        """Groups of rows that a split keeps together: queries, or groups."""
        return self.groups if self.qid is None else self.qid

    def take(self, rows: Indices) -> LabeledDataset:
        """Return some of the rows."""
        parts = (self.X, self.y, self.weights, self.groups, self.qid)
        return LabeledDataset(*(None if part is None else _rows_of(part, rows) for part in parts))


def _rows_of(values: Any, rows: Indices) -> Any:
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


@dataclass(frozen=True)
class ExpectedColumns:
    """What is known of a file before it is read: its columns are those of a model, or of a table.

    `names` are the columns to take, in order; None takes all of a table without names.
    """

    names: list[str] | None
    kinds: Mapping[str, ColumnKind]
    n_features: int

    @classmethod
    def of_model(cls, model: Any, target: str | None = None) -> ExpectedColumns:
        """Tell what a model has learned of its columns."""
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
        """Tell what the columns of other rows are."""
        if not isinstance(dataset.X, pd.DataFrame):
            return cls(None, {}, dataset.X.shape[1])
        kinds = {name: _kind_of(dataset.X[name]) for name in dataset.X.columns}
        if target is not None and isinstance(dataset.y, pd.Series):
            kinds[target] = _kind_of(dataset.y)
        return cls(list(dataset.X.columns), kinds, dataset.X.shape[1])

    def named(self, reading: Reading) -> Reading:
        """Add the names of the columns to how a file is read."""
        return reading if self.names is None else replace(reading, names=tuple(self.names))

    def kind_of(self, name: str) -> ColumnKind:
        """Tell what a column is; of one that is not known it does not matter."""
        return self.kinds.get(name, "text")

    def columns(self, table: Any, roles: Roles, source: str) -> Any:
        """Return the columns to take; others, such as a target, do not matter."""
        if self.names is None:
            return _features(table, roles, source)
        require_columns(table, self.names, source)
        return table[self.names]

    def rows(self, sparse: SparseFile, source: str) -> Any:
        """Return the rows of a table without names of columns."""
        if self.names is not None:
            raise DataError(f"{source} has no column {self.names[0]!r}: {_NAMELESS}")
        return sparse.X

    def require_kinds(self, table: Any, source: str) -> None:
        """Refuse text where numbers are known."""
        for name in [] if self.names is None else self.names:
            if self.kinds[name] == "number" and _kind_of(table[name]) == "text":
                example = table[name].dropna().iloc[0]
                raise DataError(
                    f"{source}, column {name!r}: the model learns from numbers there, but this is "
                    f"text (such as {example!r})."
                )


def _kind_of(column: Any) -> ColumnKind:
    is_number = pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)
    return "number" if is_number or set(column.dropna()) <= {True, False} else "text"


def read_dataset(
    path: Path, reading: Reading, roles: Roles, expected: ExpectedColumns | None = None
) -> LabeledDataset:
    """Read rows to learn from or, with columns that are expected, rows to judge a model by.

    Parameters
    ----------
    path : Path
        The file.
    reading : Reading
        How the file is read.
    roles : Roles
        Columns that are no features.
    expected : ExpectedColumns, optional
        The columns that the model has.
    """
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
    )


def _read_table(
    path: Path, reading: Reading, roles: Roles, expected: ExpectedColumns | None
) -> Any:
    """Read a table, whose columns are what is known of them, or else what they look like."""

    def kind_of(name: str) -> ColumnKind | None:
        if expected is None:
            return roles.kind_of(name)
        is_open = name in roles.names and name not in expected.kinds
        return roles.kind_of(name) if is_open else expected.kind_of(name)

    if expected is None:
        return read_file(path, reading, kind_of)
    return read_file(path, expected.named(reading), kind_of, expected.n_features)


def read_features(
    path: Path, reading: Reading, expected: ExpectedColumns, keep: str | None
) -> tuple[Any, Any]:
    """Read rows to predict, and a column to keep beside the predictions, as it stands."""
    table = read_file(path, expected.named(reading), expected.kind_of, expected.n_features)
    source = source_name(path)
    if isinstance(table, SparseFile):
        if keep is not None:
            raise DataError(f"{source} has no column {keep!r}: {_NAMELESS}")
        return expected.rows(table, source), None
    require_columns(table, [] if keep is None else [keep], source)
    return expected.columns(table, Roles(), source), _column(table, keep)


def require_columns(table: Any, names: Sequence[str], source: str) -> None:
    """Refuse names that are no columns."""
    for name in names:
        if name not in table.columns:
            names = list(map(str, table.columns))
            hint = " If its first line is no header: --no-header." if _has_numbers(names) else ""
            raise DataError(f"{source} has no column {name!r}. {suggestion(name, names)}{hint}")


def _has_numbers(names: Sequence[str]) -> bool:
    return any(map(is_number, names))


def _require_roles(table: Any, roles: Roles, source: str) -> Any:
    """Return the rows to use; refuse columns that are missing, incomplete, or in two roles."""
    if roles.target is None:
        raise DataError(f"--target must name the column of {source} that is to be predicted.")
    require_columns(table, roles.names, source)
    if roles.drop_missing_target and table[roles.target].notna().any():
        table = table[table[roles.target].notna()].reset_index(drop=True)
    for option, name in roles.by_option.items():
        if option != "--target" and name == roles.target:
            raise DataError(f"--target and {option} both name column {name!r}.")
        is_gap = table[name].isna().to_numpy()
        if is_gap.all():
            raise DataError(f"{source}, column {name!r} ({option}) is empty.")
        if is_gap.any():
            way_out = " --drop-missing-target leaves them out." if option == "--target" else ""
            raise DataError(
                f"{source}, column {name!r} ({option}) has missing values: {is_gap.sum():,} of "
                f"{len(is_gap):,} rows, the first is row {is_gap.argmax()}.{way_out}"
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
        raise DataError(f"{source} has no columns to learn from beside {', '.join(roles.names)}.")
    return features


def _column(table: Any, name: str | None) -> Any:
    return None if name is None else table[name]


def _flags(event: Any) -> Any:
    """Return whether events were seen, as booleans; files often have 1 and 0."""
    if not event.isin([0, 1]).all():
        raise DataError(
            f"--event: column {event.name!r} must tell whether the event was seen: true or false, "
            "1 or 0, in every row."
        )
    return event.astype(bool)
