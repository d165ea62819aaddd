"""Fits on a Dask cluster whose workers are killed at random moments."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import hedgerow as hr
import hedgerow.dask as hd
from hedgerow._model_file.container import pack
from hedgerow._model_file.contents import write_estimator
from hedgerow.dask._session import _SESSIONS
from hedgerow.exceptions import ClusterError
from soak.outcome import Outcome

GOAL = (
    "`kill -9` of a Dask worker during a fit: the same bytes, or a `ClusterError` within 10 s; "
    "nothing is left"
)
KILLS = 100
SECONDS = 10.0  # from a kill to the error
HANG = 120.0  # seconds of a fit that takes one or two
N_WORKERS = 3
PARAMETERS = {"n_estimators": 60, "max_leaves": 31, "subsample": 0.8}


def run(share: float) -> Outcome:
    """Kill workers, one in each fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
    expected = _bytes(hr.GradientBoostingRegressor(**PARAMETERS).fit(X, y))
    trials = Trials(da.from_array(X, chunks=(1500, 10)), da.from_array(y), expected)
    n_kills, done = max(1, round(KILLS * share)), 0
    while done < n_kills:
        with _cluster() as client:
            done = trials.kill_some(client, done, n_kills)
    return trials.outcome()


@contextlib.contextmanager
def _cluster() -> Iterator[Client]:
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=N_WORKERS, processes=True, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _bytes(model: Any) -> bytes:
    return bytes(pack(*write_estimator(model)))


class Trials:
    """Fits, each with the kill of a worker, and how they ended."""

    client: Client

    def __init__(self, X: Any, y: Any, expected: bytes) -> None:
        self.X, self.y, self.expected = X, y, expected
        self.moments = random.Random(1)
        self.n_same = self.n_errors = self.n_late = 0
        self.recoveries: list[float] = []
        self.failures: list[str] = []

    def kill_some(self, client: Client, done: int, n_kills: int) -> int:
        """Kill until it is enough, or until Dask does not replace a worker; return how many."""
        self.client = client
        self.fit()  # which imports what is needed
        seconds = self.fit()
        while done < n_kills:
            try:
                client.wait_for_workers(N_WORKERS - 1, timeout=30)
            except TimeoutError:
                return done
            self.kill(done, self.moments.random() * seconds * 1.1)
            done += 1
        return done

    def fit(self) -> float:
        """Fit once; return the seconds."""
        begin = time.monotonic()
        self._fit_and_compare("without a kill")
        return time.monotonic() - begin

    def _fit_and_compare(self, what: str) -> None:
        model = hd.GradientBoostingRegressor(**PARAMETERS, client=self.client).fit(self.X, self.y)
        if _bytes(model.to_local()) != self.expected:
            self.failures.append(f"{what}: another model")

    def kill(self, number: int, delay: float) -> None:
        """Kill a worker so many seconds after the beginning of a fit."""
        pids = sorted(self.client.run(os.getpid, on_error="ignore").values())
        victim = self.moments.choice(pids)
        outcome: list[BaseException | None] = []

        def work() -> None:
            try:
                self._fit_and_compare(f"kill {number}")
                outcome.append(None)
            except BaseException as error:  # noqa: BLE001  judged below
                outcome.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(delay)
        is_late = not thread.is_alive()
        killed_at = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        thread.join(HANG)
        self._judge(number, outcome, time.monotonic() - killed_at, is_late=is_late)

    def _judge(
        self, number: int, outcome: list[BaseException | None], seconds: float, *, is_late: bool
    ) -> None:
        if not outcome:
            self.failures.append(f"kill {number}: no end after {HANG:g} s")
            return
        error = outcome[0]
        if error is None:
            self.n_same += 1
            self.n_late += is_late
            self.recoveries += [] if is_late else [seconds]
        elif isinstance(error, ClusterError) and seconds <= SECONDS:
            self.n_errors += 1
        else:
            self.failures.append(f"kill {number}: {error!r} after {seconds:.1f} s")
        left = self.client.run(_left, on_error="ignore")
        self.failures += [f"kill {number}: {a} still has {n} fits" for a, n in left.items() if n]

    def outcome(self) -> Outcome:
        """Return the figures."""
        total = self.n_same + self.n_errors
        slowest = max(self.recoveries, default=0.0)
        median = float(np.median(self.recoveries)) if self.recoveries else 0.0
        summary = (
            f"{total} kills ({self.n_late} after the end of the fit): {self.n_same} times the same "
            f"bytes, {self.n_errors} errors; the fit ended {median:.1f} s after the kill "
            f"(median; at most {slowest:.1f} s)"
        )
        return Outcome(summary, tuple(self.failures))


def _left(dask_worker: Any) -> int:
    return sum(address == dask_worker.address for address, _ in _SESSIONS)
