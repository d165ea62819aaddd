"""Mutated model files of every kind of estimator: each is refused, or is a model that works.

The mutations are those of tests/fuzz_model_file.py. ``make sanitize`` runs a tenth of them under
address and undefined-behaviour sanitizers, and all of them with ``FILES=1``.
Files are tried in child processes, so that a crash ends one of these and is counted.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow._model_file import load
from hedgerow._threads import available_cpus
from soak.outcome import Outcome

GOAL = "mutated model files of all kinds: no crash, no hang, allocations up to 10 × the file"
FILES = 100_000
FEWEST = 40
CHUNK = 250  # files of one process
SECONDS = 60  # of processor time for one file; ten times that by the clock
# What a load needs beside the file: the estimator, its parameters, Python's own objects.
FIXED_BYTES = 1 << 20
MOST_TIMES_THE_FILE = 10
MOST_GROWTH = 2 << 30  # of a process, so that a huge allocation fails

TESTS = Path(__file__).parents[1] / "tests"
FIXTURES = TESTS / "fixtures" / "0.1.0"


def run(share: float) -> Outcome:
    """Try files; at share 0, a few mutations of the files that are kept as fixtures."""
    sys.path.insert(0, str(TESTS))
    import fuzz_model_file as fuzz

    # GNU's OpenMP, in scikit-learn, waits for ever in the child of a process where it had threads.
    with threadpool_limits(1):
        return _run(share, fuzz)


def _run(share: float, fuzz: Any) -> Outcome:
    n_files = max(FEWEST, round(FILES * share))
    if share == 0.0:
        models = [fuzz.unpack(file.read_bytes()) for file in sorted(FIXTURES.glob("*.hedgerow"))]
    else:
        models = [fuzz.write_estimator(model) for model in (*fuzz.make_models(), *_large_models())]
    kinds = {document["estimator"] for document, _ in models}
    tally: dict[str, Any] = {"refused": 0, "slowest": 0.0, "times": 0.0, "failures": []}
    chunks = [range(first, min(first + CHUNK, n_files)) for first in range(0, n_files, CHUNK)]
    works = [partial(_try_files, fuzz, models, numbers) for numbers in chunks]
    for numbers, found in zip(chunks, in_children(works, available_cpus()), strict=True):
        if isinstance(found, str):
            found = {"failures": [f"files {numbers.start} … {numbers.stop - 1}: {found}"]}
        tally["refused"] += found.get("refused", 0)
        for name in ("slowest", "times"):
            tally[name] = max(tally[name], found.get(name, 0.0))
        tally["failures"] += found["failures"]
    sanitized = " under address and undefined-behaviour sanitizers" * _is_sanitized()
    summary = (
        f"{n_files:,} files of {len(kinds)} kinds{sanitized}: "
        f"{tally['refused']:,} rejected, the others work; slowest {tally['slowest']:.2f} s; "
        f"at most {tally['times']:.1f} × the file allocated beyond {FIXED_BYTES >> 20} MiB"
    )
    return Outcome(summary, tuple(tally["failures"]))


def _is_sanitized() -> bool:
    """Tell whether the kernels are built with sanitizers, which `make sanitize` preloads."""
    return "libasan" in os.environ.get("LD_PRELOAD", "")


def _large_models() -> list[Any]:
    """Give models of large files: one by its arrays, one by the names in its header."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 4))
    labels = rng.permutation([f"n{number}" for number in range(8_000)])
    names = pd.DataFrame({"name": pd.Categorical(labels)})
    return [
        hr.KNeighborsRegressor().fit(rows, rows[:, 0]),
        hr.KNeighborsRegressor(metric="gower").fit(names, np.arange(8_000.0)),
    ]


def in_children(works: Iterable[Callable[[], Any]], n_at_once: int) -> Iterator[Any]:
    """Yield what functions return, each in a child process, or a description of how that ended."""
    running: deque[tuple[int, int]] = deque()
    for work in works:
        if len(running) == n_at_once:
            yield _result_of(*running.popleft())
        running.append(_started(work))
    while running:
        yield _result_of(*running.popleft())


def _started(work: Callable[[], Any]) -> tuple[int, int]:
    """Start a child process; return it, and where to read its result."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w") as pipe:
                json.dump(work(), pipe)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  nothing may run on in the child
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    os.close(writing)
    return child, reading


def _result_of(child: int, reading: int) -> Any:
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        return f"the process ended by {signal.Signals(-status).name}"
    return json.loads(text) if status == 0 else f"the process ended with {status}"


def _try_files(fuzz: Any, models: Sequence[Any], numbers: Sequence[int]) -> dict[str, Any]:
    _limit_memory()
    originals = [fuzz.pack(*model) for model in models]
    refused, slowest, times = 0, 0.0, 0.0
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated"
        for number in numbers:
            rng = random.Random(f"soak {number}")
            original = rng.choice(originals)
            mutation = rng.choice(fuzz.MUTATIONS)
            data = mutation(rng, original, models)
            loader = Measured(len(data))
            _limit_time(SECONDS)
            begin = time.perf_counter()
            try:
                must_be_refused = mutation in fuzz.SEALED_OFF
                refused += fuzz.try_file(path, data, original, must_be_refused, rng, loader)
            except Exception as error:  # noqa: BLE001  any but ModelFileError is a failure
                failures.append(
                    f"file {number}, {mutation.__name__}: {type(error).__name__} {error}"
                )
            _limit_time(0)
            slowest = max(slowest, time.perf_counter() - begin)
            times = max(times, loader.times)
            if loader.times > MOST_TIMES_THE_FILE:
                failures.append(f"file {number}: {loader.times:.0f} × the file was allocated")
    return {"refused": refused, "slowest": slowest, "times": times, "failures": failures}


def _limit_time(seconds: int) -> None:
    """End the process, which is counted, when so much time has passed; 0 for no limit."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)


def _limit_memory() -> None:
    """Let the process grow by no more than `MOST_GROWTH`, where that can be told."""
    table = Path("/proc/self/statm")
    if table.exists():
        size = int(table.read_text().split()[0]) * resource.getpagesize() + MOST_GROWTH
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


class Measured:
    """Loads a file and measures the most memory that this took, as a multiple of the file."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self.times = 0.0

    def __call__(self, path: Path) -> Any:
        """Load the file."""
        tracemalloc.start()
        try:
            return load(path)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.times = max(0, peak - FIXED_BYTES) / max(1, self.n_bytes)
