"""`select.poll`, and its counterpart for Windows, which has `select.select` alone."""

from __future__ import annotations

import select
import socket

POLLIN: int = getattr(select, "POLLIN", 1)
POLLOUT: int = getattr(select, "POLLOUT", 4)


class SelectPoll:
    """What the cluster uses of `select.poll`, for sockets; what has happened to one is not told."""

    def __init__(self) -> None:
        self._events: dict[int, int] = {}

    def register(self, source: socket.socket | int, events: int) -> None:
        """Wait for events of a socket."""
        self._events[source if isinstance(source, int) else source.fileno()] = events

    modify = register

    def unregister(self, descriptor: int) -> None:
        """Wait no longer."""
        del self._events[descriptor]

    def poll(self, milliseconds: float) -> list[tuple[int, int]]:
        """Wait; return the descriptors of sockets with events."""
        readers = [fd for fd, events in self._events.items() if events & POLLIN]
        writers = [fd for fd, events in self._events.items() if events & POLLOUT]
        ready = select.select(readers, writers, [], milliseconds / 1000)
        return [(fd, 0) for fd in {*ready[0], *ready[1]}]


# Not `selectors`, which makes a call among three workers take a quarter longer.
Poll: type[SelectPoll] = getattr(select, "poll", SelectPoll)
