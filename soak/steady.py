"""A thousand fits in one process: memory, threads and open files do not grow."""

from __future__ import annotations

import gc
import os
import warnings
from pathlib import Path

from soak.outcome import Outcome
from soak.small_models import more_models, small_table

GOAL = "1,000 fits of all kinds of models in one process: constant memory, threads and descriptors"
FITS = 1_000
WARM_UP = 2  # rounds of all kinds after which whatever is kept for good is there
# What the allocator's arenas may swing by, which is not growth: seen with no fits at all.
SLACK = 8 * 2**20


def run(share: float) -> Outcome:
    """Fit and predict in turn with every kind; compare the process before and after."""
    warnings.simplefilter("ignore")
    kinds = list(more_models().values())
    n_fits = max(2 * len(kinds), round(FITS * share))
    tables = [small_table(seed) for seed in range(4)]
    before = (0, 0, 0)
    for i in range(WARM_UP * len(kinds) + n_fits):
        if i == WARM_UP * len(kinds):
            before = _state()
        X, y = tables[i % len(tables)]
        kinds[i % len(kinds)]().fit(X, y).predict(X)
    after = _state()
    names = ("resident memory", "threads", "descriptors")
    allowed = (SLACK, 0, 0)
    failures = [
        f"{name}: {now - then:+,} after {n_fits:,} fits"
        for name, then, now, most in zip(names, before, after, allowed, strict=True)
        if now - then > most
    ]
    change = (after[0] - before[0]) / 2**20
    return Outcome(
        f"{n_fits:,} fits of {len(kinds)} kinds: resident memory {change:+.1f} MiB, "
        f"{after[1]} threads ({after[1] - before[1]:+d}), "
        f"{after[2]} descriptors ({after[2] - before[2]:+d})",
        tuple(failures),
    )


def _state() -> tuple[int, int, int]:
    """Return resident bytes, threads and open descriptors."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    page = os.sysconf("SC_PAGE_SIZE")
    threads = len(list(Path("/proc/self/task").iterdir()))
    return pages * page, threads, len(list(Path("/proc/self/fd").iterdir()))
