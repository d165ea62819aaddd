"""Which of the names that are allowed a misspelt one was probably meant to be.

A suggestion that is wrong misleads more than none: names come near if a few letters differ, in
proportion to their length, or if one is a whole word of the other. Digits must agree ("x10" is not
a misspelt "x11"), and of very short names nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# The length of a name from which on so many typing errors are forgiven.
_FORGIVEN = ((13, 3), (8, 2), (4, 1))
_SHORTEST_WORD = 4
_MOST = 3  # suggestions at once


def near(word: Any, words: Iterable[str]) -> list[str]:
    """Return the names that are spelt most like this one, if any is."""
    if not isinstance(word, str):
        return []
    known = list(dict.fromkeys(words))
    distances = {each: _distance(word, each) for each in known}
    least = min((d for d in distances.values() if d is not None), default=None)
    if least is not None:
        return [each for each in known if distances[each] == least][:_MOST]
    sharing = [each for each in known if _shares_words(word, each)]
    return sharing if len(sharing) <= _MOST else []


def nearest(word: Any, words: Iterable[str]) -> str | None:
    """Return the name that is spelt most like this one, if any is."""
    found = near(word, words)
    return found[0] if found else None


def did_you_mean(word: Any, words: Iterable[str]) -> str:
    """Return the question, with a space behind it; nothing if no name comes near."""
    found = near(word, words)
    return f"did you mean {' or '.join(map(repr, found))}? " if found else ""


def _distance(word: str, other: str) -> int | None:
    """Return how many typing errors lie between two names, None if more than are forgiven."""
    a, b = _letters(word), _letters(other)
    if a == b:
        return 0
    longer = max(len(a), len(b))
    forgiven = next((count for length, count in _FORGIVEN if longer >= length), 0)
    if abs(len(a) - len(b)) > forgiven or _digits(a) != _digits(b):
        return None
    errors = _typing_errors(a, b)
    return errors if errors <= forgiven else None


def _letters(name: str) -> str:
    """Return a name without what is easily mistaken: capitals and separators."""
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


def _shares_words(word: str, other: str) -> bool:
    """Tell whether one of two names begins the other, is made of its last words, or its number."""
    if word.isdigit():
        return word == _digits(other)
    a, b = (_words(name) for name in (word, other))
    if min(len("".join(a)), len("".join(b))) < _SHORTEST_WORD:
        return False
    (_, short), (_, long) = sorted([(len("".join(w)), w) for w in (a, b)])
    return long[-len(short) :] == short or "".join(long).startswith("".join(short))


def _words(name: str) -> list[str]:
    """Part a name at separators, and where a capital follows a small letter."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [part for part in re.split(r"[\s_\-.:]+", parted.casefold()) if part]
