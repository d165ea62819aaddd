"""Columns of strings that are probably something else: numbers, dates, identifiers, free text.

Strings become categories. A single "?" among numbers turns a column into strings, and every number
into a category: a model can be fitted to it, but hardly the intended one. So the user is warned
about what the column seems to hold, and how to convert it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._data.columns import INSTEAD_OF_DATES, LabelColumn, NumericColumn
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataWarning

# Number of distinct strings inspected, and the share of them that must look alike.
_SAMPLE, _NEARLY_ALL = 200, 0.9
# Below this number of distinct values, numeric strings are as likely to be codes: grades, months,
# floors.
_FEW_NUMBERS = 20
# Distinct numbers required per distinct string that is not a number.
_NUMBERS_PER_STRING = 5
# In columns with fewer rows all values may differ by chance.
_FEW_ROWS = 50
_WORDS_IN_TEXT = 3.5
_MAX_EXAMPLES = 3
_AS_CATEGORIES = "If its values are categories, list the column in categorical_features."
_OTHER_NOTATION = re.compile(
    r"\s*[-+(]?\s*[$€£¥]?\s*\d{1,3}(?:[ ,.'’]\d{3})*(?:[.,]\d+)?\s*[$€£¥%]?\s*\)?\s*"
    r"|\s*[-+]?[$€£¥]?\d+(?:[.,]\d+)?\s*[$€£¥%]?\s*"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY_NAME = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_TIME = r"(?:[T,\s]\s*\d{1,2}:\d{2}.*)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}")
_WITH_MONTH = re.compile(
    rf"{_DAY_NAME}(?:\d{{1,2}}(?:st|nd|rd|th|\.)?[-\s]+{_MONTH}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?)"
    rf"[-,\s]+\d{{2,4}}{_TIME}",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(
    r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:\s*[ap]\.?m\.?)?", re.I
)


def warn_of_suspicious_column(column: LabelColumn, categories: Sequence[Any], where: str) -> None:
    """Warn if a column of strings, not declared as categorical, is probably something else.

    `categories` are its labels, sorted, so that a warning shows the same values every time.
    """
    if column.kind != "string" or column.is_declared or not categories:
        return
    some = [str(label) for label in _some(categories)]
    message = _numbers_message(column, some, where) or _dates_message(some, where)
    message = message or _unique_message(column, len(categories), some, where)
    if message:
        warn_user(message, DataWarning, about=where)


@dataclass(frozen=True)
class NonNumericValues:
    """Values of a string column that are not numbers: count, examples, and the first row."""

    count: int
    n_rows: int
    some: tuple[str, ...]
    first_row: int

    def __str__(self) -> str:
        if not self.count:
            return "each of its strings is a number"
        examples = ", ".join(map(repr, self.some))
        which = (
            f"{examples}, …"
            if self.count > len(self.some) and len(self.some) == _MAX_EXAMPLES
            else examples
        )
        are = "is not a number" if self.count == 1 else "are not numbers"
        return (
            f"{self.count:,} of {self.n_rows:,} values {are} ({which}; first in row "
            f"{self.first_row})"
        )


def non_numeric_values(column: LabelColumn) -> NonNumericValues:
    """Find the strings of a column that are not numbers."""
    is_bad = np.array([not is_number(label) for label in column.labels] + [False], bool)
    bad_rows = np.flatnonzero(is_bad[column.codes])
    in_order = dict.fromkeys(column.codes[bad_rows].tolist())  # distinct, in order of appearance
    some = tuple(str(column.labels[code]) for code in list(in_order)[:_MAX_EXAMPLES])
    n_rows = int((column.codes >= 0).sum())
    return NonNumericValues(len(bad_rows), n_rows, some, int(bad_rows[0]) if len(bad_rows) else 0)


def holds_numbers(column: LabelColumn) -> bool:
    """Return whether the strings of a column are numbers, with few exceptions."""
    some = _some(column.labels)
    if column.kind != "string" or sum(map(is_number, some)) < 0.5 * len(some):
        return False
    bad = sum(not is_number(label) for label in column.labels)
    good = len(column.labels) - bad
    if bad == 0:
        return good > _FEW_NUMBERS
    return good >= max(_NUMBERS_PER_STRING * bad, _NUMBERS_PER_STRING) or (
        good > _FEW_NUMBERS and good >= _NEARLY_ALL * len(column.labels)
    )


def is_number(label: Any) -> bool:
    """Return whether a string is a number in Python's notation."""
    if not isinstance(label, str):
        return True
    try:
        float(label)
    except ValueError:
        return False
    return "_" not in label and label.strip().lower() not in ("nan", "+nan", "-nan")


