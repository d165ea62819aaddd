"""A CSV file → a data frame. The same column has the same type whenever it is read.

All fields are read as text, and a column then becomes what all of its values are: whole numbers,
numbers, true and false, or else text. What a model has learned about a column decides instead, if
there is a model: a category "7" stays text, though a file may hold no other.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from hedgerow._cli.damage import read_as, require_distinct
from hedgerow._cli.missing import without_na
from hedgerow._cli.numerals import NotNumbers, is_number, non_numeric_values
from hedgerow._cli.options import Reading
from hedgerow._data.schema import listed
from hedgerow.exceptions import DataError

ColumnKind = Literal["text", "number", "any"]
# What a column is by its name: None if that is to be found out, "any" if it is no feature besides.
Kinds = Callable[[str], ColumnKind | None]

# What pandas takes for a gap, too, so that `pandas.read_csv` gives the same table.
GAPS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
_DELIMITERS = (",", ";", "\t", "|")
# Zip codes and the like, and hexadecimal numbers: digits that are no quantity.
_CODE = r"^\s*[+-]?0[0-9xX]"
_DATE = re.compile(r"\s*(\d{4}-\d\d?-\d\d?([ T]\d\d?:.*)?|\d\d?[./]\d\d?[./]\d{4})\s*")
_DATES_LOOKED_AT = 100
# A row must fit into a block; tables of a million columns exist.
_BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class Dialect:
    """How a file is written: what parts its fields, and the names of its columns."""

    delimiter: str
    names: tuple[str, ...]
    has_header: bool

    @property
    def has_decimal_commas(self) -> bool:
        """Whether 1,5 may be a number, as where a semicolon parts fields."""
        return self.delimiter == ";"


class ColumnWarning(UserWarning):
    """How a column was read, which may not be what was meant."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(f"column {column!r} {message}")
        self.column = column


def read_csv(path: Path, kinds: Kinds, reading: Reading | None = None) -> Any:
    """Read a file as a pandas data frame; `kinds` tells what columns are, where it is known."""
    reading = Reading() if reading is None else reading
    with read_as(path, "a CSV file"):
        dialect = _dialect(path, reading)
        text = _read_text(path, dialect)
    if text.num_rows == 0 and not reading.may_be_empty:
        raise DataError(f"{path} has a line of names, but no rows.")
    columns = {
        name: _read_column(path, text.column(i), name, kinds(name), dialect, reading.na)
        for i, name in enumerate(dialect.names)
    }
    return pa.table(columns).to_pandas()


def _read_column(
    path: Path, text: Any, name: str, kind: ColumnKind | None, dialect: Dialect, na: tuple[str, ...]
) -> Any:
    """Return a column as what it is, or as what it is known to be, without what means missing."""
    column = without_na(_typed(without_na(text, na), name, kind, dialect), na)
    if kind == "number" and column.type == pa.string():
        others = non_numeric_values(column, decimal_commas=dialect.has_decimal_commas)
        raise DataError(_not_numeric(path, name, others))
    return column


def _not_numeric(path: Path, name: str, others: NotNumbers | None) -> str:
    if others is None:  # such as a number with a comma where commas part fields
        return f"{path}, column {name!r} must be numbers, but it is text."
    hint = f" {others.option} reads such values as missing." if others.count < others.total else ""
    return f"{path}, column {name!r} must be numbers, but {others}.{hint}"


def _dialect(path: Path, reading: Reading) -> Dialect:
    """Look at the first line, which is of names unless it is said or known not to be."""
    is_packed = path.suffix.lower() == ".gz"
    with gzip.open(path) if is_packed else path.open("rb") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        first = lines.readline()
        while first and not first.strip():
            first = lines.readline()
        delimiter = _delimiter(first)
        header = next(csv.reader(_and_on(first, lines), delimiter=delimiter), [])
    if not header:
        raise DataError(f"{path} is empty.")
    if reading.header is False:
        return Dialect(delimiter, _numbered(len(header), reading.names), has_header=False)
    if reading.header is None:
        _require_names(header, reading.names, path)
    names = tuple(name or f"Unnamed: {i}" for i, name in enumerate(header))  # as pandas calls them
    require_distinct(names, path)
    return Dialect(delimiter, names, has_header=True)


