"""How workers find each other: connections of which both ends know the token of the fit.

A worker calls those of lower rank, and those of higher rank call it. Both ends send a random number
and prove, for these two numbers, that they know the token; the keys of the connection follow from
the same. Whoever else calls is heard by one thread, without an answer that says anything, and only
for a while: when many call, those who stay silent have to go first. A worker that is turned away
calls again, unless whoever it has reached does not know the token.
"""

from __future__ import annotations

import errno
import hmac
import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

from hedgerow.cluster._frames import Direction
from hedgerow.cluster._poll import POLLIN, Poll, SelectPoll
from hedgerow.exceptions import ClusterError

Address = tuple[str, int]

PROVING = 2.0  # seconds that a caller has to prove who it is
MOST_PENDING = 256  # callers that have not proved who they are
MOST_WAITING = 1024  # connections that the system keeps until they are accepted
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5  # seconds until a worker calls again
# The system can accept nobody, but the listener stays ready: asking again at once would spin.
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_GREETING = struct.Struct("<8sI32s")  # magic, rank, nonce
_MAGIC = b"hedgero2"  # the protocol; frames of the first one proved nothing
_NONCE = _PROOF = 32  # bytes


class Connection(NamedTuple):
    """A connection to another worker, and the frames of both directions."""

    socket: socket.socket
    outgoing: Direction
    incoming: Direction


class _WrongTokenError(ConnectionError):
    """The other end does not know the token."""


class _Proofs:
    """What only workers with the token can compute, for one connection."""

    def __init__(self, token: bytes, ends: tuple[int, int, int], nonces: bytes) -> None:
        self._token, self._text = token, struct.pack("<III", *ends) + nonces

    def of(self, role: bytes) -> bytes:
        """Return a proof or a key, another for each role."""
        return hmac.digest(self._token, role + self._text, "sha256")

    def directions(self) -> tuple[Direction, Direction]:
        """Return the frames of the caller, and those of the listener."""
        return Direction(self.of(b"frames of caller")), Direction(self.of(b"frames of listener"))


class _Caller:
    """Somebody who has called, and not proved yet to be a worker of higher rank."""

    def __init__(self, connection: socket.socket, mesh: Mesh) -> None:
        self.socket, self._mesh, self.since = connection, mesh, monotonic()
        self.rank: int | None = None  # as it says in its greeting
        self._received = b""
        connection.setblocking(False)

    def advance(self) -> Connection | None:
        """Read what has arrived; return the connection once the proof is complete."""
        length = _GREETING.size if self.rank is None else _PROOF
        part = self.socket.recv(length - len(self._received))
        if not part:
            raise ConnectionError("the connection was closed")
        self._received += part
        if len(self._received) < length:
            return None
        received, self._received = self._received, b""
        if self.rank is None:
            self._answer(*_GREETING.unpack(received))
            return None
        if not hmac.compare_digest(self._proofs.of(b"caller"), received):
            raise _WrongTokenError("wrong token")
        self.socket.send(_MAGIC)
        incoming, outgoing = self._proofs.directions()
        return Connection(self.socket, outgoing, incoming)

    def _answer(self, magic: bytes, rank: int, nonce: bytes) -> None:
        """Prove to somebody who says which worker it is that this is the one it has called."""
        if magic != _MAGIC or not self._mesh.rank < rank < self._mesh.size:
            raise ConnectionError("not a worker of this fit")
        own = secrets.token_bytes(_NONCE)
        self._proofs = self._mesh.proofs(rank, self._mesh.rank, nonce + own)
        self.rank = rank
        self.socket.send(own + self._proofs.of(b"listener"))


