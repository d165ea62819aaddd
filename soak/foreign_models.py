"""Mutated models of other libraries: each is refused, or is a whole model that predicts.

The mutations are those of tests/fuzz_foreign_models.py: of XGBoost's JSON and UBJSON, LightGBM's
text, CatBoost's JSON and, where catboost is installed, its binary format. Files are read in child
processes, so that a crash ends one of these and is counted.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hedgerow._threads import available_cpus
from soak.model_files import TESTS, in_children
from soak.outcome import Outcome

GOAL = "mutated models of XGBoost, LightGBM and CatBoost: refused with a typed error, or whole"
FILES = 30_000
FEWEST = 40
CHUNK = 250  # files of one process


def run(share: float) -> Outcome:
    """Try files, with seeds that are the numbers of the processes."""
    sys.path.insert(0, str(TESTS))
    import fuzz_foreign_models as fuzz

    n_files = max(FEWEST, round(FILES * share))
    originals = fuzz.originals()
    sizes = [min(CHUNK, n_files - start) for start in range(0, n_files, CHUNK)]
    refused, slowest, failures = 0, 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        works = [
            partial(_try_files, fuzz, size, seed, Path(folder), originals)
            for seed, size in enumerate(sizes)
        ]
        for seed, found in enumerate(in_children(works, available_cpus())):
            if isinstance(found, str):
                failures.append(f"seed {seed}: {found}")
                continue
            refused += found["refused"]
            slowest = max(slowest, found["slowest"])
            failures += found["failures"]
    formats = sorted({ending for ending, _ in originals})
    without = "" if find_spec("catboost") else "; catboost is not installed, so no cbm"
    summary = (
        f"{n_files:,} files ({', '.join(formats)}{without}): {refused:,} rejected, "
        f"the others work; slowest {slowest:.2f} s"
    )
    return Outcome(summary, tuple(failures))


def _try_files(
    fuzz: Any, n_files: int, seed: int, folder: Path, originals: list[tuple[str, bytes]]
) -> dict[str, Any]:
    try:
        _, refused, slowest = fuzz.fuzz(n_files, seed, folder, files=originals)
    except Exception as error:  # noqa: BLE001  any is a failure
        failure = f"seed {seed}: {type(error).__name__} {error}"
        return {"refused": 0, "slowest": 0.0, "failures": [failure]}
    return {"refused": refused, "slowest": slowest, "failures": []}
