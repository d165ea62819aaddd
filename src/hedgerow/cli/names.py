"""Names that were mistyped, and which may have been meant."""

from __future__ import annotations

from collections.abc import Iterable

from hedgerow.data.schema import listed
from hedgerow.spelling import nearest


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of the known names, or all of them."""
    names = list(known)
    found = nearest(given, names)
    if found is not None:
        return f"Did you mean {found!r}?"
    return f"There are {listed(names)}."
