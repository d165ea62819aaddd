"""Workers that are connected to each other by TCP.

Every worker listens on a port that the system chooses and learns the addresses of the others by
whatever started it. Both ends of a connection prove that they know the token of the fit before
anything else is read. Messages are authenticated by that alone and are not encrypted: outside a
trusted network, use a transport that is.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, Queue
from select import select
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
        Where the other workers reach this one.
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
        """Connect to all other workers, within five seconds, and stop to listen.

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
            Seconds after which a worker without a sign of life has left. Workers send one every
            second, also while they compute.

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
        """Stop to listen."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class SocketCommunicator(MessageCommunicator):
    """The communicator of a worker that is connected to the others by TCP.

    `SocketListener.connect` makes it; close it after the fit, or use it in a ``with`` block.

    Attributes
    ----------
    rank, size : int
        The number of this worker, and of all workers.
    traffic : Traffic
        What this worker has sent so far.
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
        self._sockets = sockets
        self._locks = {peer: Lock() for peer in sockets}
        self._over = Event()
        self._threads = [Thread(target=self._beat, daemon=True)] if sockets else []
        self._threads += [
            Thread(target=self._read, args=(peer,), daemon=True) for peer in self._sockets
        ]
        for connection in sockets.values():
            connection.settimeout(BETWEEN_HEARTBEATS)
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self.abort(f"worker {self.rank}: {kind.__name__}: {error}")
        self.close()

    def _send(self, rank: int, kind: int, number: int, payload: bytes) -> None:
        header = _HEADER.pack(kind, number, len(payload))
        # An abort must not wait for a worker that does not read; a broken connection tells as much.
        seconds = _FOR_ABORT if kind == ABORT else self._timeout
        if not self._locks[rank].acquire(timeout=seconds):
            self._sockets[rank].close()
            raise TimeoutError("an earlier message has not been read")
        try:
            deadline = monotonic() + seconds
            self._send_all(rank, [memoryview(header), memoryview(payload).cast("B")], deadline)
        finally:
            self._locks[rank].release()

    def _send_all(self, rank: int, parts: list[memoryview], deadline: float) -> None:
        while parts:
            try:
                sent = self._sockets[rank].sendmsg(parts)
            except TimeoutError:
                self._require_life(rank, deadline)
                continue
            while parts and sent >= len(parts[0]):
                sent -= len(parts.pop(0))
            if sent:
                parts[0] = parts[0][sent:]

    def _require_life(self, rank: int, deadline: float) -> None:
        """Raise if a worker that does not read what is sent to it has left."""
        now = monotonic()
        if self._over.is_set() or now > min(deadline, self._last_sign[rank] + self._silence):
            raise TimeoutError("it does not read what is sent to it")

    def _beat(self) -> None:
        """Give a sign of life every second."""
        beat = _HEADER.pack(HEARTBEAT, 0, 0)
        while not self._over.wait(BETWEEN_HEARTBEATS):
            for peer, connection in self._sockets.items():
                if not self._locks[peer].acquire(blocking=False):
                    continue  # a message is on its way
                try:
                    if select([], [connection], [], 0)[1]:
                        connection.sendall(beat)
                except (OSError, ValueError):
                    pass  # the reader notices that the connection is closed
                finally:
                    self._locks[peer].release()

    def _read(self, peer: int) -> None:
        """Deliver the messages of a worker until it leaves."""
        try:
            while True:
                kind, number, length = _HEADER.unpack(self._bytes(peer, _HEADER.size))
                if length > MOST_BYTES:
                    raise ConnectionError(f"a message of {length} bytes was announced")
                self._deliver(peer, kind, number, self._bytes(peer, length))
                if kind == GOODBYE:
                    return
        except (OSError, MemoryError) as error:
            self._lose(peer, str(error))

    def _bytes(self, peer: int, length: int) -> bytes:
        """Read a number of bytes."""
        data = bytearray(min(length, _STEP))
        n_read = 0
        while n_read < length:
            if n_read == len(data):
                data.extend(bytes(min(length - n_read, _STEP)))
            try:
                count = self._sockets[peer].recv_into(memoryview(data)[n_read:])
            except TimeoutError:
                if self._over.is_set():
                    raise
                continue
            if count == 0:
                raise ConnectionError("the connection was closed")
            self._notice(peer)
            n_read += count
        return bytes(data)

    def _disconnect(self) -> None:
        for peer, connection in self._sockets.items():
            with suppress(OSError, ClusterError):
                self._send(peer, GOODBYE, 0, b"")
                connection.shutdown(socket.SHUT_WR)
        # A socket that is closed with unread data discards what the other end has not read yet: the
        # readers go on until the others say goodbye.
        deadline = monotonic() + _LINGER
        for thread in self._threads[1:]:
            thread.join(max(0.0, deadline - monotonic()))
        self._over.set()
        for connection in self._sockets.values():
            connection.close()
        for thread in self._threads:
            thread.join(2 * BETWEEN_HEARTBEATS)


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
        accepting = Thread(target=self._accept, daemon=True)
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
            accepting.join()
            self._refuse_the_rest()
        for connection in self.sockets.values():  # a message is sent at once, however short
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.sockets

    def _seconds_left(self) -> float:
        return max(0.001, self.deadline - monotonic())

    # ---- calls to workers of lower rank ----------------------------------------------------------

    def _call(self, peer: int) -> socket.socket:
        why: object = "the time was over"
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

    def _accept(self) -> None:
        """Let everybody who calls prove who it is, each in a thread: nobody can hold up others."""
        while monotonic() < self.deadline:
            self.listener.settimeout(min(0.1, self._seconds_left()))
            try:
                connection, _ = self.listener.accept()
            except OSError:
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
                raise ConnectionError("the connection was closed: another token, or another fit")
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
