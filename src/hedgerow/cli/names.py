"""Names that were mistyped, and which may have been meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from hedgerow.data.schema import listed


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of the known names, or all of them."""
    names = list(known)
    nearest = get_close_matches(given, names, n=1)
    if nearest:
        return f"Did you mean {nearest[0]!r}?"
    return f"There are {listed(names)}."
