"""Workers that reach each other through the connections of Dask itself: no other port is opened.

Each pair of workers has one connection for the time of a fit, to the port that the Dask worker
listens on anyway, with its encryption. Messages are sent and received in the event loop of the Dask
worker, also while the thread of the fit computes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

from distributed import Worker
from distributed.comm import Comm, connect
from distributed.core import Status
from distributed.protocol import Serialize, to_serialize

from hedgerow.cluster._messages import (
    ABORT,
    BETWEEN_HEARTBEATS,
    GOODBYE,
    HEARTBEAT,
    InboxCommunicator,
)
from hedgerow.exceptions import ClusterError

HANDLER = "hedgerow_join"
CONNECTING = 5.0  # seconds until a Dask worker must accept a connection
_LINGER = 2.0  # seconds that a closed communicator waits for the others to read to the end
_BETWEEN_LOOKS = 0.01  # seconds between looks whether the thread of the fit has begun
# Longer payloads are sent as a frame of their own, without a copy; shorter ones are faster inside
# the message.
_SHORT = 1 << 14


class Members(Protocol):
    """Where a Dask worker finds its communicator of a fit, once there is one."""

    communicator: DaskCommunicator | None
    is_over: bool


class DaskCommunicator(InboxCommunicator):
    """The communicator of a fit in a thread of a Dask worker.

    Parameters
    ----------
    worker : distributed.Worker
        The Dask worker of this rank.
    fit_id : str
        The identifier of the fit, the same on all workers.
    rank : int
        The number of this worker.
    addresses : sequence of str
        The addresses of the Dask workers of all ranks.
    timeout, silence : float
        As in `hedgerow.cluster.SocketListener.connect`.
    """

    def __init__(
        self,
        worker: Worker,
        fit_id: str,
        rank: int,
        addresses: Sequence[str],
        *,
        timeout: float,
        silence: float,
    ) -> None:
        super().__init__(rank, len(addresses), timeout=timeout, silence=silence)
        self._worker, self._fit_id, self._addresses = worker, fit_id, addresses
        self._loop: asyncio.AbstractEventLoop = worker.loop.asyncio_loop
        self._comms: dict[int, Comm] = {}
        self._locks: dict[int, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- connections -----------------------------------------------------------------------------

    def connect(self, seconds: float) -> None:
        """Wait until all workers have begun the fit and are connected.

        The worker must already be registered with the handler of `join`, because others may call
        first.
        """
        deadline = monotonic() + seconds
        self._in_loop(self._connect(deadline), seconds + CONNECTING)
        with self._changed:
            while len(self._comms) < self.size - 1:
                self._raise_if_ended()
                if monotonic() > deadline:
                    break
                self._changed.wait(BETWEEN_HEARTBEATS)
        missing = [rank for rank in self._others() if rank not in self._comms]
        if missing:
            self._fail(f"worker {missing[0]} did not begin within {seconds:g} s")

    async def _connect(self, deadline: float) -> None:
        """Call the workers of lower rank; those of higher rank call this one."""
        for rank in range(self.rank):
            if self._reason is not None:
                return
            try:
                self._spawn(self.read_from(rank, await self._join(rank, deadline)))
            except (TimeoutError, OSError) as error:
                self.abort(f"worker {rank} cannot be reached: {error or type(error).__name__}")
        self._spawn(self._beat())

    async def _join(self, rank: int, deadline: float) -> Comm:
        address, arguments = self._addresses[rank], self._worker.connection_args
        comm = await connect(address, timeout=CONNECTING, **arguments)
        seconds = max(0.1, deadline - monotonic())
        await comm.write(
            {
                "op": HANDLER,
                "fit_id": self._fit_id,
                "sender": self.rank,
                "rank": rank,
                "seconds": seconds,
                "reply": False,
            }
        )
        answer = await asyncio.wait_for(comm.read(), seconds)
        if answer != "welcome":
            comm.abort()
            raise ConnectionError(str(answer))
        self.accept(rank, comm)
        return comm

    def accept(self, rank: int, comm: Comm) -> None:
        with self._changed:
            self._locks[rank] = asyncio.Lock()
            self._comms[rank] = comm
            self._notice(rank)
            self._changed.notify_all()

    # ---- messages, in the event loop -------------------------------------------------------------

    async def read_from(self, rank: int, comm: Comm) -> None:
        """Deliver the messages of a worker until it leaves."""
        try:
            while True:
                kind, number, payload = await comm.read()
                if isinstance(payload, Serialize):  # within one process nothing is serialised
                    payload = payload.data
                self._deliver(rank, kind, number, bytes(payload))
                if kind == GOODBYE:
                    return
        except (OSError, ValueError, TypeError) as error:
            self._lose(rank, str(error) or type(error).__name__)

    async def _write(self, rank: int, kind: int, number: int, payload: Any) -> None:
        body = to_serialize(payload) if len(payload) > _SHORT else payload
        try:
            async with self._locks[rank]:
                await self._comms[rank].write((kind, number, body))
        except OSError as error:
            self._lose(rank, str(error) or type(error).__name__)

    async def _beat(self) -> None:
        """Send a heartbeat every second."""
        while not self._is_closed:
            await asyncio.sleep(BETWEEN_HEARTBEATS)
            for rank, lock in list(self._locks.items()):
                if not lock.locked():
                    self._spawn(self._write(rank, HEARTBEAT, 0, b""))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine from within the event loop."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ---- messages, in the thread of the fit ------------------------------------------------------

    def _send_parts(self, kind: int, parts: Sequence[bytes]) -> None:
        number = self._number
        self._in_loop_soon(lambda: self._send_all(kind, number, parts))
        self.traffic.bytes_sent += sum(map(len, parts)) - len(parts[self.rank])

    def _send_all(self, kind: int, number: int, parts: Sequence[bytes]) -> None:
        for rank in (*range(self.rank + 1, self.size), *range(self.rank)):
            self._spawn(self._write(rank, kind, number, parts[rank]))

    def _send_abort(self, rank: int, reason: bytes) -> None:
        if rank in self._comms:
            self._in_loop_soon(lambda: self._spawn(self._write(rank, ABORT, 0, reason)))

    def _in_loop_soon(self, function: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError as error:  # the loop is closed: the Dask worker ends
            raise ClusterError(
                f"The fit was ended: the Dask worker is shutting down: {error}."
            ) from error

    def _in_loop(self, coroutine: Coroutine[Any, Any, None], seconds: float) -> None:
        """Run a coroutine to its end."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            future.result(seconds)
        except FutureTimeoutError:
            future.cancel()
            self._fail("the event loop of the Dask worker does not answer")

    def _disconnect(self) -> None:
        with suppress(ClusterError, RuntimeError):
            self._in_loop(self._leave(), _LINGER + CONNECTING)

    async def _leave(self) -> None:
        for rank in list(self._comms):
            await self._write(rank, GOODBYE, 0, b"")
        deadline = monotonic() + _LINGER
        while len(self._lost) < len(self._comms) and monotonic() < deadline:
            await asyncio.sleep(_BETWEEN_LOOKS)
        for comm in self._comms.values():
            comm.abort()
        for task in list(self._tasks):
            task.cancel()


async def join(
    comm: Comm, members: Members | None, sender: int, rank: int, seconds: float
) -> Status:
    """Take the call of a worker of higher rank; the connection serves it until the fit ends."""
    deadline = monotonic() + seconds
    while members is not None and members.communicator is None and monotonic() < deadline:
        if members.is_over:
            break
        await asyncio.sleep(_BETWEEN_LOOKS)
    communicator = None if members is None else members.communicator
    if communicator is None or communicator.rank != rank:
        await comm.write("it takes no part in this fit")
        return Status.dont_reply
    communicator.accept(sender, comm)
    await comm.write("welcome")
    await communicator.read_from(sender, comm)
    while not comm.closed():  # it may still have to write; then it closes all connections
        await asyncio.sleep(_BETWEEN_LOOKS * 10)
    return Status.dont_reply
