"""Every allocation made to fail once, while an estimator is fitted, predicts or is saved.

A small library in C, compiled when the check runs, stands before malloc and lets the n-th
allocation fail that comes from the kernels, the C++ library, NumPy or the interpreter. The trials
of a task run in a process of their own, which says before each what it tries: if it dies, the
number is known and the next process goes on after it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from soak.outcome import Outcome

GOAL = (
    "each allocation during fit, predict and save fails once: MemoryError, no crash, and the "
    "estimator is unchanged"
)
SOURCE = Path(__file__).with_name("failing_malloc.c")
ACTIONS = ("fit", "predict", "save")
# At a share of 0 few allocations of few tasks are tried, spread evenly.
FEW_TASKS, FEW_TRIALS = [("GradientBoostingClassifier", "fit")], 12
# NumPy's loops over arrays return no result and set no exception where their buffers cannot be
# had; the interpreter then raises SystemError. Nothing is lost, only the error's name.
# The interpreter's buffered files raise RuntimeError.
UNNAMED, LOCK = "SystemError of NumPy", "RuntimeError of a file"
ACCEPTED = {"MemoryError", "done", UNNAMED, LOCK}
LONGEST = 120.0  # seconds that one process of trials may be silent


def run(share: float) -> Outcome:
    """Make `share` of the allocations of every task fail, one after the other."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return Outcome("not run: needs Linux and a C compiler")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "failing_malloc.so"
        subprocess.run(
            [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"],
            check=True,
        )
        tasks = _tasks() if share > 0 else FEW_TASKS
        counts: Counter[str] = Counter()
        failures: list[str] = []
        for task in tasks:
            _try_task(task, share, library, counts, failures)
    trials = sum(counts.values())
    others = "".join(f", {counts[kind]:,} a {kind}" for kind in (UNNAMED, LOCK) if counts[kind])
    if trials == 0:
        failures.append("no allocation was seen")
    summary = (
        f"{trials:,} failing allocations in {len(tasks)} tasks: {counts['MemoryError']:,} raised "
        f"MemoryError{others}; {counts['done']:,} tasks succeeded anyway, "
        f"{len(failures):,} other outcomes"
    )
    return Outcome(summary, tuple(failures))


def _tasks() -> list[tuple[str, str]]:
    from soak.small_models import small_models

    return [(name, action) for name in small_models() for action in ACTIONS]


def _try_task(
    task: tuple[str, str], share: float, library: Path, counts: Counter[str], failures: list[str]
) -> None:
    """Run the trials of a task; a process that dies is followed by one that goes on after it."""
    first = 1
    while first > 0:
        lines, ended = _trials(task, share, first, library)
        first = 0
        begun = None
        for line in lines:
            if "result" in line:
                begun = None
                counts[line["result"]] += 1
                if line["result"] not in ACCEPTED:
                    failures.append(
                        f"{task[0]}.{task[1]}, allocation {line['n']}: {line['result']}"
                    )
            else:
                begun = line["n"]
        if begun is not None:
            counts["crash"] += 1
            failures.append(f"{task[0]}.{task[1]}, allocation {begun}: the process ended ({ended})")
            first = begun + 1
        elif ended != 0:
            counts["crash"] += 1
            failures.append(f"{task[0]}.{task[1]}: the process ended ({ended}) outside of trials")


def _trials(
    task: tuple[str, str], share: float, first: int, library: Path
) -> tuple[list[dict[str, Any]], int | str]:
    environment = os.environ | {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "soak.allocation_trials", *task, str(share), str(first)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    ended: int | str
    try:
        output = process.communicate(timeout=LONGEST + 600.0 * share)[0]
        ended = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        output, ended = process.communicate()[0], "killed: it hung"
    lines = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
    return lines, ended
