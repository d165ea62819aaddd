"""Numbers and names as the report writes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

MOST_LETTERS = 60  # of a user's name in text


def brief(name: str) -> str:
    """Return a name, shortened if it is very long."""
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"


def number(value: float | None, *, strip: bool = True) -> str:
    """Return a number with about four digits; `strip` removes trailing zeros."""
    if value is None or not np.isfinite(value):
        return "–"
    if value < 0.0:
        return "−" + number(-value, strip=strip)
    size = abs(value)
    if size != 0.0 and not 0.1 <= size < 1e10:
        return f"{value:.3g}" if strip else f"{value:#.3g}"
    integer_digits = len(f"{size:.0f}") if size >= 1.0 else 0
    text = f"{value:,.{max(0, 4 - integer_digits)}f}"
    return text.rstrip("0").rstrip(".") if strip and "." in text else text


def decimals_of(values: Iterable[float]) -> int:
    """Return the number of decimals that gives the largest number four digits."""
    largest = max((abs(value) for value in values), default=0.0)
    if not np.isfinite(largest) or largest == 0.0:
        return 3
    return int(np.clip(3 - np.floor(np.log10(largest)), 0, 12))


def fixed(value: float | None, decimals: int, *, signed: bool = False) -> str:
    """Return a number with this number of decimals, and optionally its sign."""
    if value is None:
        return "–"
    sign = "−" if value < 0.0 else "+" if signed else ""
    size = abs(value)
    return sign + (f"{size:,.{decimals}f}" if size < 1e12 else f"{size:.3g}")


def share_text(share: float) -> str:
    """Return a share as a percentage; positive ones are never 0.0%."""
    return "<0.1%" if 0.0 < share < 0.0005 else f"{100 * share:.1f}%"


def signed(value: float | None) -> str:
    """Return a number with its sign."""
    if value is None:
        return "–"
    return ("+" if value >= 0.0 else "−") + number(abs(value))
