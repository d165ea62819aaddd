"""Workers that are connected to each other by TCP.

Every worker listens on a port that the system chooses and learns the addresses of the others by
whatever started it. Both ends of a connection prove that they know the token of the fit before
anything else is read (`_handshake`), and every message proves where it comes from (`_frames`).
Messages are not encrypted.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Self

from hedgerow.cluster._frames import HEADER, BadMessageError, Header, Payload, check_payload
from hedgerow.cluster._handshake import MOST_WAITING, Address, Connection, Mesh
from hedgerow.cluster._messages import (
    ABORT,
    BETWEEN_HEARTBEATS,
    GOODBYE,
    HEARTBEAT,
    SILENCE,
    START,
    TIMEOUT,
    MessageCommunicator,
)
from hedgerow.cluster._poll import POLLIN, POLLOUT, Poll
from hedgerow.exceptions import ClusterError

_FOR_ABORT = 1.0  # seconds to send the reason of an abort to a worker
_LINGER = 2.0  # seconds that a closed communicator waits for the others to read to the end
_STEP = 1 << 24  # bytes by which a buffer grows: a length alone makes nobody allocate more
_BOTH = POLLIN | POLLOUT
_EMPTY = Payload.of(b"")


class SocketListener:
    """The open port of a worker that is not connected yet.

    Parameters
    ----------
    interface : str
        The address of the interface to listen on.

    Attributes
    ----------
    address : tuple of str and int
        The host and port at which other workers reach this one.
    """

    def __init__(self, interface: str = "127.0.0.1") -> None:
        family = socket.getaddrinfo(interface, 0, type=socket.SOCK_STREAM)[0][0]
        self._socket = socket.create_server((interface, 0), family=family, backlog=MOST_WAITING)
        self.address: Address = (interface, self._socket.getsockname()[1])

    def connect(
        self,
        rank: int,
        addresses: Sequence[Address],
        token: bytes,
        *,
        start: float = START,
        timeout: float = TIMEOUT,
        silence: float = SILENCE,
    ) -> SocketCommunicator:
        """Connect to all other workers, which may begin later, and stop listening.

        Others may call the port meanwhile: they are turned away, and do not disturb.

        Parameters
        ----------
        rank : int
            The number of this worker.
        addresses : sequence of addresses
            The addresses of all workers, by rank.
        token : bytes
            A secret of this fit, at least 16 random bytes.
        start : float
            Seconds until all workers must be connected.
        timeout : float
            Seconds that one call may take.
        silence : float
            Seconds without a heartbeat after which a worker is considered lost. Workers send a
            heartbeat every second, also while they compute.

        Raises
        ------
        ClusterError
            If a worker does not answer, or does not know the token.
        """
        with self:
            if len(token) < 16:
                raise ClusterError("The token of a fit must have at least 16 bytes.")
            connections = Mesh(self._socket, rank, addresses, token, start).connect()
        return SocketCommunicator(rank, connections, timeout=timeout, silence=silence)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class SocketCommunicator(MessageCommunicator):
    """The communicator of a worker that is connected to the others by TCP.

    A call sends and receives all of its messages in the calling thread, without locks. Only
    heartbeats have a thread of their own, because a worker must also send them while it computes.
    Create it with `SocketListener.connect`, and close it after the fit or use it in a ``with``
    block.

    Attributes
    ----------
    rank, size : int
        The number of this worker, and of all workers.
    traffic : Traffic
        How much this worker has sent so far.
    """

    def __init__(
        self,
        rank: int,
        connections: Mapping[int, Connection],
        *,
        timeout: float = TIMEOUT,
        silence: float = SILENCE,
    ) -> None:
        super().__init__(rank, len(connections) + 1, timeout=timeout, silence=silence)
        # Each worker begins with the next one, so that not all send to the same.
        order = (*range(rank + 1, self.size), *range(rank))
        self._links = {peer: _Link(connections[peer]) for peer in order}
        self._alarm, self._bell = socket.socketpair()  # wakes a call that another thread ends
        self._over = Event()
        self._beating = Thread(target=self._beat, daemon=True)
        if connections:
            self._beating.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self.abort(f"worker {self.rank}: {kind.__name__}: {error}")
        self.close()

    # ---- calls -----------------------------------------------------------------------------------

    def _call(self, kind: int, parts: Sequence[bytes]) -> list[bytes]:
        self._raise_if_ended()
        number, self._number = self._number, self._number + 1
        received = {self.rank: bytes(parts[self.rank])}
        # A gather sends all workers the same.
        contents = {id(parts[peer]): parts[peer] for peer in self._links}
        payloads = {key: Payload.of(content) for key, content in contents.items()}
        try:
            for peer, link in self._links.items():
                link.begin(kind, number, payloads[id(parts[peer])])
                self.traffic.bytes_sent += len(parts[peer])
            trouble = self._converse(kind, number, received)
        finally:
            for link in self._links.values():
                link.end()
        if trouble:
            self._fail(trouble)
        self._raise_if_ended()
        return [received[rank] for rank in range(self.size)]

    def _converse(self, kind: int, number: int, received: dict[int, bytes]) -> str | None:
        """Send and receive what belongs to a call; return what has gone wrong, if anything."""
        deadline = (began := monotonic()) + self._timeout
        poll = Poll()
        poll.register(self._alarm, POLLIN)
        waiting = {}
        for peer, link in self._links.items():
            link.last_sign = began
            link.send()
            waiting[link.socket.fileno()] = peer
            poll.register(link.socket, _BOTH if link.is_sending else POLLIN)
        while waiting and self._reason is None:
            for descriptor, _ in poll.poll(self._milliseconds(deadline)):
                peer = waiting.get(descriptor)
                if peer is None:  # the alarm
                    continue
                try:
                    events = self._advance(peer, kind, number, received)
                except BadMessageError as error:
                    return f"worker {peer} {error}"
                except (OSError, MemoryError) as error:
                    return f"worker {peer} has disconnected: {error}"
                if events:
                    poll.modify(descriptor, events)
                else:
                    poll.unregister(descriptor)
                    del waiting[descriptor]
            trouble = self._trouble(waiting.values(), deadline)
            if trouble:
                return trouble
        return None

    def _milliseconds(self, deadline: float) -> float:
        """Return how long to wait until it is time to look who is alive."""
        seconds = min(BETWEEN_HEARTBEATS, self._silence, max(0.0, deadline - monotonic()))
        return 1000 * seconds + 1

    def _advance(self, peer: int, kind: int, number: int, received: dict[int, bytes]) -> int:
        """Send to a worker and read from it what is possible; return what is to be waited for."""
        link = self._links[peer]
        if link.is_sending:
            link.send()
        if peer not in received:
            self._receive(peer, kind, number, received)
        to_read = 0 if peer in received else POLLIN
        return to_read | (POLLOUT if link.is_sending else 0)

    def _receive(self, peer: int, kind: int, number: int, received: dict[int, bytes]) -> None:
        """Read messages of a worker until that of the current call, as far as they have arrived."""
        while (message := self._links[peer].receive()) is not None:
            other, its_number, payload = message
            if other == ABORT:
                self._end(payload.decode(errors="replace"))
                return
            if other == GOODBYE:
                raise ConnectionError("it has already finished")
            if other == HEARTBEAT:
                continue
            if its_number != number:
                raise BadMessageError(f"sent message {its_number} out of order")
            if other != kind:
                raise BadMessageError(f"made a different call from worker {self.rank}")
            received[peer] = payload
            return

    def _trouble(self, waiting: Iterable[int], deadline: float) -> str | None:
        """Return why some workers need not be waited for, if so."""
        now = monotonic()
        for peer in waiting:
            if now - self._links[peer].last_sign > self._silence:
                return f"worker {peer} has not responded for {self._silence:g} s"
            if now > deadline:
                return f"worker {peer} did not take part in a call within {self._timeout:g} s"
        return None

    # ---- signs of life, and the end --------------------------------------------------------------

    def _beat(self) -> None:
        """Send a heartbeat every second."""
        while not self._over.wait(BETWEEN_HEARTBEATS):
            for link in self._links.values():
                link.beat()

    def _end(self, reason: str) -> bool:
        is_first = super()._end(reason)
        with suppress(OSError):
            self._bell.send(b"!")
        return is_first

    def _send_abort(self, rank: int, reason: bytes) -> None:
        self._links[rank].send_last(ABORT, reason, _FOR_ABORT)

    def _disconnect(self) -> None:
        for link in self._links.values():
            with suppress(OSError):
                link.send_last(GOODBYE, b"", _FOR_ABORT)
                link.socket.shutdown(socket.SHUT_WR)
        # A socket that is closed with unread data discards what the other end has not read yet.
        deadline = monotonic() + _LINGER
        for link in self._links.values():
            link.read_to_the_end(deadline)
        self._over.set()
        if self._links:
            self._beating.join()
        for connection in (
            self._alarm,
            self._bell,
            *(link.socket for link in self._links.values()),
        ):
            connection.close()


class _Link:
    """The connection to one worker: what remains to be sent, and what has been read so far.

    Attributes
    ----------
    last_sign : float
        When anything was read.
    """

    def __init__(self, connection: Connection) -> None:
        self.socket, self._outgoing, self._incoming = connection
        self.last_sign = monotonic()
        self.socket.setblocking(False)
        self._sending = Lock()  # held while a message is on its way, or a heartbeat
        self._is_begun = False
        self._parts: list[memoryview] = []
        self._is_partial = False  # whether a part of them has been sent
        self._buffer = bytearray(HEADER)
        self._header: Header | None = None  # None while it is read
        self._n_read = 0

    @property
    def is_sending(self) -> bool:
        """Whether a part of a message is still to be sent."""
        return bool(self._parts)

    def begin(self, kind: int, number: int, payload: Payload) -> None:
        """Take a message to be sent."""
        self._sending.acquire()
        self._take(kind, number, payload)

    def _take(self, kind: int, number: int, payload: Payload) -> None:
        header = self._outgoing.seal(kind, number, payload)
        # What remains of a heartbeat goes first.
        self._parts += [memoryview(header), memoryview(payload.content).cast("B")]
        self._is_begun = True

    def send(self) -> None:
        """Send as much as the connection takes now."""
        while self._parts:
            try:
                sent = self._send_some()
            except BlockingIOError:
                return
            except OSError:
                self._parts, self._is_partial = [], True  # what it has sent may say why it has left
                return
            self._is_partial = True
            while self._parts and sent >= len(self._parts[0]):
                sent -= len(self._parts.pop(0))
            if sent:
                self._parts[0] = self._parts[0][sent:]
        self._is_partial = False

    def _send_some(self) -> int:
        if hasattr(self.socket, "sendmsg"):
            return self.socket.sendmsg(self._parts)
        return self.socket.send(self._parts[0])  # on Windows, one part at a time

    def end(self) -> None:
        """End the sending of a message; one that is not complete breaks the connection."""
        if not self._is_begun:
            return
        if self._is_partial:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
        elif self._parts:
            self._outgoing.take_back()
        self._parts, self._is_partial, self._is_begun = [], False, False
        self._sending.release()

    def beat(self) -> None:
        """Send a heartbeat, unless something else is being sent."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            if not self._parts:
                self._parts = [memoryview(self._outgoing.seal(HEARTBEAT, 0, _EMPTY))]
            self.send()
            if self._parts and not self._is_partial:
                self._outgoing.take_back()
                self._parts = []
        finally:
            self._sending.release()

    def send_last(self, kind: int, content: bytes, seconds: float) -> None:
        """Send a short message after which there is no other; give up after some seconds."""
        if not self._sending.acquire(timeout=seconds):
            return  # a call that does not end: the connection will be closed
        try:
            deadline = monotonic() + seconds
            self._take(kind, 0, Payload.of(content))
            self.send()
            while self._parts and monotonic() < deadline:
                self._sleep(POLLOUT, deadline)
                self.send()
        finally:
            self.end()

    def receive(self) -> tuple[int, int, bytes] | None:
        """Return the next message (kind, number, payload), or None if it has not arrived yet."""
        while True:
            while self._n_read < len(self._buffer):
                if not self._read_into(self._buffer):
                    return None
            if self._header is None:
                self._header = self._incoming.open(self._buffer)
                self._buffer, self._n_read = bytearray(min(self._header.length, _STEP)), 0
            header, missing = self._header, self._header.length - len(self._buffer)
            if self._n_read == header.length:
                check_payload(self._buffer, header)
                content = bytes(self._buffer)
                self._header, self._buffer, self._n_read = None, bytearray(HEADER), 0
                return header.kind, header.number, content
            if self._n_read == len(self._buffer):
                self._buffer.extend(bytes(min(missing, _STEP)))

    def _read_into(self, buffer: bytearray) -> bool:
        """Read what has arrived; return whether that is anything."""
        try:
            count = self.socket.recv_into(memoryview(buffer)[self._n_read :])
        except BlockingIOError:
            return False
        if count == 0:
            raise ConnectionError("the connection was closed")
        self._n_read += count
        self.last_sign = monotonic()
        return True

    def read_to_the_end(self, deadline: float) -> None:
        """Discard what the worker still sends, until it says goodbye."""
        with suppress(OSError, MemoryError, BadMessageError):
            while monotonic() < deadline:
                message = self.receive()
                if message is None:
                    self._sleep(POLLIN, deadline)
                elif message[0] == GOODBYE:
                    return

    def _sleep(self, event: int, deadline: float) -> None:
        poll = Poll()
        poll.register(self.socket, event)
        poll.poll(1000 * max(0.0, deadline - monotonic()) + 1)
