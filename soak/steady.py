"""Many fits in one process: memory, threads and file descriptors stay as they are."""

from __future__ import annotations

import gc
import os
import warnings
from pathlib import Path

from soak.estimators import estimators
from soak.outcome import Outcome

GOAL = "1,000 fits in one process: memory, threads and file descriptors stay flat"
FITS = 1000
# What a heap may grow by through fragmentation, in MB; a leak of a kilobyte a fit would be seen
# in the second half of 1,000 fits of 26 estimators only together with others, of 50 kB clearly.
MOST_GROWTH = 25.0


def run(share: float) -> Outcome:
    """Fit every estimator in turn; compare the middle of the run with its end."""
    scale, names = (0.05, None) if share else (0.0, ["GradientBoostingClassifier", "SVC"])
    made = {
        name: fit for name, (_, fit) in estimators(scale).items() if names is None or name in names
    }
    turns = max(2, round(share * FITS / len(made)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        middle = None
        for turn in range(turns):
            if turn == turns // 2:
                middle = usage()
            for fit in made.values():
                fit()
        end = usage()
    assert middle is not None
    grown = end["memory"] - middle["memory"]
    failures = [
        f"{what}: {middle[what]} after half of the fits, {end[what]} at the end"
        for what in ("threads", "descriptors")
        if end[what] > middle[what]
    ]
    if grown > MOST_GROWTH:
        failures.append(f"memory grew by {grown:.1f} MB")
    n_fits = turns * len(made)
    return Outcome(
        f"{n_fits:,} fits of {len(made)} estimators; in the second half: memory {grown:+.1f} MB of "
        f"{end['memory']:.0f}, threads {end['threads'] - middle['threads']:+d}, file descriptors "
        f"{end['descriptors'] - middle['descriptors']:+d}",
        tuple(failures),
    )


def usage() -> dict[str, float]:
    """Return what the process holds: megabytes resident, threads, file descriptors."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGESIZE") / 1e6,
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
    }
