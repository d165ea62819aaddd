"""Columns of strings that are probably something else: numbers, dates, identifiers, free text.

Strings become categories. A single "?" among numbers makes a column one of strings, and a category
of each number: a model can be fitted to it, but hardly one that was meant. So there is a warning
that tells what was found and what to do about it.
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

# So many distinct strings tell what a column is of, and so large a part of them.
_LOOKED_AT, _NEARLY_ALL = 200, 0.9
# Of fewer distinct numbers, strings are as likely to be codes: grades, months, floors.
_FEW_NUMBERS = 20
# As many numbers for each distinct string that is none, where these are not many.
_NUMBERS_FOR_EACH = 5
# In columns of fewer rows all values may differ by chance.
_FEW_ROWS = 50
_WORDS_OF_A_TEXT = 3.5
_SHOWN = 3
_AS_CATEGORIES = "If they are meant as categories, name the column in categorical_features."
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


def warn_of_suspects(column: LabelColumn, categories: Sequence[Any], where: str) -> None:
    """Warn if a column of strings that nobody called categorical is probably something else.

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
class NotNumbers:
    """What strings hold beside numbers: how many values, some of them, and the first one's row."""

    count: int
    n_rows: int
    some: tuple[str, ...]
    first_row: int

    def __str__(self) -> str:
        if not self.count:
            return "each of its strings is a number"
        shown = ", ".join(map(repr, self.some))
        which = f"{shown}, …" if self.count > len(self.some) and len(self.some) == _SHOWN else shown
        are = "is no number" if self.count == 1 else "are no numbers"
        return (
            f"{self.count:,} of {self.n_rows:,} values {are} ({which}; first in row "
            f"{self.first_row})"
        )


def not_numbers(column: LabelColumn) -> NotNumbers:
    """Find the strings of a column that are no numbers."""
    is_bad = np.array([not is_number(label) for label in column.labels] + [False], bool)
    bad_rows = np.flatnonzero(is_bad[column.codes])
    in_order = dict.fromkeys(column.codes[bad_rows].tolist())  # each once, as they come
    some = tuple(str(column.labels[code]) for code in list(in_order)[:_SHOWN])
    n_rows = int((column.codes >= 0).sum())
    return NotNumbers(len(bad_rows), n_rows, some, int(bad_rows[0]) if len(bad_rows) else 0)


def holds_numbers(column: LabelColumn) -> bool:
    """Tell whether the strings of a column are numbers, save for a few."""
    some = _some(column.labels)
    if column.kind != "string" or sum(map(is_number, some)) < 0.5 * len(some):
        return False
    bad = sum(not is_number(label) for label in column.labels)
    good = len(column.labels) - bad
    if bad == 0:
        return good > _FEW_NUMBERS
    return good >= max(_NUMBERS_FOR_EACH * bad, _NUMBERS_FOR_EACH) or (
        good > _FEW_NUMBERS and good >= _NEARLY_ALL * len(column.labels)
    )


def is_number(label: Any) -> bool:
    """Tell whether a string is a number as Python writes it."""
    if not isinstance(label, str):
        return True
    try:
        float(label)
    except ValueError:
        return False
    return "_" not in label and label.strip().lower() not in ("nan", "+nan", "-nan")


def is_date(text: str) -> bool:
    """Tell whether a string is a day in one of the usual notations, or a time of day."""
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
    return labels[:: -(-len(labels) // _LOOKED_AT) or 1]


def _numbers_message(column: LabelColumn, some: Sequence[str], where: str) -> str:
    if holds_numbers(column):
        found = not_numbers(column)
        beside = "Make the others missing, which means" if found.count else "Convert it to numbers,"
        example = "in pandas pd.to_numeric(X[...], errors='coerce')"
        said = f"holds numbers as strings: {found}" if found.count else "holds numbers as strings"
        return (
            f"{where} {said}. Each distinct value becomes a category, so order and distance are "
            f"lost. {beside} {example}, or name what marks missing values when the file is read "
            f"(na_values of pd.read_csv). {_AS_CATEGORIES}"
        )
    strange = [one for one in some if _OTHER_NOTATION.fullmatch(one) and not is_number(one)]
    alike = sum(bool(_OTHER_NOTATION.fullmatch(one)) for one in some)
    if len(some) > _FEW_NUMBERS and strange and alike >= _NEARLY_ALL * len(some):
        return (
            f"{where} holds numbers in a notation that is not read as numbers (such as "
            f"{strange[0]!r}), and each becomes a category. Convert it: remove separators, units "
            f"and signs of currency, and write a point before decimals. {_AS_CATEGORIES}"
        )
    return ""


def _dates_message(some: Sequence[str], where: str) -> str:
    dates = [label for label in some if is_date(label)]
    if not dates or len(dates) < _NEARLY_ALL * len(some):
        return ""
    return (
        f"{where} holds dates as strings (such as {dates[0]!r}), and each becomes a category: of "
        f"other dates nothing is known. {INSTEAD_OF_DATES} {_AS_CATEGORIES}"
    )


def _unique_message(column: LabelColumn, n_distinct: int, some: Sequence[str], where: str) -> str:
    """Say that a string is of one row, or hardly of more: what is learned holds for no other."""
    n_rows = int((column.codes >= 0).sum())
    if n_rows < _FEW_ROWS:
        return ""
    words = sum(len(text.split()) for text in some) / len(some)
    if words >= _WORDS_OF_A_TEXT and n_distinct > 0.5 * n_rows:
        return (
            f"{where} holds free text (such as {_cut(some[0])!r}): {n_distinct:,} different values "
            f"in {n_rows:,} rows, each a category. Turn it into numbers, for example with "
            "scikit-learn's TfidfVectorizer and TruncatedSVD, or drop the column. "
            f"{_AS_CATEGORIES}"
        )
    if n_distinct > _NEARLY_ALL * n_rows:
        return (
            f"{where} holds a different string in nearly every row ({n_distinct:,} in {n_rows:,} "
            f"rows, such as {_cut(some[0])!r}), like an identifier: what is learned of one row's "
            f"says nothing of another's. Drop the column, or take out what rows share. "
            f"{_AS_CATEGORIES}"
        )
    return ""


def _cut(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def warn_of_many_classes(n_classes: int, n_rows: int, column: NumericColumn | LabelColumn) -> None:
    """Warn if a classifier's target is probably no class: numbers as strings, or all different."""
    if isinstance(column, LabelColumn) and holds_numbers(column):
        found = not_numbers(column)
        beside = f": {found}" if found.count else ""
        warn_user(
            f"y holds {n_classes:,} classes that are numbers as strings{beside}. If y is a "
            "quantity, convert it, for example with pd.to_numeric(y, errors='coerce'), leave out "
            "the rows that are then missing, and use a regressor.",
            DataWarning,
            about="y",
        )
    elif n_rows >= _FEW_ROWS and n_classes > 0.5 * n_rows:
        warn_user(
            f"y holds {n_classes:,} classes in {n_rows:,} rows, so most classes have one row and "
            "cannot be learned. If y is a quantity, use a regressor; if it is an identifier, it "
            "is no target.",
            DataWarning,
            about="y",
        )