def is_date(text: str) -> bool:
    """Return whether a string is a day in one of the usual notations, or a time of day."""
    text = text.strip()
    if match := _YEAR_FIRST.fullmatch(text):
        return _are_days(match[1], match[3], match[4])
    if match := _YEAR_LAST.fullmatch(text):
        year = match[4] if len(match[4]) == 4 else f"20{match[4]}"
        return _are_days(year, match[3], match[1]) or _are_days(year, match[1], match[3])
    return bool(_WITH_MONTH.fullmatch(text) or _TIME_OF_DAY.fullmatch(text))


def _are_days(year: str, month: str, day: str) -> bool:
    try:
        dt.date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def _some(labels: Sequence[Any]) -> Sequence[Any]:
    return labels[:: -(-len(labels) // _SAMPLE) or 1]


def _numbers_message(column: LabelColumn, some: Sequence[str], where: str) -> str:
    if holds_numbers(column):
        bad = non_numeric_values(column)
        beside = "Turn these into missing values:" if bad.count else "Convert it to numbers,"
        example = "in pandas pd.to_numeric(X[...], errors='coerce')"
        problem = (
            f"contains numbers as strings: {bad}" if bad.count else "contains numbers as strings"
        )
        return (
            f"{where} {problem}. Each distinct value becomes a category, so order and distance are "
            f"lost. {beside} {example}, or declare the missing-value markers when reading the file "
            f"(na_values of pd.read_csv). {_AS_CATEGORIES}"
        )
    strange = [one for one in some if _OTHER_NOTATION.fullmatch(one) and not is_number(one)]
    alike = sum(bool(_OTHER_NOTATION.fullmatch(one)) for one in some)
    if len(some) > _FEW_NUMBERS and strange and alike >= _NEARLY_ALL * len(some):
        return (
            f"{where} contains numbers in a notation that is not parsed as numbers (such as "
            f"{strange[0]!r}), so each becomes a category. Convert it: remove separators, units "
            f"and currency symbols, and use a decimal point. {_AS_CATEGORIES}"
        )
    return ""


def _dates_message(some: Sequence[str], where: str) -> str:
    dates = [label for label in some if is_date(label)]
    if not dates or len(dates) < _NEARLY_ALL * len(some):
        return ""
    return (
        f"{where} contains dates as strings (such as {dates[0]!r}). Each becomes a category, so "
        f"the model learns nothing about other dates. {INSTEAD_OF_DATES} {_AS_CATEGORIES}"
    )


def _unique_message(column: LabelColumn, n_distinct: int, some: Sequence[str], where: str) -> str:
    """Describe a column in which nearly every row has its own string."""
    n_rows = int((column.codes >= 0).sum())
    if n_rows < _FEW_ROWS:
        return ""
    words = sum(len(text.split()) for text in some) / len(some)
    if words >= _WORDS_IN_TEXT and n_distinct > 0.5 * n_rows:
        return (
            f"{where} contains free text (such as {_truncate(some[0])!r}): {n_distinct:,} "
            f"different values in {n_rows:,} rows, each a category. Turn it into numbers, for "
            "example with scikit-learn's TfidfVectorizer and TruncatedSVD, or drop the column. "
            f"{_AS_CATEGORIES}"
        )
    if n_distinct > _NEARLY_ALL * n_rows:
        return (
            f"{where} contains a different string in nearly every row ({n_distinct:,} in "
            f"{n_rows:,} rows, such as {_truncate(some[0])!r}), like an identifier, which does not "
            "generalise to new rows. Drop the column, or extract the part that rows share. "
            f"{_AS_CATEGORIES}"
        )
    return ""


def _truncate(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def warn_of_many_classes(n_classes: int, n_rows: int, column: NumericColumn | LabelColumn) -> None:
    """Warn if y probably holds no classes: numeric strings, or nearly all values distinct."""
    if isinstance(column, LabelColumn) and holds_numbers(column):
        bad = non_numeric_values(column)
        beside = f": {bad}" if bad.count else ""
        warn_user(
            f"y has {n_classes:,} classes that are numbers stored as strings{beside}. If y is a "
            "quantity, convert it, for example with pd.to_numeric(y, errors='coerce'), drop the "
            "rows that are then missing, and use a regressor.",
            DataWarning,
            about="y",
        )
    elif n_rows >= _FEW_ROWS and n_classes > 0.5 * n_rows:
        warn_user(
            f"y has {n_classes:,} classes in {n_rows:,} rows, so most classes have only one row "
            "and cannot be learned. If y is a quantity, use a regressor; an identifier is not a "
            "target.",
            DataWarning,
            about="y",
        )
