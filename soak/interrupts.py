"""Ctrl-C at random moments of a fit leaves the estimator as before; the next fit is whole."""

from __future__ import annotations

import os
import random
import signal
import statistics
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from soak.outcome import Outcome
from soak.small_models import more_models

GOAL = (
    "Ctrl-C at 1,000 random moments during fits of all kinds of models: KeyboardInterrupt, the "
    "estimator is unchanged or fully fitted, and the next fit writes the same bytes"
)
TRIALS = 1_000
ROWS, COLUMNS = 1_500, 8  # so many that kernels take most of the time


class Subject:
    """An estimator, what it was fitted to, and what a fit to other rows gives."""

    def __init__(self, make: Any, folder: Path) -> None:
        rng = np.random.default_rng(0)
        self.tables = [_table(rng), _table(rng)]
        self.path = folder / "model.hedgerow"
        self.model = make()
        self.model.fit(*self.tables[1])
        self.expected = self.file()
        begin = time.perf_counter()
        self.model.fit(*self.tables[1])
        self.duration = time.perf_counter() - begin
        self.model.fit(*self.tables[0])
        self.state = dict(vars(self.model))

    def file(self) -> bytes:
        """Return the bytes of the model's file."""
        self.model.save(self.path)
        return self.path.read_bytes()

    def interrupt(self, delay: float) -> float | None:
        """Fit, send SIGINT after a while; return the seconds that the fit went on, None if none."""
        sent: list[float] = []
        finished: list[float] = []

        def send() -> None:
            time.sleep(delay)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send)
        try:
            sender.start()
            self.model.fit(*self.tables[1])
            finished.append(time.perf_counter())
            sender.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            stopped = time.perf_counter()
            return None if finished else stopped - sent[0]
        raise RuntimeError("the interrupt was lost")

    def wrongs(self, is_interrupted: bool) -> str:
        """Say what is not as it should be, and have the next trial begin as the first did."""
        now = vars(self.model)
        same = now.keys() == self.state.keys() and all(now[k] is self.state[k] for k in now)
        # A fit adopts what it learned at its end; an interrupt may still come before it returns.
        if is_interrupted and not same and self.file() != self.expected:
            return "neither the estimator as before nor a fitted one"
        self.model.fit(*self.tables[1])
        wrong = "" if self.file() == self.expected else "another file after the next fit"
        now.clear()
        now.update(self.state)
        return wrong


def _table(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.standard_normal((ROWS, COLUMNS))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(ROWS) > 0).astype(np.int64)


def run(share: float) -> Outcome:
    """Interrupt fits of every kind in turn."""
    warnings.simplefilter("ignore")
    kinds = more_models()
    if share <= 0:
        kinds = dict(list(kinds.items())[:2])
    n_trials = max(2, round(TRIALS * share / len(kinds)))
    chance = random.Random(0)
    latencies: list[float] = []
    failures: list[str] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for name, make in kinds.items():
            with tempfile.TemporaryDirectory() as folder:
                subject = Subject(make, Path(folder))
                for _ in range(n_trials):
                    _try(name, subject, chance.uniform(0, subject.duration), latencies, failures)
    finally:
        signal.signal(signal.SIGINT, before)
    total = n_trials * len(kinds)
    p99 = statistics.quantiles(latencies, n=100)[98] if len(latencies) > 1 else float("nan")
    summary = (
        f"{total:,} interrupts of {len(kinds)} kinds, {len(latencies):,} of them within the fit: "
        f"{total - len(failures):,} clean; KeyboardInterrupt after {1e3 * p99:.0f} ms (p99)"
    )
    return Outcome(summary, tuple(failures))


def _try(
    name: str, subject: Subject, delay: float, latencies: list[float], failures: list[str]
) -> None:
    try:
        latency = subject.interrupt(delay)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
        failures.append(f"{name} after {1e3 * delay:.1f} ms: {type(error).__name__}: {error}")
        latency = None
    if latency is not None:
        latencies.append(latency)
    wrong = subject.wrongs(latency is not None)
    if wrong:
        failures.append(f"{name} after {1e3 * delay:.1f} ms: {wrong}")
