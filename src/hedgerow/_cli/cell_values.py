"""Values of cells: which texts are numbers, which mean a missing value (``--na``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow._data.names import listed

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


def as_numbers(texts: tuple[str, ...]) -> list[float]:
    """Return the numbers among some strings."""
    return [float(text) for text in texts if "," not in text and is_number(text)]


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
        return _blanked(column, pc.is_in(numbers, value_set=pa.array(as_numbers(na), pa.float64())))
    return column


def _blanked(column: Any, is_missing: Any) -> Any:
    return pc.if_else(is_missing, pa.scalar(None, column.type), column)


def table_without_na(table: Any, na: tuple[str, ...]) -> Any:
    """Return an Arrow table with nulls for values that mean missing."""
    for i, name in enumerate(table.column_names if na else []):
        table = table.set_column(i, name, without_na(table.column(i), na))
    return table