def _numbered(n_columns: int, known: tuple[str, ...] | None) -> tuple[str, ...]:
    """Name the columns of a file without names; if it has just those of a model, as they are."""
    if known is not None and len(known) == n_columns:
        return known
    return tuple(f"x{i}" for i in range(n_columns))


def _require_names(header: list[str], known: tuple[str, ...] | None, path: Path) -> None:
    """Refuse a first line of numbers, unless a model knows columns of these names."""
    fields = [field for field in header if field.strip()]
    if not fields or not all(map(is_number, fields)) or set(known or [None]) <= set(header):
        return
    raise DataError(
        f"{path} begins with a line of numbers ({listed(fields, 3)}) instead of column names. "
        "--no-header reads it as a row; --header says that the numbers are names."
    )


def _and_on(first: str, lines: Any) -> Any:
    yield first
    yield from lines


def _delimiter(line: str) -> str:
    """Return what parts the names most often; quoted names are not looked into."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(_DELIMITERS, key=bare.count)


def _read_text(path: Path, dialect: Dialect) -> Any:
    """Read all fields as text, gaps as nulls."""
    try:
        return _parse(path, dialect, threads=True)
    except pa.ArrowInvalid:
        return _parse(path, dialect, threads=False)  # whose error tells the row


def _parse(path: Path, dialect: Dialect, *, threads: bool) -> Any:
    with pa.input_stream(str(path)) as stream:
        return arrow_csv.read_csv(
            stream,
            arrow_csv.ReadOptions(
                use_threads=threads,
                block_size=_BLOCK_BYTES,
                column_names=None if dialect.has_header else dialect.names,
            ),
            arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys((*dialect.names, ""), pa.string()),
                null_values=list(GAPS),
                strings_can_be_null=True,
            ),
        )


def _typed(text: Any, name: str, kind: ColumnKind | None, dialect: Dialect) -> Any:
    """Return a column as what it is, or as what it is known to be."""
    if kind == "text":
        return text
    if text.null_count == len(text):
        return text.cast(pa.float64())
    if kind != "number" and pc.any(pc.match_substring_regex(text, _CODE)).as_py():
        if kind is None and _as_numbers(text, dialect) is not None:
            _warn(name, "has numbers with leading zeros, and is read as text.")
        return text
    found = _as_numbers(text, dialect)
    if found is None:
        found = _as_flags(text)
    if found is not None:
        return found
    if kind is None:
        warn_of_text(text, name, decimal_commas=dialect.has_decimal_commas)
    return text


def warn_of_text(text: Any, name: str, *, decimal_commas: bool = False) -> None:
    """Warn of text that was probably meant as something else."""
    if _are_dates(text):
        _warn(
            name,
            "holds dates, and each is taken as a category of its own. Numbers (year, month, days "
            "since a day) would say more; --drop leaves it out.",
        )
        return
    others = non_numeric_values(text, decimal_commas=decimal_commas)
    if others is not None and others.is_nearly_numeric:
        _warn(
            name,
            f"is read as categories: {others}. If that means missing: {others.option}.",
        )


def _as_numbers(text: Any, dialect: Dialect) -> Any:
    """Return whole numbers, or numbers, or None if not all are."""
    bare = pc.utf8_trim_whitespace(text)
    bare = pc.if_else(pc.equal(bare, ""), None, bare)
    bare = pc.replace_substring_regex(bare, r"^\+([0-9.])", r"\1")
    kinds: tuple[Any, ...] = (pa.int64(), pa.float64())
    found = _cast(bare, *kinds)
    if found is None and dialect.has_decimal_commas:
        found = _cast(pc.replace_substring(bare, ",", ".", max_replacements=1), pa.float64())
    return found


def _cast(text: Any, *types: Any) -> Any:
    for wanted in types:
        try:
            return text.cast(wanted)
        except pa.ArrowInvalid:
            continue
    return None


def _as_flags(text: Any) -> Any:
    """Return booleans if all values are true or false, in any case; else None."""
    bare = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    known = pc.is_in(bare.drop_null(), value_set=pa.array(["true", "false"]))
    return pc.equal(bare, "true") if pc.all(known).as_py() else None


def _are_dates(text: Any) -> bool:
    some = text.drop_null()[:_DATES_LOOKED_AT].to_pylist()
    return all(_DATE.fullmatch(value) for value in some)


def _warn(column: str, message: str) -> None:
    warnings.warn(ColumnWarning(column, message), stacklevel=2)
