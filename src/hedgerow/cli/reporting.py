"""Reports of models, where this version of the library can write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hedgerow
from hedgerow.cli.examples import Examples


def write_report(model: Any, examples: Examples, path: Path, target: str | None) -> None:
    """Write a page about a model and how it does on some rows.

    Raises
    ------
    ImportError
        If what pages are made with is not there.
    """
    writer = getattr(hedgerow, "report", None)
    if not callable(writer):
        raise ImportError("this version of Hedgerow writes no reports")
    optional = {
        "sample_weight": examples.weights,
        "qid": examples.qid,
        "target_name": target,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    writer(model, examples.X, examples.y, path, **given)
