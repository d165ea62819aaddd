"""Exports of every kind of model in every format, compared by the format's own reader.

Models are those of ``tests/export``, fitted to 2,000 rows with trees up to depth 20; rows have
numbers next to thresholds, missing values and unknown categories.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from soak.outcome import Outcome

GOAL = (
    "exports of every kind of model in every format that accepts it: the format's own reader "
    "predicts the same within the documented tolerance"
)
ROWS = 2_000
FEWEST = 100

TESTS = Path(__file__).parents[1] / "tests"


def run(share: float) -> Outcome:
    """Compare all kinds and formats; at share 0, two kinds on few rows."""
    sys.path.insert(0, str(TESTS))
    from export.comparison import REFUSED, n_different
    from export.models import ALL_KINDS, KINDS_WITH_SCORES
    from export.readers import READERS

    n_rows = max(FEWEST, round(ROWS * share))
    kinds = ALL_KINDS if share > 0.0 else ("deep tree", "two_classes")
    cases = [
        (kind, reader, raw)
        for kind in kinds
        for reader in READERS
        if (reader.name, kind) not in REFUSED
        for raw in (False, True)[: 1 + (reader.has_scores and kind in KINDS_WITH_SCORES)]
    ]
    n_compared = 0
    failures = []
    for kind, reader, raw in cases:
        case = f"{kind}, {reader.name}{', scores' if raw else ''}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                different, compared = n_different(
                    kind, reader, Path(folder), n_rows, n_rows, raw=raw
                )
            except Exception as error:  # noqa: BLE001  a reader that fails is a failure, too
                failures.append(f"{case}: {type(error).__name__} {error}")
                continue
        n_compared += compared
        if different:
            failures.append(f"{case}: {different} of {compared} rows differ")
    n_scores = sum(raw for *_, raw in cases)
    names = ", ".join(reader.name for reader in READERS)
    summary = (
        f"{len(cases) - n_scores} pairs of {len(kinds)} kinds and {len(READERS)} readers ({names}),"
        f" {n_scores} of them by their scores, too, {n_rows:,} rows each: {n_compared:,} rows "
        f"compared, {len(failures)} comparisons differ"
    )
    return Outcome(summary, tuple(failures))
