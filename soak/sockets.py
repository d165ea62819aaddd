"""Workers on sockets, with somebody between them who changes frames, and many who call."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow import cluster
from hedgerow._model_file.container import pack
from hedgerow._model_file.contents import write_estimator
from hedgerow.cluster import SocketListener
from hedgerow.cluster import _frames as frames
from hedgerow.cluster import _handshake as handshake
from hedgerow.exceptions import ClusterError
from soak.outcome import Outcome

GOAL = (
    "strangers on the workers' sockets: a changed, repeated or cut frame is a `ClusterError`, "
    "never another model; callers without the token change nothing"
)
N_RELAYED, N_CROWDS, CROWD = 1000, 100, 500
N_WORKERS = 3
_GREETED = (handshake._GREETING.size, handshake._PROOF)  # what a caller says first
_ANSWERED = (handshake._NONCE + handshake._PROOF, 8)
_RAN = Path(tempfile.gettempdir()) / f"hedgerow-soak-{os.getpid()}"  # written by the pickle
_PICKLE = b"cos\nsystem\n(S'touch %s'\ntR." % bytes(_RAN)
Frame = bytes


def run(share: float) -> Outcome:
    """Fit with a relay between two workers, then among callers who prove nothing."""
    expected = _fits(None)[0]
    trials = Trials(expected)
    for number in range(max(3, round(N_RELAYED * share))):
        trials.relay(number)
    if _RAN.exists():
        trials.failures.append("a pickle was read: its code ran")
    n_crowds, crowd = max(1, round(N_CROWDS * share)), CROWD if share > 0 else 100
    for number in range(n_crowds):
        trials.crowd(number, crowd)
    summary = (
        f"{sum(trials.n_ended.values())} fits with a changed frame ended with an error "
        f"({', '.join(f'{n} {name}' for name, n in sorted(trials.n_ended.items()))}); {n_crowds} "
        f"fits among {2 * crowd:,} callers that are silent or send noise or HTTP requests: the "
        f"same bytes, connected after {np.median(trials.seconds):.2f} s (median; at most "
        f"{max(trials.seconds):.2f} s)"
    )
    return Outcome(summary, tuple(trials.failures))


class Trials:
    """Fits, and how they ended."""

    def __init__(self, expected: Any) -> None:
        self.expected = expected
        self.random = random.Random(0)
        self.n_ended: dict[str, int] = {}
        self.seconds: list[float] = []
        self.failures: list[str] = []

    def relay(self, number: int) -> None:
        """Fit once, with one frame changed at random."""
        name, change = list(CHANGES.items())[number % len(CHANGES)]
        at = self.random.randrange(40)
        results = _fits(lambda address: _Relay(address, at, change, self.random))
        if any(isinstance(result, bytes) for result in results):
            self.failures.append(f"relay {number}: {name} frame {at} went unnoticed")
        elif not all(isinstance(result, ClusterError) for result in results):
            self.failures.append(f"relay {number}: {name} frame {at}: {results}")
        else:
            self.n_ended[name] = self.n_ended.get(name, 0) + 1

    def crowd(self, number: int, size: int) -> None:
        """Fit once while strangers call worker 0, before and after it listens."""
        with contextlib.ExitStack() as stack:

            def call(address: Any) -> None:
                _call(address, size, stack)
                during = threading.Thread(target=_call, args=(address, size, stack))
                during.start()
                stack.callback(during.join)

            results = _fits(call, self.seconds)
        if results != [self.expected] * N_WORKERS:
            self.failures.append(f"crowd {number}: {[str(r)[:80] for r in results]}")


def _call(address: Any, size: int, stack: contextlib.ExitStack) -> None:
    for i in range(size):
        caller = stack.enter_context(socket.socket())
        caller.setblocking(False)
        caller.connect_ex(address)
        with contextlib.suppress(OSError):
            if i % 3:
                caller.send((b"GET / HTTP/1.1\r\n\r\n", secrets.token_bytes(500))[i % 3 - 1])


def _fits(between: Callable[[Any], Any] | None, seconds: list[float] | None = None) -> list[Any]:
    """Fit on workers; return the bytes of each one's model, or its error.

    `between` gets the address of worker 0, and may return a relay to it for worker 1.
    """
    token = secrets.token_bytes(32)
    X, y = _table()
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(SocketListener()) for _ in range(N_WORKERS)]
        addresses = [listener.address for listener in listeners]
        relay = None if between is None else between(addresses[0])
        if relay is not None:
            stack.enter_context(contextlib.closing(relay))

        def work(rank: int) -> Any:
            known = [relay.address, *addresses[1:]] if relay and rank == 1 else addresses
            rows = np.array_split(np.arange(len(X)), N_WORKERS)[rank]
            begin = time.monotonic()
            try:
                with listeners[rank].connect(rank, known, token) as communicator:
                    if seconds is not None:
                        seconds.append(time.monotonic() - begin)
                    model = hr.GradientBoostingRegressor(n_estimators=3, max_leaves=4)
                    cluster.fit(model, X[rows], y[rows], communicator=communicator)
            except ClusterError as error:
                return error
            return bytes(pack(*write_estimator(model)))

        with ThreadPoolExecutor(N_WORKERS) as pool:
            return list(pool.map(work, range(N_WORKERS)))


def _table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, X[:, 0] + X[:, 1] * X[:, 2]


# ---- somebody between two workers ----------------------------------------------------------------


def _flip(frame: Frame, _: list[Frame], moment: random.Random) -> Frame:
    position = moment.randrange(len(frame))
    changed = frame[position] ^ (1 << moment.randrange(8))
    return frame[:position] + bytes([changed]) + frame[position + 1 :]


def _pickle(frame: Frame, _: list[Frame], __: random.Random) -> Frame:
    fields = struct.pack("<QQ", 0, len(_PICKLE)) + frames.digest_of(_PICKLE)
    return frame[:1] + fields + frame[1 + len(fields) : frames.HEADER] + _PICKLE


CHANGES: dict[str, Callable[[Frame, list[Frame], random.Random], Frame]] = {
    "with a bit changed": _flip,
    "replaced by a pickle": _pickle,
    "repeated": lambda frame, _, __: frame + frame,
    "replaced by an earlier one": lambda _, earlier, __: earlier[0],
    "cut": lambda frame, _, moment: frame[: moment.randrange(len(frame))],
    "replaced by noise": lambda frame, _, moment: moment.randbytes(len(frame)),
}


class _Relay:
    """Passes on what worker 1 and worker 0 say, but for one frame of worker 1."""

    def __init__(self, target: Any, at: int, change: Any, moments: random.Random) -> None:
        self._target, self._at, self._change, self._moments = target, at, change, moments
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            caller, _ = self._listener.accept()
            listener = socket.create_connection(self._target)
            self._ends = [caller, listener]
            for arguments in ((caller, listener, _GREETED), (listener, caller, _ANSWERED)):
                thread = threading.Thread(target=self._pass, args=arguments, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass(self, source: socket.socket, target: socket.socket, first: tuple[int, ...]) -> None:
        with contextlib.suppress(OSError, EOFError):
            for length in first:
                target.sendall(_read(source, length))
            earlier: list[Frame] = []
            for number, frame in enumerate(_frames(source)):
                is_chosen = first is _GREETED and number == max(1, self._at)
                sent = self._change(frame, earlier, self._moments) if is_chosen else frame
                earlier.append(frame)
                target.sendall(sent)
                if len(sent) < len(frame):
                    break
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for end in (self._listener, *self._ends):
            end.close()


def _frames(source: socket.socket) -> Iterator[Frame]:
    while True:
        header = _read(source, frames.HEADER)
        yield header + _read(source, int.from_bytes(header[9:17], "little"))


def _read(source: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = source.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data
