"""A CSV file → a data frame. The same column has the same type whenever it is read.

All fields are read as text. A column is then converted to the first type that fits all of its
values: integer, float, boolean, or else text. With a model, the column types of its training are
used instead: a category "7" stays text, even if a file has no other category. Some texts mean a
missing value (``--na``).
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from hedgerow._cli.options import Reading
from hedgerow._data.names import listed
from hedgerow.exceptions import DataError

ColumnKind = Literal["text", "number", "any"]
# Kind of a column by its name: None to infer it; "any" to infer it without warnings (no feature).
Kinds = Callable[[str], ColumnKind | None]

# Strings that mean missing, those of `pandas.read_csv`.
MISSING_TEXTS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
_DELIMITERS = (",", ";", "\t", "|")
# Zip codes and the like, and hexadecimal numbers: digits that are not a quantity.
_CODE = r"^\s*[+-]?0[0-9xX]"
_DATE = re.compile(r"\s*(\d{4}-\d\d?-\d\d?([ T]\d\d?:.*)?|\d\d?[./]\d\d?[./]\d{4})\s*")
_DATE_SAMPLE = 100
# A row must fit into a block; there are tables with a million columns.
_BLOCK_BYTES = 1 << 25
_CONTENT_ERRORS = (ValueError, OverflowError, EOFError, zlib.error, csv.Error, pa.ArrowException)
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_NUMBER_WITH_COMMA = r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_EXAMPLES = 3
# A column is nearly numeric if most of its values are numbers, or if it has many distinct numbers
# and so few distinct other values that they look like markers for missing ones.
_FEW_MARKERS, _MANY_NUMBERS = 2, 10


@dataclass(frozen=True)
class NonNumericCells:
    """The values of a column that are not numbers: their count, the total, and examples."""

    count: int
    total: int
    first: tuple[str, ...]
    is_nearly_numeric: bool

    def __str__(self) -> str:
        """Return a sentence, such as: 3 of 100 values are not numbers ('?', 'none')."""
        verb = "is not a number" if self.count == 1 else "are not numbers"
        examples = listed(list(self.first), _EXAMPLES)
        return f"{self.count:,} of {self.total:,} values {verb} ({examples})"

    @property
    def option(self) -> str:
        """The option that reads the first of them as missing."""
        return f"--na '{self.first[0]}'"


def non_numeric_values(text: Any, *, decimal_commas: bool = False) -> NonNumericCells | None:
    """Return the values of a text column that are not numbers; None if all are."""
    values = text.drop_null()
    pattern = _NUMBER_WITH_COMMA if decimal_commas else _NUMBER
    is_number = pc.match_substring_regex(values, pattern)
    others = pc.unique(pc.utf8_trim_whitespace(values.filter(pc.invert(is_number))))
    if len(others) == 0:
        return None
    n_numbers = pc.sum(is_number).as_py() or 0
    few = len(others) <= _FEW_MARKERS and len(pc.unique(values.filter(is_number))) >= _MANY_NUMBERS
    return NonNumericCells(
        count=len(values) - n_numbers,
        total=len(values),
        first=tuple(others[:_EXAMPLES].to_pylist()),
        is_nearly_numeric=few or 2 * n_numbers >= len(values),
    )


def is_number(text: str) -> bool:
    """Tell whether a string is a number, with a decimal point or comma."""
    return bool(pc.match_substring_regex(pa.scalar(text, pa.string()), _NUMBER_WITH_COMMA).as_py())


def without_na(column: Any, na: tuple[str, ...]) -> Any:
    """Return an Arrow column with nulls for values that mean missing.

    Strings are compared without surrounding whitespace, numbers by value: -999 means -999.0, too.
    """
    if not na:
        return column
    if pa.types.is_dictionary(column.type):
        decoded = pc.cast(column, column.type.value_type)
        changed = without_na(decoded, na)
        return column if changed.null_count == column.null_count else changed
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        bare = pc.utf8_trim_whitespace(column)
        return _blanked(column, pc.is_in(bare, value_set=pa.array(na, column.type)))
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = pc.cast(column, pa.float64(), safe=False)
        missing = [float(text) for text in na if "," not in text and is_number(text)]
        return _blanked(column, pc.is_in(numbers, value_set=pa.array(missing, pa.float64())))
    return column


def _blanked(column: Any, is_missing: Any) -> Any:
    return pc.if_else(is_missing, pa.scalar(None, column.type), column)


def table_without_na(table: Any, na: tuple[str, ...]) -> Any:
    """Return an Arrow table with nulls for values that mean missing."""
    for i, name in enumerate(table.column_names if na else []):
        table = table.set_column(i, name, without_na(table.column(i), na))
    return table


@dataclass(frozen=True)
class Dialect:
    """The format of a CSV file: its delimiter and column names."""

    delimiter: str
    names: tuple[str, ...]
    has_header: bool

    @property
    def has_decimal_commas(self) -> bool:
        """Whether 1,5 may be a number: if the delimiter is a semicolon."""
        return self.delimiter == ";"


class ColumnWarning(UserWarning):
    """Columns may have been read as something else than the user intended."""

    def __init__(self, columns: Sequence[str], message: str, option: str = "") -> None:
        super().__init__(message)
        self.columns = tuple(columns)
        self.option = option  # that reads a marker among numbers as missing


@contextmanager
def together_by_option() -> Iterator[None]:
    """Issue one warning for all columns with the same marker for missing values."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    by_option: dict[str, list[ColumnWarning]] = {}
    for one in (entry.message for entry in caught):
        if isinstance(one, ColumnWarning) and one.option:
            by_option.setdefault(one.option, []).append(one)
        else:
            warnings.warn(one, stacklevel=3)
    for option, those in by_option.items():
        warnings.warn(_merged(those, option), stacklevel=3)


