"""Workers that are threads of one process: for tests, and to try out what a cluster would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier, BrokenBarrierError, Lock
from typing import TypeVar

from hedgerow.exceptions import ClusterError, ParameterError

T = TypeVar("T")


@dataclass
class Traffic:
    """How many calls and bytes a communicator has transferred.

    Attributes
    ----------
    exchanges, gathers : int
        Calls of each kind.
    bytes_sent : int
        Bytes that one worker has sent to others.
    """

    exchanges: int = 0
    gathers: int = 0
    bytes_sent: int = 0


@dataclass
class _Hub:
    """Where the threads meet."""

    size: int
    timeout: float
    slots: list[Sequence[bytes]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)
    reason: str | None = None

    def __post_init__(self) -> None:
        self.slots = [()] * self.size
        self.barrier = Barrier(self.size)

    def meet(self) -> None:
        try:
            self.barrier.wait(self.timeout)
        except BrokenBarrierError:
            reason = self.reason or f"a worker did not answer within {self.timeout:g} s"
            raise ClusterError(f"The fit was ended: {reason}.") from None

    def abort(self, reason: str) -> None:
        with self.lock:
            self.reason = self.reason or reason.rstrip(".")
        self.barrier.abort()


class ThreadCommunicator:
    """The communicator of one of several threads; `run_threads` starts them.

    Attributes
    ----------
    rank, size : int
        The number of this worker, and of all workers.
    traffic : Traffic
        How much this worker has sent so far.
    """

    def __init__(self, hub: _Hub, rank: int) -> None:
        self._hub, self.rank, self.size = hub, rank, hub.size
        self.traffic = Traffic()

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[j]`` to worker j; return what each worker has sent to this worker."""
        self.traffic.exchanges += 1
        self.traffic.bytes_sent += sum(map(len, parts)) - len(parts[self.rank])
        return [of_rank[self.rank] for of_rank in self._share(parts)]

    def gather(self, part: bytes) -> list[bytes]:
        """Return what each worker has passed, in the order of their ranks."""
        self.traffic.gathers += 1
        self.traffic.bytes_sent += len(part) * (self.size - 1)
        return [of_rank[0] for of_rank in self._share([part])]

    def abort(self, reason: str) -> None:
        """Make all pending and future calls fail, on all workers."""
        self._hub.abort(reason)

    def _share(self, parts: Sequence[bytes]) -> list[Sequence[bytes]]:
        self._hub.slots[self.rank] = parts
        self._hub.meet()  # all have written
        received = list(self._hub.slots)
        self._hub.meet()  # all have read
        return received


def check_size(size: int) -> None:
    """Raise unless this is a number of workers."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ParameterError(f"size={size!r} is not allowed; it must be an int >= 1.")


def run_threads(
    work: Callable[[ThreadCommunicator], T], size: int, *, timeout: float = 60.0
) -> list[T]:
    """Call a function in several threads, each with its communicator; return their results.

    If one of them fails, its error is raised, and the others are stopped. All are stopped, too, if
    a worker does not take part in a call within `timeout` seconds.
    """
    check_size(size)
    hub = _Hub(size, timeout)

    def run(rank: int) -> T:
        try:
            return work(ThreadCommunicator(hub, rank))
        except BaseException as error:
            hub.abort(f"worker {rank}: {type(error).__name__}: {error}")
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in errors:
        if not isinstance(error, ClusterError):
            raise error
    if errors:
        raise errors[0]
    return [future.result() for future in futures]
