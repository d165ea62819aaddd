"""Where the time of a fit on several workers goes, if it is recorded.

    with recording() as record:
        cluster.fit(model, X, y, communicator=communicator)
    record.seconds

Nothing is recorded otherwise. The time of a phase does not include that of phases inside it. It is
listed by what ended it: the growth of trees on several workers is "trees → exchange" (rows are
divided and added up, until the sums are exchanged), "trees → gather" (splits are searched, until
the best are compared) and "trees", the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from time import perf_counter, process_time


class PhaseRecord:
    """The time that one thread has spent in each phase.

    Attributes
    ----------
    seconds : dict of float
        Time by the clock.
    cpu_seconds : dict of float
        Time of all threads of the process on its processors.
    thread : int
        The thread.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.cpu_seconds: defaultdict[str, float] = defaultdict(float)
        self.thread = get_ident()
        self._open: list[str] = []
        self._since = perf_counter(), process_time()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record the block as a phase."""
        self._count(f"{self._open[-1]} → {name}" if self._open else "outside")
        self._open.append(name)
        try:
            yield
        finally:
            self._count(self._open.pop())

    def _count(self, name: str) -> None:
        """Count the time since the last change of phase."""
        now = perf_counter(), process_time()
        self.seconds[name] += now[0] - self._since[0]
        self.cpu_seconds[name] += now[1] - self._since[1]
        self._since = now

    def __str__(self) -> str:
        longest_first = sorted(self.seconds.items(), key=lambda entry: -entry[1])
        return ", ".join(f"{name} {seconds:.3f} s" for name, seconds in longest_first)


_RECORD: ContextVar[PhaseRecord | None] = ContextVar("phases", default=None)


@contextmanager
def recording() -> Iterator[PhaseRecord]:
    """Record the phases of fits that this thread runs in the block."""
    record = PhaseRecord()
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Record the block as a phase, if anybody wants to know."""
    record = _RECORD.get()
    # From Python 3.14 on, a thread may inherit the variables of the one that starts it.
    if record is None or record.thread != get_ident():
        yield
        return
    with record.phase(name):
        yield