def _merged(those: Sequence[ColumnWarning], option: str) -> ColumnWarning:
    if len(those) == 1:
        return those[0]
    columns = [column for one in those for column in one.columns]
    marker = option.removeprefix("--na ")
    return ColumnWarning(
        columns,
        f"{len(columns):,} columns contain {marker} among numbers and are read as categorical "
        f"({listed(columns, _EXAMPLES)}). If that means missing, use {option}.",
        option,
    )


def read_csv(path: Path, kinds: Kinds, reading: Reading | None = None) -> Any:
    """Read a file as a pandas data frame; `kinds` returns the kind of a column, if it is known."""
    reading = Reading() if reading is None else reading
    with as_data_errors(path, "a CSV file"):
        dialect = _dialect(path, reading)
        text = _read_text(path, dialect)
    if text.num_rows == 0 and not reading.may_be_empty:
        raise DataError(f"{path} has a header line, but no rows.")
    with together_by_option():
        columns = {
            name: _read_column(path, text.column(i), name, kinds(name), dialect, reading.na)
            for i, name in enumerate(dialect.names)
        }
    return pa.table(columns).to_pandas()


def _read_column(
    path: Path, text: Any, name: str, kind: ColumnKind | None, dialect: Dialect, na: tuple[str, ...]
) -> Any:
    """Convert a column to its kind, or to the type that fits, with nulls for missing values."""
    column = without_na(_typed(without_na(text, na), name, kind, dialect), na)
    if kind == "number" and column.type == pa.string():
        others = non_numeric_values(column, decimal_commas=dialect.has_decimal_commas)
        raise DataError(_not_numeric(path, name, others))
    return column


def _not_numeric(path: Path, name: str, others: NonNumericCells | None) -> str:
    if others is None:  # such as a decimal comma where commas are delimiters
        return f"{path}, column {name!r} must be numeric, but it is text."
    hint = f" {others.option} reads such values as missing." if others.count < others.total else ""
    return f"{path}, column {name!r} must be numeric, but {others}.{hint}"


def _dialect(path: Path, reading: Reading) -> Dialect:
    """Detect delimiter and column names from the first line."""
    is_compressed = path.suffix.lower() == ".gz"
    with gzip.open(path) if is_compressed else path.open("rb") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        first = lines.readline()
        while first and not first.strip():
            first = lines.readline()
        delimiter = _delimiter(first)
        header = next(csv.reader(chain([first], lines), delimiter=delimiter), [])
    if not header:
        raise DataError(f"{path} is empty.")
    if reading.header is False:
        return Dialect(delimiter, _default_names(len(header), reading.names), has_header=False)
    if reading.header is None:
        _require_names(header, reading.names, path)
    names = tuple(name or f"Unnamed: {i}" for i, name in enumerate(header))  # as pandas calls them
    require_distinct(names, path)
    return Dialect(delimiter, names, has_header=True)


def _default_names(n_columns: int, expected: tuple[str, ...] | None) -> tuple[str, ...]:
    """Name the columns of a file without a header: as in the model, if their number is the same."""
    if expected is not None and len(expected) == n_columns:
        return expected
    return tuple(f"x{i}" for i in range(n_columns))


