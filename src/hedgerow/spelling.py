"""Which of the words that are allowed a misspelt one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def nearest(word: Any, words: Iterable[str]) -> str | None:
    """Return the word that is spelt most like this one, if any is."""
    by_lower = {each.lower(): each for each in words}
    found = get_close_matches(word.lower(), by_lower, n=1) if isinstance(word, str) else []
    return by_lower[found[0]] if found else None


def did_you_mean(word: Any, words: Iterable[str]) -> str:
    """Return the question, with a space behind it; nothing if no word comes near."""
    found = nearest(word, words)
    return "" if found is None else f"did you mean {found!r}? "
