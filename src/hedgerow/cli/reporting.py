"""The report of a model, where this version of the library can write one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hedgerow


def report_writer() -> Callable[..., Any] | None:
    """Return `hedgerow.report`, or None where there is none."""
    writer = getattr(hedgerow, "report", None)
    return writer if callable(writer) else None
