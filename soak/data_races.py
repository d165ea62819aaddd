"""Data races: concurrent fits, predictions and forks under the thread sanitizer.

The kernels must be built for it: ``HEDGEROW_TSAN_PYTHON`` names an interpreter with a hedgerow that
was compiled with ``-DHEDGEROW_SANITIZE=thread`` (``make races`` makes one and runs this check).
Without it the same workload runs on the ordinary kernels, which shows that it ends well and no
more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from soak.outcome import Outcome

GOAL = "concurrent fits, predictions and forks under thread sanitizer: no report"
ROUNDS = 200  # of all actions, at full size
SUPPRESSIONS = Path(__file__).with_name("data_races.supp")


def run(share: float) -> Outcome:
    """Run the workload; count the sanitizer's reports."""
    sanitized = os.environ.get("HEDGEROW_TSAN_PYTHON")
    rounds = max(1, round(ROUNDS * share))
    environment = dict(os.environ)
    if sanitized:
        environment |= _preloaded()
    ended = subprocess.run(
        [sanitized or sys.executable, "-m", "soak.race_workload", str(rounds)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    reports = [line for line in ended.stderr.splitlines() if line.startswith("SUMMARY:")]
    failures = list(reports)
    if ended.returncode != 0 and not reports:
        failures.append(f"exit {ended.returncode}: {ended.stderr[-500:]}")
    n_actions = int(ended.stdout.split()[0]) if ended.stdout else 0
    work = f"{n_actions:,} concurrent fits and predictions, {rounds:,} forks"
    if sanitized:
        summary = f"{work}: {len(reports)} reports"
    else:
        summary = f"without the sanitizer, for which there is no build here: {work}, all ended well"
    return Outcome(summary, tuple(failures))


def _preloaded() -> dict[str, str]:
    library = subprocess.run(
        ["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    options = f"suppressions={SUPPRESSIONS} exitcode=66 report_signal_unsafe=0 die_after_fork=0"
    return {"LD_PRELOAD": library, "TSAN_OPTIONS": options}
