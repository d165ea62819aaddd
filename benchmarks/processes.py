"""A process of its own for each library, so that no library's threads disturb another's.

OpenMP threads spin for a moment after each parallel region before they sleep, allocators keep what
they freed, and two OpenMP runtimes in one process fight over the cores. A worker loads one library,
waits silently on a pipe while the others are timed, and does one piece of work at a time.

``OMP_WAIT_POLICY=passive`` would end the spinning altogether, but the peers live by it: on two
cores it made LightGBM's and scikit-learn's fits of 1,000 rows 1.7 times slower. They keep their
default; the pause before each piece of work outlasts the spinning.
"""

import math
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROCESS = Path("/proc/self")
SYSTEM_MEMORY = Path("/proc/meminfo")
CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")
RESET_PEAK = "5"
PAUSE_SECONDS = 0.1  # libgomp's threads stop spinning after a few milliseconds


class WorkerError(Exception):
    """The work failed, or the process doing it died."""


class Worker:
    """An object that lives in another process; ``call`` runs one of its methods there."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        # Spawned, not forked: a fork would inherit the parent's half of every thread pool.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        """Wait until the object is made."""
        try:
            self._receive()
        except WorkerError:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def call(self, method: str, *arguments: Any) -> Any:
        """Run ``method`` in the worker and wait for what it returns."""
        time.sleep(PAUSE_SECONDS)
        self._pipe.send((method, arguments))
        return self._receive()

    def close(self) -> None:
        """End the process: closing its pipe tells it to, and one that does not listen is killed."""
        self._pipe.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()

    def _receive(self) -> Any:
        try:
            succeeded, value = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(timeout=5)
            raise WorkerError(f"the process died (exit code {self._process.exitcode})") from None
        if not succeeded:
            raise WorkerError(value)
        return value


def _serve(pipe: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Make the object, then answer calls until the other end is closed."""
    served = _answer(pipe, partial(make, *arguments), silent=True)
    while True:
        try:
            method, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        _answer(pipe, partial(getattr(served, method), *arguments))


def _answer(pipe: Connection, work: Callable[[], Any], *, silent: bool = False) -> Any:
    """Do the work and send its value (nothing if ``silent``) or the reason why there is none."""
    try:
        value = work()
    except Exception as error:  # noqa: BLE001  the parent reports it beside the other libraries
        pipe.send((False, f"{type(error).__name__}: {error}"))
        return None
    pipe.send((True, None if silent else value))
    return value


def peak_extra_bytes(work: Callable[[], object]) -> int | None:
    """Do the work; return the peak of resident memory during it minus the memory before it.

    Linux keeps the largest resident size of a process (``VmHWM``) and lets the process reset it
    (``clear_refs``), so that no sampling is needed. Elsewhere the result is None.
    """
    try:
        (PROCESS / "clear_refs").write_text(RESET_PEAK)
    except OSError:
        return None
    before = _field_bytes(PROCESS / "status", "VmRSS")
    work()
    return _field_bytes(PROCESS / "status", "VmHWM") - before


def available_bytes() -> float:
    """Memory that the system has left, at most a container's; no limit is known outside Linux."""
    limits = [math.inf]
    if SYSTEM_MEMORY.is_file():
        limits.append(_field_bytes(SYSTEM_MEMORY, "MemAvailable"))
    if CONTAINER_MEMORY.is_file():
        limits.append(float(CONTAINER_MEMORY.read_text().replace("max", "inf")))
    return min(limits)


def _field_bytes(path: Path, field: str) -> int:
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise LookupError(f"{path} has no field {field}")