class Mesh:
    """Connects a worker to all others.

    Attributes
    ----------
    rank, size : int
        The number of this worker, and of all workers.
    """

    def __init__(
        self,
        listener: socket.socket,
        rank: int,
        addresses: Sequence[Address],
        token: bytes,
        seconds: float,
    ) -> None:
        self.rank, self.size = rank, len(addresses)
        self._listener, self._addresses, self._token = listener, addresses, token
        self._seconds, self._deadline = seconds, monotonic() + seconds
        self._connections: dict[int, Connection] = {}
        self._proved: Queue[tuple[int, Connection]] = Queue()
        self._n_wrong = 0  # callers with another token

    def connect(self) -> dict[int, Connection]:
        """Return the connections by rank."""
        alarm, bell = socket.socketpair()  # wakes the thread when everybody is there
        hearing = Thread(target=self._hear, args=(alarm,), daemon=True)
        hearing.start()
        try:
            for peer in range(self.rank):
                self._connections[peer] = self._call(peer)
            while len(self._connections) < self.size - 1:
                self._take_caller()
        except BaseException:
            for connection in self._connections.values():
                connection.socket.close()
            raise
        finally:
            self._deadline = 0.0
            bell.close()
            hearing.join()
            alarm.close()
            with suppress(Empty):
                while True:
                    self._proved.get_nowait()[1].socket.close()
        for connection in self._connections.values():  # a message is sent at once, however short
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connections

    def proofs(self, caller: int, listener: int, nonces: bytes) -> _Proofs:
        """Return the proofs of a connection between two workers of this fit."""
        return _Proofs(self._token, (caller, listener, self.size), nonces)

    def _seconds_left(self) -> float:
        return max(0.001, self._deadline - monotonic())

    # ---- calls to workers of lower rank ----------------------------------------------------------

    def _call(self, peer: int) -> Connection:
        why: OSError = TimeoutError("it timed out")
        pause = _SHORTEST_PAUSE
        while monotonic() < self._deadline:
            try:
                return self._greet(peer)
            except _WrongTokenError as error:
                why = error
                break
            except OSError as error:
                why = error
            Event().wait(min(pause, self._seconds_left()))
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise ClusterError(f"Worker {self.rank} cannot connect to worker {peer}: {why}.")

    def _greet(self, peer: int) -> Connection:
        connection = socket.create_connection(self._addresses[peer], self._seconds_left())
        try:
            nonce = secrets.token_bytes(_NONCE)
            connection.sendall(_GREETING.pack(_MAGIC, self.rank, nonce))
            answer = self._read(connection, _NONCE + _PROOF)
            proofs = self.proofs(self.rank, peer, nonce + answer[:_NONCE])
            if not hmac.compare_digest(proofs.of(b"listener"), answer[_NONCE:]):
                raise _WrongTokenError("it does not know the token of this fit")
            connection.sendall(proofs.of(b"caller"))
            if self._read(connection, len(_MAGIC)) != _MAGIC:
                raise ConnectionError("it is not a worker of this fit")
        except BaseException:
            connection.close()
            raise
        return Connection(connection, *proofs.directions())

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

    # ---- calls of workers of higher rank ---------------------------------------------------------

    def _hear(self, alarm: socket.socket) -> None:
        """Let everybody who calls prove who it is, side by side: nobody can hold up others."""
        callers: dict[int, _Caller] = {}  # by descriptor, in the order of their calls
        self._listener.setblocking(False)
        poll = Poll()
        for source in (self._listener, alarm):
            poll.register(source, POLLIN)
        while monotonic() < self._deadline and self._listener.fileno() >= 0:
            for descriptor, _ in poll.poll(1000 * min(PROVING, self._seconds_left())):
                if descriptor == self._listener.fileno():
                    self._accept(callers, poll)
                elif descriptor in callers and self._is_done(callers[descriptor]):
                    poll.unregister(descriptor)
                    del callers[descriptor]
            for descriptor in self._late(callers):
                poll.unregister(descriptor)
                callers.pop(descriptor).socket.close()
        for caller in callers.values():
            caller.socket.close()

    def _accept(self, callers: dict[int, _Caller], poll: SelectPoll) -> None:
        try:
            caller = _Caller(self._listener.accept()[0], self)
        except OSError as error:  # one that has changed its mind, or too many open files
            if error.errno in _EXHAUSTED:
                Event().wait(_SHORTEST_PAUSE)
            return
        callers[caller.socket.fileno()] = caller
        poll.register(caller.socket, POLLIN)

    def _is_done(self, caller: _Caller) -> bool:
        """Read from a caller; return whether it has proved who it is, or has failed to."""
        try:
            connection = caller.advance()
        except BlockingIOError:
            return False
        except OSError as error:
            self._n_wrong += isinstance(error, _WrongTokenError)
            caller.socket.close()
            return True
        if connection is None:
            return False
        assert caller.rank is not None
        self._proved.put((caller.rank, connection))
        return True

    def _late(self, callers: dict[int, _Caller]) -> list[int]:
        """Return those who have taken too long and, if there are too many, one more."""
        now = monotonic()
        late = [fd for fd, caller in callers.items() if now - caller.since > PROVING]
        if not late and len(callers) > MOST_PENDING:
            silent = (fd for fd, caller in callers.items() if caller.rank is None)
            late = [next(silent, next(iter(callers)))]
        return late

    def _take_caller(self) -> None:
        try:
            rank, connection = self._proved.get(timeout=self._seconds_left())
        except Empty:
            missing = next(r for r in range(self.rank + 1, self.size) if r not in self._connections)
            why = " Somebody called who does not know the token of this fit." * bool(self._n_wrong)
            raise ClusterError(
                f"Worker {missing} did not connect to worker {self.rank} within "
                f"{self._seconds:g} s.{why}"
            ) from None
        if rank in self._connections:  # its first call did not reach its end
            self._connections[rank].socket.close()
        self._connections[rank] = connection
