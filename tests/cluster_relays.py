"""Somebody between two workers who passes on what they say, and changes it if he likes."""

import socket
import struct
import threading
from contextlib import suppress

from hedgerow.cluster import _frames as frames
from hedgerow.cluster import _handshake as handshake

LENGTH = struct.Struct("<9xQ")  # of the payload, in a header
# The bytes of what a caller says before its frames, and of the answers.
GREETED = (handshake._GREETING.size, handshake._PROOF)
ANSWERED = (handshake._NONCE + handshake._PROOF, len(handshake._MAGIC))


def unchanged(frame, _):
    return frame


class Relay:
    """Passes on the first connection; ``change(frame, answers)`` returns what the listener gets.

    `answers` are the frames that the listener has sent so far. The first `n_reset` calls are
    closed at once.
    """

    def __init__(self, address, change=unchanged, n_reset=0):
        self._target, self._change, self._n_reset = address, change, n_reset
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self._ends, self._threads, self.answers = [], [], []
        self._start(self._accept)

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                if self._n_reset > 0:
                    self._n_reset -= 1
                    caller.close()
                    continue
                listener = socket.create_connection(self._target)
                self._ends += [caller, listener]
                self._start(self._pass, caller, listener, GREETED, self._changed)
                self._start(self._pass, listener, caller, ANSWERED, self._noted)

    def _changed(self, frame):
        return frame if frame[0] == 0 else self._change(frame, self.answers)  # 0: a heartbeat

    def _noted(self, frame):
        self.answers.append(frame)
        return frame

    def _pass(self, source, target, lengths, change):
        with suppress(OSError, EOFError):
            for length in lengths:
                target.sendall(self._read(source, length))
            while True:
                header = self._read(source, frames.HEADER)
                frame = header + self._read(source, *LENGTH.unpack_from(header))
                target.sendall(change(frame))
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _read(source, length):
        data = b""
        while len(data) < length:
            part = source.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def close(self):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for end in (self._listener, *self._ends):
            end.close()
        for thread in self._threads:
            thread.join(5)
