"""What communicators over a network share: calls made of messages, deadlines, signs of life.

Whatever goes wrong ends the fit on every worker: the first that notices tells all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from threading import Condition
from time import monotonic

from hedgerow._phases import phase
from hedgerow.cluster._threads import Traffic
from hedgerow.exceptions import ClusterError

# Kinds of messages.
HEARTBEAT, EXCHANGE, GATHER, ABORT, GOODBYE = range(5)

START = 300.0  # seconds until all workers must be there; other tasks may delay them
TIMEOUT = 3600.0  # seconds that one call may take, while all workers give signs of life
SILENCE = 30.0  # seconds without a heartbeat; sorting strings may keep the interpreter as long
BETWEEN_HEARTBEATS = 1.0  # seconds
LONGEST_REASON = 4000  # characters of the reason of an abort


class MessageCommunicator(ABC):
    """A communicator whose calls are made of messages.

    Attributes
    ----------
    rank, size : int
        The number of this worker, and of all workers.
    traffic : Traffic
        How much this worker has sent so far.
    """

    def __init__(self, rank: int, size: int, *, timeout: float, silence: float) -> None:
        self.rank, self.size = rank, size
        self.traffic = Traffic()
        self._timeout, self._silence = timeout, silence
        self._changed = Condition()
        self._number = 0  # of the current call, or of the next if there is none
        self._reason: str | None = None
        self._is_closed = False

    # ---- calls -----------------------------------------------------------------------------------

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[j]`` to worker j; return what each worker has sent to this worker."""
        self.traffic.exchanges += 1
        with phase("exchange"):
            return self._call(EXCHANGE, parts)

    def gather(self, part: bytes) -> list[bytes]:
        """Return what each worker has passed, in the order of their ranks."""
        self.traffic.gathers += 1
        with phase("gather"):
            return self._call(GATHER, [part] * self.size)

    @abstractmethod
    def _call(self, kind: int, parts: Sequence[bytes]) -> list[bytes]:
        """Send each worker its part; return what each has sent in the same call."""

    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    # ---- the end ---------------------------------------------------------------------------------

    def abort(self, reason: str) -> None:
        """Make all pending and future calls fail, on all workers."""
        if self._end(reason):
            for rank in self._others():
                with suppress(OSError, ClusterError):
                    self._send_abort(rank, reason[:LONGEST_REASON].encode())

    def close(self) -> None:
        """Close the connections, after the last call."""
        if not self._is_closed:
            self._is_closed = True
            self._end("the communicator is closed")
            self._disconnect()

    @property
    def reason(self) -> str | None:
        """Why the workers cannot continue, or None."""
        return self._reason

    def _end(self, reason: str) -> bool:
        """Note why calls fail from now on; return whether this is the first reason."""
        with self._changed:
            is_first = self._reason is None
            if is_first:
                self._reason = reason.rstrip(".")
            self._changed.notify_all()
        return is_first

    def _raise_if_ended(self) -> None:
        if self._reason is not None:
            raise ClusterError(f"The fit was ended: {self._reason}.")

    def _fail(self, reason: str) -> None:
        self.abort(reason)
        self._raise_if_ended()

    @abstractmethod
    def _send_abort(self, rank: int, reason: bytes) -> None:
        """Tell a worker why its calls fail; raise OSError or ClusterError if that fails."""

    @abstractmethod
    def _disconnect(self) -> None:
        """End all connections; messages that were sent still arrive."""


class InboxCommunicator(MessageCommunicator):
    """A communicator whose transport delivers messages when they arrive, in a thread of its own."""

    def __init__(self, rank: int, size: int, *, timeout: float, silence: float) -> None:
        super().__init__(rank, size, timeout=timeout, silence=silence)
        self._inbox: dict[int, dict[int, tuple[int, bytes]]] = {}  # by number, then by sender
        self._last_sign = [monotonic()] * size
        self._lost: dict[int, str] = {}  # workers that have left, and how this was noticed

    def _call(self, kind: int, parts: Sequence[bytes]) -> list[bytes]:
        self._raise_if_ended()
        for rank, why in self._lost.items():
            self._fail(f"worker {rank} has disconnected: {why}")
        own = bytes(parts[self.rank])
        self._send_parts(kind, parts)
        received = self._wait(kind)
        return [received[rank] if rank != self.rank else own for rank in range(self.size)]

    @abstractmethod
    def _send_parts(self, kind: int, parts: Sequence[bytes]) -> None:
        """Send each worker its part of the current call."""

    def _wait(self, kind: int) -> dict[int, bytes]:
        """Return the message of every other worker in the current call."""
        deadline = monotonic() + self._timeout
        with self._changed:
            while len(messages := self._inbox.get(self._number, {})) < self.size - 1:
                self._raise_if_ended()
                trouble = self._trouble(messages, deadline)
                if trouble:
                    break
                self._changed.wait(min(BETWEEN_HEARTBEATS, self._timeout))
            else:
                trouble = self._step(messages, kind)
        if trouble:
            self._fail(trouble)
        return {sender: payload for sender, (_, payload) in messages.items()}

    def _trouble(self, messages: dict[int, tuple[int, bytes]], deadline: float) -> str | None:
        """Return why the workers whose messages are missing need not be waited for, if so."""
        now = monotonic()
        missing = [rank for rank in self._others() if rank not in messages]
        for rank in missing:
            if rank in self._lost:
                return f"worker {rank} has disconnected: {self._lost[rank]}"
            if now - self._last_sign[rank] > self._silence:
                return f"worker {rank} has not responded for {self._silence:g} s"
        if missing and now > deadline:
            return f"worker {missing[0]} did not take part in a call within {self._timeout:g} s"
        return None

    def _step(self, messages: dict[int, tuple[int, bytes]], kind: int) -> str | None:
        """End the current call; return what is wrong if workers did not make the same one."""
        self._inbox.pop(self._number, None)
        self._number += 1
        wrong = [sender for sender, (other, _) in messages.items() if other != kind]
        return f"worker {wrong[0]} made a different call from worker {self.rank}" if wrong else None

    # ---- for transports --------------------------------------------------------------------------

    def _notice(self, sender: int) -> None:
        """Record a heartbeat."""
        self._last_sign[sender] = monotonic()

    def _deliver(self, sender: int, kind: int, number: int, payload: bytes) -> None:
        """Take a message that has arrived."""
        self._notice(sender)
        if kind in (EXCHANGE, GATHER):
            self._keep(sender, kind, number, payload)
        elif kind == ABORT:
            self._end(payload.decode(errors="replace"))
        elif kind == GOODBYE:
            self._lose(sender, "it has already finished")

    def _keep(self, sender: int, kind: int, number: int, payload: bytes) -> None:
        with self._changed:
            messages = self._inbox.setdefault(number, {})
            # Nobody can be further ahead: a call ends when the messages of all have arrived.
            is_expected = number - self._number in (0, 1) and sender not in messages
            if is_expected:
                messages[sender] = (kind, payload)
                if len(messages) == self.size - 1:
                    self._changed.notify_all()
        if not is_expected:
            self.abort(f"worker {sender} sent message {number} out of order")

    def _lose(self, sender: int, why: str) -> None:
        """Take note that a worker has left; a call fails if it needs a message of that worker.

        Workers leave after the last call, too, while others still read what they sent.
        """
        with self._changed:
            self._lost.setdefault(sender, why)
            self._changed.notify_all()
