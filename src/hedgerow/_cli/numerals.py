"""Which texts are numbers, and which few of a column are not: '?' among prices, say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow._data.schema import listed

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_NUMBER_WITH_COMMA = r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_SHOWN = 3
# A column is nearly numeric if most of its values are numbers, or if the others are so few
# different ones that they look like marks for what is missing.
_FEW_MARKS, _MANY_NUMBERS = 2, 10


@dataclass(frozen=True)
class NotNumbers:
    """The values of a column that are no numbers: how many, of how many, and the first ones."""

    count: int
    total: int
    first: tuple[str, ...]
    is_nearly_numeric: bool

    def __str__(self) -> str:
        """Say it: 3 of 100 values are not numbers ('?', 'none')."""
        verb = "is not a number" if self.count == 1 else "are not numbers"
        return (
            f"{self.count:,} of {self.total:,} values {verb} ({listed(list(self.first), _SHOWN)})"
        )

    @property
    def option(self) -> str:
        """How the first of them is written as an option."""
        return f"--na '{self.first[0]}'"


def non_numeric_values(text: Any, *, decimal_commas: bool = False) -> NotNumbers | None:
    """Look for values of a column of text that are no numbers; None if there are none."""
    values = text.drop_null()
    pattern = _NUMBER_WITH_COMMA if decimal_commas else _NUMBER
    is_number = pc.match_substring_regex(values, pattern)
    others = pc.unique(pc.utf8_trim_whitespace(values.filter(pc.invert(is_number))))
    if len(others) == 0:
        return None
    n_numbers = pc.sum(is_number).as_py() or 0
    few = len(others) <= _FEW_MARKS and len(pc.unique(values.filter(is_number))) >= _MANY_NUMBERS
    return NotNumbers(
        count=len(values) - n_numbers,
        total=len(values),
        first=tuple(others[:_SHOWN].to_pylist()),
        is_nearly_numeric=few or 2 * n_numbers >= len(values),
    )


def is_number(text: str) -> bool:
    """Tell whether a text is a number, with a decimal point or comma."""
    return bool(pc.match_substring_regex(pa.scalar(text, pa.string()), _NUMBER_WITH_COMMA).as_py())


def as_numbers(texts: tuple[str, ...]) -> list[float]:
    """Return the numbers among some texts."""
    return [float(text) for text in texts if "," not in text and is_number(text)]
