"""Data races: concurrent fits, predictions and forks under the thread sanitizer.

The kernels must be built for it: ``HEDGEROW_TSAN_PYTHON`` names an interpreter with a hedgerow that
was compiled with ``-DHEDGEROW_SANITIZE=thread`` (``make races`` makes one and runs this check).
Without it the same workload runs on the ordinary kernels, which shows that it ends well and no
more.

A free-threaded interpreter must itself be compiled for the sanitizer (``make races-free``), which
otherwise sees none of the locks that take the place of the global one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from soak.outcome import Outcome

GOAL = "concurrent fits, predictions and forks under thread sanitizer: no report"
ROUNDS = 200  # of all actions, at full size
FOLDER = Path(__file__).parent
IS_FREE = "import sysconfig; print(int(sysconfig.get_config_var('Py_GIL_DISABLED') or 0))"


def run(share: float) -> Outcome:
    """Run the workload; count the sanitizer's reports."""
    sanitized = os.environ.get("HEDGEROW_TSAN_PYTHON")
    rounds = max(1, round(ROUNDS * share))
    environment = dict(os.environ)
    if sanitized:
        environment |= _sanitizer_of(sanitized)
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


def _sanitizer_of(python: str) -> dict[str, str]:
    is_free = _output(python, "-c", IS_FREE) == "1"
    suppressions = FOLDER / ("data_races_free.supp" if is_free else "data_races.supp")
    options = f"suppressions={suppressions} exitcode=66 report_signal_unsafe=0 die_after_fork=0"
    if is_free:
        return {"TSAN_OPTIONS": options}
    return {"TSAN_OPTIONS": options, "LD_PRELOAD": _output("gcc", "-print-file-name=libtsan.so")}


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
