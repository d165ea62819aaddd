"""Spelling suggestions: which of the allowed names a misspelt one is probably.

A wrong suggestion is worse than none. Names are similar if few letters differ, in proportion to
their length, or if one is a whole word of the other. Digits must agree ("x10" is not a misspelt
"x11"), and nothing is suggested for very short names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# The number of typing errors that are tolerated in names of at least this length.
_TOLERANCE = ((13, 3), (8, 2), (4, 1))
_SHORTEST_WORD = 4
_MOST = 3  # suggestions at once


def near(name: Any, names: Iterable[str]) -> list[str]:
    """Return the names that are spelt most like this one, if any is similar."""
    if not isinstance(name, str):
        return []
    candidates = list(dict.fromkeys(names))
    distances = {each: _distance(name, each) for each in candidates}
    least = min((d for d in distances.values() if d is not None), default=None)
    if least is not None:
        return [each for each in candidates if distances[each] == least][:_MOST]
    sharing = [each for each in candidates if _shares_words(name, each)]
    return sharing if len(sharing) <= _MOST else []


def did_you_mean(name: Any, names: Iterable[str]) -> str:
    """Return the question, with a space at the end; "" if no name is similar."""
    similar = near(name, names)
    return f"did you mean {' or '.join(map(repr, similar))}? " if similar else ""


def _distance(name: str, other: str) -> int | None:
    """Return the number of typing errors between two names; None if there are too many."""
    a, b = _letters(name), _letters(other)
    if a == b:
        return 0
    longer = max(len(a), len(b))
    tolerance = next((count for length, count in _TOLERANCE if longer >= length), 0)
    if abs(len(a) - len(b)) > tolerance or _digits(a) != _digits(b):
        return None
    errors = _typing_errors(a, b)
    return errors if errors <= tolerance else None


def _letters(name: str) -> str:
    """Return a name in lower case and without separators."""
    return re.sub(r"[\s_\-.:]+", "", name.casefold())


def _digits(name: str) -> str:
    return re.sub(r"\D", "", name)


def _typing_errors(a: str, b: str) -> int:
    """Count letters that are wrong, missing, too many, or swapped with their neighbour."""
    before_last: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            errors = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                errors = min(errors, before_last[j - 2] + 1)
            row.append(errors)
        before_last, last = last, row
    return last[-1]


def _shares_words(name: str, other: str) -> bool:
    """Return whether one of two names is the other's beginning, its last words, or its number."""
    if name.isdigit():
        return name == _digits(other)
    a, b = _words(name), _words(other)
    if min(len("".join(a)), len("".join(b))) < _SHORTEST_WORD:
        return False
    (_, short), (_, long) = sorted([(len("".join(w)), w) for w in (a, b)])
    return long[-len(short) :] == short or "".join(long).startswith("".join(short))


def _words(name: str) -> list[str]:
    """Split a name at separators, and where a capital follows a lower-case letter."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[\s_\-.:]+", separated.casefold()) if word]
