"""Columns of strings that are probably something else: numbers, dates, identifiers, free text.

Strings become categories. A single "?" among numbers turns a column into strings, and every number
into a category: a model can be fitted to it, but hardly the intended one. So the user is warned
about what the column seems to hold, and how to convert it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._data.columns import INSTEAD_OF_DATES, LabelColumn, NumericColumn
from hedgerow._data.names import Names, column_label, listed
from hedgerow._warning import unmentioned, warn_user
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
_MAX_EXAMPLES, _MAX_COLUMNS = 3, 3
_COLUMN = "X[…]"
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


@dataclass(frozen=True)
class Suspicion:
    """What a column of strings seems to contain, and what to do about it.

    Neither has numbers or rare values of the table, so that folds, which have different rows, issue
    the same warning. `advice` may contain the column, where its text has `_COLUMN`.
    """

    contents: str
    advice: str


def suspicion_of(column: LabelColumn, categories: Sequence[Any]) -> Suspicion | None:
    """Return what a column of strings, not declared as categorical, probably is, if not categories.

    `categories` are its labels, sorted.
    """
    if column.kind != "string" or column.is_declared or not categories:
        return None
    some = [str(label) for label in _some(categories)]
    found = _as_numbers(column, some) or _as_dates(some)
    return found or _as_unique_strings(column, len(categories), some)


def warn_of_suspicious_columns(found: Mapping[int, Suspicion | None], names: Names | None) -> None:
    """Warn of the suspicious columns of a table, of those with the same contents together."""
    by_suspicion: dict[Suspicion, list[int]] = {}
    for j, suspicion in found.items():
        if suspicion is not None and unmentioned([column_label(names, j)]):
            by_suspicion.setdefault(suspicion, []).append(j)
    for suspicion, columns in by_suspicion.items():
        warn_user(_message(suspicion, columns, names), DataWarning)


def _message(suspicion: Suspicion, columns: Sequence[int], names: Names | None) -> str:
    first = columns[0]
    where, contains, these = column_label(names, first), "contains", "the column"
    if len(columns) > 1:
        labels = columns if names is None else [names[j] for j in columns]
        where = f"X, {len(columns):,} columns ({listed(labels, _MAX_COLUMNS)})"
        contains, these = "contain", "the columns"
    selected = f"X[:, {first}]" if names is None else f"X[{names[first]!r}]"
    return (
        f"{where} {contains} {suspicion.contents}. {suspicion.advice.replace(_COLUMN, selected)} "
        f"If the values are categories, list {these} in categorical_features."
    )


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


def _as_numbers(column: LabelColumn, some: Sequence[str]) -> Suspicion | None:
    if holds_numbers(column):
        return Suspicion(
            f"numbers as strings{_beside(column)}",
            "Each distinct value becomes a category, so order and distance are lost. Convert it, "
            f"in pandas by pd.to_numeric({_COLUMN}, errors='coerce'), which makes other strings "
            "missing, or declare the missing-value markers when reading the file (na_values of "
            "pd.read_csv).",
        )
    has_strange = any(_OTHER_NOTATION.fullmatch(one) and not is_number(one) for one in some)
    alike = sum(bool(_OTHER_NOTATION.fullmatch(one)) for one in some)
    if len(some) > _FEW_NUMBERS and has_strange and alike >= _NEARLY_ALL * len(some):
        return Suspicion(
            "numbers in a notation that is not parsed as numbers, so each becomes a category",
            "Convert it: remove separators, units and currency symbols, and use a decimal point.",
        )
    return None


def _beside(column: LabelColumn) -> str:
    """Return a clause about the most frequent string of a column that is not a number."""
    n_rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
    others = [(-n, label) for n, label in zip(n_rows, column.labels, strict=True)]
    others = sorted(pair for pair in others if not is_number(pair[1]))
    return f" beside other strings (such as {others[0][1]!r})" if others else ""


def _as_dates(some: Sequence[str]) -> Suspicion | None:
    if not some or sum(map(is_date, some)) < _NEARLY_ALL * len(some):
        return None
    return Suspicion(
        "dates as strings",
        f"Each becomes a category, so the model learns nothing about other dates. "
        f"{INSTEAD_OF_DATES}",
    )


def _as_unique_strings(
    column: LabelColumn, n_distinct: int, some: Sequence[str]
) -> Suspicion | None:
    """Describe a column in which nearly every row has its own string."""
    n_rows = int((column.codes >= 0).sum())
    if n_rows < _FEW_ROWS:
        return None
    words = sum(len(text.split()) for text in some) / len(some)
    if words >= _WORDS_IN_TEXT and n_distinct > 0.5 * n_rows:
        return Suspicion(
            "free text, and each text becomes a category",
            "Turn it into numbers, for example with scikit-learn's TfidfVectorizer and "
            "TruncatedSVD, or drop it.",
        )
    if n_distinct > _NEARLY_ALL * n_rows:
        return Suspicion(
            "a different string in nearly every row, like an identifier, which does not "
            "generalise to new rows",
            "Drop it, or extract the part that rows share.",
        )
    return None


def warn_of_many_classes(n_classes: int, n_rows: int, column: NumericColumn | LabelColumn) -> None:
    """Warn if y probably holds no classes: numeric strings, or nearly all values distinct."""
    if isinstance(column, LabelColumn) and holds_numbers(column):
        warn_user(
            f"y has classes that are numbers stored as strings{_beside(column)}. If y is a "
            "quantity, convert it, for example with pd.to_numeric(y, errors='coerce'), drop the "
            "rows that are then missing, and use a regressor.",
            DataWarning,
            about="y",
        )
    elif n_rows >= _FEW_ROWS and n_classes > 0.5 * n_rows:
        warn_user(
            "y has so many classes that most have only one row and cannot be learned. If y is a "
            "quantity, use a regressor; an identifier is not a target.",
            DataWarning,
            about="y",
        )
