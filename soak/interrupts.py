"""Ctrl-C at random moments of a fit: it ends soon, and the estimator is what it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from soak.estimators import Fit, estimators
from soak.outcome import Outcome

GOAL = "Ctrl-C at 1,000 random moments of a fit, every estimator: the call ends, nothing is changed"
MOMENTS = 1000


def run(share: float) -> Outcome:
    """Interrupt as many fits of every estimator, each estimator in a process of its own."""
    names = list(estimators(0.0))
    if share == 0.0:
        names = names[:1]
    each = max(2, round(share * MOMENTS / len(names)))
    latencies: list[float] = []
    failures: list[str] = []
    n_finished = 0
    for name in names:
        command = [sys.executable, "-W", "ignore", "-m", "soak.interrupts", name, str(each)]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        if child.returncode != 0:
            failures.append(f"{name}: exit code {child.returncode}: {child.stderr[-500:]}")
            continue
        found = json.loads(child.stdout)
        latencies += found["latencies"]
        failures += [f"{name}: {failure}" for failure in found["failures"]]
        n_finished += found["finished"]
    if not latencies:
        return Outcome("no fit was interrupted", (*failures, "every fit ended first"))
    p50, p99 = np.quantile(latencies, [0.5, 0.99])
    return Outcome(
        f"{len(latencies):,} fits of {len(names)} estimators interrupted, {len(failures)} not "
        f"clean ({n_finished} ended before); latency: median {1e3 * p50:.0f} ms, p99 "
        f"{1e3 * p99:.0f} ms, largest {1e3 * max(latencies):.0f} ms",
        tuple(failures),
    )


def interrupt_fits(name: str, n_moments: int) -> dict[str, object]:
    """Interrupt one estimator's fit at random moments; return latencies and what went wrong."""
    model, fit = estimators()[name]
    start = time.perf_counter()
    fit()
    duration = time.perf_counter() - start
    expected = _bytes(model)
    rng = np.random.default_rng(0)
    latencies, failures, finished = [], [], 0
    for _ in range(n_moments):
        found = _interrupted(fit, float(rng.uniform(0, duration)))
        if isinstance(found, str):
            failures.append(found)
        elif found is None:
            finished += 1
        else:
            latencies.append(found)
        if _bytes(model) != expected:
            failures.append("the fitted model has changed")
    fit()
    if _bytes(model) != expected:
        failures.append("the next fit gives another model")
    return {"latencies": latencies, "failures": failures, "finished": finished}


def _interrupted(fit: Fit, delay: float) -> float | str | None:
    """Return the seconds from Ctrl-C to the end of the call, None if that came first."""
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, interrupt)
    ended = False
    try:
        timer.start()
        fit()
        ended = True
        timer.cancel()
        timer.join()
        time.sleep(0.001)  # a signal that is under way arrives here
    except KeyboardInterrupt:
        return None if ended else time.perf_counter() - sent[0]
    except BaseException as error:  # noqa: BLE001  whatever else comes out is what is looked for
        return f"{type(error).__name__} instead of KeyboardInterrupt: {error}"
    return None


def _bytes(model: object) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.read_bytes()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(interrupt_fits(sys.argv[1], int(sys.argv[2]))))
