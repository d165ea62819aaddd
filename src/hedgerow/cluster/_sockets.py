"""Workers that are connected to each other by TCP.

Every worker listens on a port that the system chooses and learns the addresses of the others by
whatever started it. Both ends of a connection prove that they know the token of the fit before
anything else is read. Messages are authenticated by that alone and are not encrypted: outside a
trusted network, use a transport that is.
"""

from __future__ import annotations

import hmac
import secrets
import select
import socket
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Self

from hedgerow.cluster._messages import (
    ABORT,
    BETWEEN_HEARTBEATS,
    GOODBYE,
    HEARTBEAT,
    SILENCE,
    TIMEOUT,
    MessageCommunicator,
)
from hedgerow.exceptions import ClusterError

Address = tuple[str, int]

CONNECTING = 5.0  # seconds until all connections of a worker must exist
MOST_BYTES = 1 << 36  # of a message; histograms of a million columns take 2^32
MOST_PENDING = 64  # connections that have not proved yet who they are
_FOR_ABORT = 1.0  # seconds to send the reason of an abort to a worker
_LINGER = 2.0  # seconds that a closed communicator waits for the others to read to the end
_STEP = 1 << 24  # bytes by which a buffer grows: a length alone makes nobody allocate more
_HEADER = struct.Struct("<BQQ")  # kind, number of the call, bytes that follow
_GREETING = struct.Struct("<8sI32s")  # magic, rank, nonce
_MAGIC = b"hedgerow"
_BOTH = select.POLLIN | select.POLLOUT
_NONCE = _PROOF = 32  # bytes


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
        self._socket = socket.create_server((interface, 0), family=family, backlog=MOST_PENDING)
        self.address: Address = (interface, self._socket.getsockname()[1])

    def connect(
        self,
        rank: int,
        addresses: Sequence[Address],
        token: bytes,
        *,
        timeout: float = TIMEOUT,
        silence: float = SILENCE,
    ) -> SocketCommunicator:
        """Connect to all other workers, within five seconds, and stop listening.

        Parameters
        ----------
        rank : int
            The number of this worker.
        addresses : sequence of addresses
            The addresses of all workers, by rank.
        token : bytes
            A secret of this fit, at least 16 bytes.
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
            sockets = _Mesh(self._socket, rank, addresses, token).connect()
        return SocketCommunicator(rank, sockets, timeout=timeout, silence=silence)

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
        sockets: dict[int, socket.socket],
        *,
        timeout: float = TIMEOUT,
        silence: float = SILENCE,
    ) -> None:
        super().__init__(rank, len(sockets) + 1, timeout=timeout, silence=silence)
        # Each worker begins with the next one, so that not all send to the same.
        order = (*range(rank + 1, self.size), *range(rank))
        self._links = {peer: _Link(sockets[peer]) for peer in order}
        self._alarm, self._bell = socket.socketpair()  # wakes a call that another thread ends
        self._over = Event()
        self._beating = Thread(target=self._beat, daemon=True)
        if sockets:
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
        try:
            for peer, link in self._links.items():
                link.begin(kind, number, parts[peer])
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
        poll = select.poll()
        poll.register(self._alarm, select.POLLIN)
        waiting = {}
        for peer, link in self._links.items():
            link.last_sign = began
            link.send()
            waiting[link.socket.fileno()] = peer
            poll.register(link.socket, _BOTH if link.is_sending else select.POLLIN)
        while waiting and self._reason is None:
            for descriptor, _ in poll.poll(self._milliseconds(deadline)):
                peer = waiting.get(descriptor)
                if peer is None:  # the alarm
                    continue
                try:
                    events = self._advance(peer, kind, number, received)
                except _BadMessageError as error:
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
        to_read = 0 if peer in received else select.POLLIN
        return to_read | (select.POLLOUT if link.is_sending else 0)

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
                raise _BadMessageError(f"sent message {its_number} out of order")
            if other != kind:
                raise _BadMessageError(f"made a different call from worker {self.rank}")
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


class _BadMessageError(Exception):
    """A message that does not belong to the current call; the text goes on from "worker 3 …"."""


class _Link:
    """The connection to one worker: what remains to be sent, and what has been read so far.

    Attributes
    ----------
    last_sign : float
        When anything was read.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.last_sign = monotonic()
        connection.setblocking(False)
        self._sending = Lock()  # held while a message is on its way, or a heartbeat
        self._is_begun = False
        self._parts: list[memoryview] = []
        self._is_partial = False  # whether a part of the message has been sent
        self._header = bytearray(_HEADER.size)
        self._payload: bytearray | None = None  # None while the header is read
        self._n_read = 0

    @property
    def is_sending(self) -> bool:
        """Whether a part of a message is still to be sent."""
        return bool(self._parts)

    def begin(self, kind: int, number: int, payload: bytes) -> None:
        """Take a message to be sent."""
        self._sending.acquire()
        self._take(kind, number, payload)

    def _take(self, kind: int, number: int, payload: bytes) -> None:
        header = _HEADER.pack(kind, number, len(payload))
        self._parts, self._is_begun = [memoryview(header), memoryview(payload).cast("B")], True

    def send(self) -> None:
        """Send as much as the connection takes now."""
        while self._parts:
            try:
                sent = self.socket.sendmsg(self._parts)
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

    def end(self) -> None:
        """End the sending of a message; one that is not complete breaks the connection."""
        if not self._is_begun:
            return
        if self._is_partial:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
        self._parts, self._is_partial, self._is_begun = [], False, False
        self._sending.release()

    def beat(self) -> None:
        """Send a heartbeat, unless something else is being sent."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            self.socket.send(_HEADER.pack(HEARTBEAT, 0, 0))
        except OSError:
            pass  # the next call notices that the connection is closed
        finally:
            self._sending.release()

    def send_last(self, kind: int, payload: bytes, seconds: float) -> None:
        """Send a short message after which there is no other; give up after some seconds."""
        if not self._sending.acquire(timeout=seconds):
            return  # a call that does not end: the connection will be closed
        try:
            deadline = monotonic() + seconds
            self._take(kind, 0, payload)
            self.send()
            while self._parts and monotonic() < deadline:
                self._sleep(select.POLLOUT, deadline)
                self.send()
        finally:
            self.end()

    def receive(self) -> tuple[int, int, bytes] | None:
        """Return the next message (kind, number, payload), or None if it has not arrived yet."""
        while True:
            buffer = self._header if self._payload is None else self._payload
            while self._n_read < len(buffer):
                if not self._read_into(buffer):
                    return None
            kind, number, length = _HEADER.unpack(self._header)
            if length > MOST_BYTES:
                raise _BadMessageError(f"sent an invalid message, of {length} bytes")
            if self._payload is None:
                self._payload, self._n_read = bytearray(min(length, _STEP)), 0
            elif len(self._payload) < length:
                self._payload.extend(bytes(min(length - len(self._payload), _STEP)))
            if self._n_read == length:
                payload, self._payload, self._n_read = bytes(self._payload), None, 0
                return kind, number, payload

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
        with suppress(OSError, MemoryError, _BadMessageError):
            while monotonic() < deadline:
                message = self.receive()
                if message is None:
                    self._sleep(select.POLLIN, deadline)
                elif message[0] == GOODBYE:
                    return

    def _sleep(self, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self.socket, event)
        poll.poll(1000 * max(0.0, deadline - monotonic()) + 1)


class _Mesh:
    """Connects a worker to all others: it calls those of lower rank, those of higher rank call."""

    def __init__(
        self, listener: socket.socket, rank: int, addresses: Sequence[Address], token: bytes
    ) -> None:
        self.listener, self.rank, self.addresses, self.token = listener, rank, addresses, token
        self.deadline = monotonic() + CONNECTING
        self.sockets: dict[int, socket.socket] = {}
        self.callers: Queue[tuple[int, socket.socket]] = Queue()
        self.n_pending = 0
        self.lock = Lock()

    def connect(self) -> dict[int, socket.socket]:
        """Return the sockets by rank."""
        alarm, bell = socket.socketpair()  # wakes the thread when everybody is there
        accepting = Thread(target=self._accept, args=(alarm,), daemon=True)
        accepting.start()
        try:
            for peer in range(self.rank):
                self.sockets[peer] = self._call(peer)
            while len(self.sockets) < len(self.addresses) - 1:
                self._take_caller()
        except BaseException:
            for connection in self.sockets.values():
                connection.close()
            raise
        finally:
            self.deadline = 0.0
            bell.close()
            accepting.join()
            alarm.close()
            self._refuse_the_rest()
        for connection in self.sockets.values():  # a message is sent at once, however short
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.sockets

    def _seconds_left(self) -> float:
        return max(0.001, self.deadline - monotonic())

    # ---- calls to workers of lower rank ----------------------------------------------------------

    def _call(self, peer: int) -> socket.socket:
        why: object = "it timed out"
        while monotonic() < self.deadline:
            try:
                return self._greet(peer)
            except ConnectionRefusedError as error:
                why = error
                Event().wait(0.05)
            except OSError as error:
                why = error
                break
        raise ClusterError(f"Worker {self.rank} cannot connect to worker {peer}: {why}.")

    def _greet(self, peer: int) -> socket.socket:
        connection = socket.create_connection(self.addresses[peer], self._seconds_left())
        try:
            nonce = secrets.token_bytes(_NONCE)
            connection.sendall(_GREETING.pack(_MAGIC, self.rank, nonce))
            answer = self._read(connection, _NONCE + _PROOF)
            nonces = nonce + answer[:_NONCE]
            proof = self._proof(b"listener", self.rank, peer, nonces)
            if not hmac.compare_digest(proof, answer[_NONCE:]):
                raise ConnectionError("it does not know the token of this fit")
            connection.sendall(self._proof(b"caller", self.rank, peer, nonces))
            if self._read(connection, len(_MAGIC)) != _MAGIC:
                raise ConnectionError("it is not a worker of this fit")
        except BaseException:
            connection.close()
            raise
        return connection

    def _proof(self, role: bytes, caller: int, listener: int, nonces: bytes) -> bytes:
        """Return what only a worker with the token can compute, for this connection alone."""
        ends = struct.pack("<III", caller, listener, len(self.addresses))
        return hmac.digest(self.token, role + ends + nonces, "sha256")

    # ---- calls of workers of higher rank ---------------------------------------------------------

    def _accept(self, alarm: socket.socket) -> None:
        """Let everybody who calls prove who it is, each in a thread: nobody can hold up others."""
        self.listener.setblocking(False)
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        poll.register(alarm, select.POLLIN)
        while monotonic() < self.deadline and self.listener.fileno() >= 0:
            poll.poll(1000 * self._seconds_left())
            try:
                connection, _ = self.listener.accept()
            except OSError:  # the alarm, or one that has changed its mind
                continue
            with self.lock:
                is_crowded = self.n_pending >= MOST_PENDING
                self.n_pending += not is_crowded
            if is_crowded:
                connection.close()
            else:
                Thread(target=self._examine, args=(connection,), daemon=True).start()

    def _examine(self, connection: socket.socket) -> None:
        try:
            magic, caller, nonce = _GREETING.unpack(self._read(connection, _GREETING.size))
            if magic != _MAGIC or not self.rank < caller < len(self.addresses):
                raise ConnectionError("not a worker of this fit")
            nonces = nonce + secrets.token_bytes(_NONCE)
            proof = self._proof(b"listener", caller, self.rank, nonces)
            connection.sendall(nonces[_NONCE:] + proof)
            answer = self._read(connection, _PROOF)
            if not hmac.compare_digest(self._proof(b"caller", caller, self.rank, nonces), answer):
                raise ConnectionError("wrong token")
            connection.sendall(_MAGIC)
        except OSError:
            connection.close()
        else:
            self.callers.put((caller, connection))
        finally:
            with self.lock:
                self.n_pending -= 1

    def _read(self, connection: socket.socket, length: int) -> bytes:
        """Read exactly so many bytes before the deadline."""
        data = b""
        while len(data) < length:
            connection.settimeout(self._seconds_left())
            part = connection.recv(length - len(data))
            if not part:
                raise ConnectionError("the connection was closed: the token or the fit differs")
            data += part
        return data

    def _take_caller(self) -> None:
        missing = [r for r in range(self.rank + 1, len(self.addresses)) if r not in self.sockets]
        try:
            caller, connection = self.callers.get(timeout=self._seconds_left())
        except Empty:
            raise ClusterError(
                f"Worker {missing[0]} did not connect to worker {self.rank} within "
                f"{CONNECTING:g} s."
            ) from None
        if caller in self.sockets:
            connection.close()
        else:
            self.sockets[caller] = connection

    def _refuse_the_rest(self) -> None:
        with suppress(Empty):
            while True:
                self.callers.get_nowait()[1].close()