def _require_names(header: list[str], expected: tuple[str, ...] | None, path: Path) -> None:
    """Refuse a first line of numbers, unless the model has columns of these names."""
    fields = [field for field in header if field.strip()]
    if not fields or not all(map(is_number, fields)) or set(expected or [None]) <= set(header):
        return
    raise DataError(
        f"{path} begins with a line of numbers ({listed(fields, 3)}) instead of column names. "
        "--no-header reads it as a row of data; --header uses the numbers as names."
    )


def _delimiter(line: str) -> str:
    """Return the most frequent delimiter, not counting those inside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(_DELIMITERS, key=bare.count)


def _read_text(path: Path, dialect: Dialect) -> Any:
    """Read all fields as text, missing values as nulls."""
    try:
        return _parse(path, dialect, threads=True)
    except pa.ArrowInvalid:
        return _parse(path, dialect, threads=False)  # its error has the row number


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
                null_values=list(MISSING_TEXTS),
                strings_can_be_null=True,
            ),
        )


def _typed(text: Any, name: str, kind: ColumnKind | None, dialect: Dialect) -> Any:
    """Convert a column of text to its kind, or to the first type that fits."""
    if kind == "text":
        return text
    if text.null_count == len(text):
        return text.cast(pa.float64())
    if kind != "number" and pc.any(pc.match_substring_regex(text, _CODE)).as_py():
        if kind is None and _as_numbers(text, dialect) is not None:
            _warn(name, "has numbers with leading zeros and is read as text.")
        return text
    converted = _as_numbers(text, dialect)
    if converted is None:
        converted = _as_booleans(text)
    if converted is not None:
        return converted
    if kind is None:
        warn_about_text(text, name, decimal_commas=dialect.has_decimal_commas)
    return text


def warn_about_text(text: Any, name: str, *, decimal_commas: bool = False) -> None:
    """Warn about text that was probably meant to be dates or numbers."""
    if _are_dates(text):
        _warn(
            name,
            "has dates, and each date becomes a category of its own. Numbers (year, month, days "
            "since a date) are more useful; --drop ignores the column.",
        )
        return
    others = non_numeric_values(text, decimal_commas=decimal_commas)
    if others is not None and others.is_nearly_numeric:
        _warn(
            name,
            f"is read as categorical: {others}. If that means missing, use {others.option}.",
            others.option,
        )


def _as_numbers(text: Any, dialect: Dialect) -> Any:
    """Return integers or floats, or None if not all values are numbers."""
    bare = pc.utf8_trim_whitespace(text)
    bare = pc.if_else(pc.equal(bare, ""), None, bare)
    bare = pc.replace_substring_regex(bare, r"^\+([0-9.])", r"\1")
    numbers = _cast(bare, pa.int64(), pa.float64())
    if numbers is None and dialect.has_decimal_commas:
        numbers = _cast(pc.replace_substring(bare, ",", ".", max_replacements=1), pa.float64())
    return numbers


def _cast(text: Any, *types: Any) -> Any:
    for dtype in types:
        try:
            return text.cast(dtype)
        except pa.ArrowInvalid:
            continue
    return None


def _as_booleans(text: Any) -> Any:
    """Return booleans if all values are true or false, in any case; else None."""
    bare = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    is_boolean = pc.is_in(bare.drop_null(), value_set=pa.array(["true", "false"]))
    return pc.equal(bare, "true") if pc.all(is_boolean).as_py() else None


def _are_dates(text: Any) -> bool:
    some = text.drop_null()[:_DATE_SAMPLE].to_pylist()
    return all(_DATE.fullmatch(value) for value in some)


def _warn(column: str, message: str, option: str = "") -> None:
    warning = ColumnWarning([column], f"column {column!r} {message}", option)
    warnings.warn(warning, stacklevel=2)


@contextmanager
def as_data_errors(path: Path, what: str) -> Iterator[None]:
    """Raise errors about the content of `what`, such as "a CSV file", as `DataError`.

    System errors, such as missing permissions, are raised as they are.
    """
    try:
        yield
    except DataError:
        raise
    except UnicodeDecodeError as error:
        at = f"byte {error.object[error.start]:#x} at position {error.start}"
        raise DataError(f"{path} is not {what} in UTF-8: {at}.") from error
    except (*_CONTENT_ERRORS, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{path} is not {what}, or is damaged: {error}") from error


def require_distinct(names: Sequence[str], path: Path) -> None:
    """Refuse duplicate column names."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{path} has more than one column named {name!r}.")
