"""What ``--na`` says: texts, and numbers, that mean a missing value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow._cli.numerals import as_numbers


def without_na(column: Any, na: tuple[str, ...]) -> Any:
    """Return an Arrow column with nulls for values that mean missing.

    Texts are compared without the blanks around them. Of numbers, those are missing that are
    equal: -999 means -999.0, too.
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
